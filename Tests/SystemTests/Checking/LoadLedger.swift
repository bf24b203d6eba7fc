// What the load generator sent and what of it was acknowledged: JSON lines, written before a request leaves and after its answer.

import Contracts
import Foundation
import Synchronization

/// Append only. What was sent without an acknowledgement is *unknown*: it may be stored or not, but nothing else may be.
final class LoadLedger: Sendable {
    /// One line.
    enum Line: Codable, Sendable {
        case sent(batch: Int, person: PersonID, samples: [Sample], at: Timestamp)
        /// `rejected` are the places in the batch that the server named as refused: they are not stored.
        case acknowledged(batch: Int, rejected: [Int], at: Timestamp)
        /// The batch is the first critical one of this person.
        case planted(batch: Int, type: Metric)
    }

    private struct Contents {
        var handle: FileHandle
        var batches = 0
        var acknowledged = 0
        var lines: [Line] = []
        /// First tries of the first critical batch of each person.
        var planted: [PersonID: Timestamp] = [:]
    }

    let file: URL
    private let contents: Mutex<Contents>

    init(_ file: URL) throws {
        self.file = file
        try Data().write(to: file)
        contents = Mutex(Contents(handle: try FileHandle(forWritingTo: file)))
    }

    /// Call before the first attempt. Returns the batch's number.
    func sent(_ samples: [Sample], of person: PersonID, at: Timestamp) throws -> Int {
        try contents.withLock { contents in
            let batch = contents.batches
            contents.batches += 1
            try LoadLedger.write(.sent(batch: batch, person: person, samples: samples, at: at), &contents)
            return batch
        }
    }

    func acknowledged(_ batch: Int, rejected: [Int], at: Timestamp) throws {
        try contents.withLock { try LoadLedger.write(.acknowledged(batch: batch, rejected: rejected, at: at), &$0) }
    }

    /// Call before the batch's first attempt.
    func planted(_ type: Metric, in batch: Int) throws {
        try contents.withLock { contents in
            for case .sent(batch, let person, _, let at) in contents.lines.reversed() {
                contents.planted[person] = at
                break
            }
            try LoadLedger.write(.planted(batch: batch, type: type), &contents)
        }
    }

    /// When this person's first critical upload was first tried; nil while none was. Unlike `account`, to be asked again and again.
    func firstTry(of person: PersonID) -> Timestamp? { contents.withLock { $0.planted[person] } }

    private static func write(_ line: Line, _ contents: inout Contents) throws {
        try contents.handle.write(contentsOf: JSONEncoder().encode(line) + Data("\n".utf8))
        contents.lines.append(line)
        if case .acknowledged = line { contents.acknowledged += 1 }
    }

    var acknowledgedBatches: Int { contents.withLock { $0.acknowledged } }

    /// What the ledger brings to the checker.
    var account: LoadAccount { LoadAccount(contents.withLock { $0.lines }) }

    /// As the file says it; a torn last line is passed over.
    static func read(_ file: URL) -> [Line] {
        let decoder = JSONDecoder()
        return (FileManager.default.contents(atPath: file.path) ?? Data()).split(separator: UInt8(ascii: "\n"))
            .compactMap { try? decoder.decode(Line.self, from: Data($0)) }
    }
}

/// The lines of a ledger put together.
struct LoadAccount: Sendable {
    private(set) var sent: Set<Entry> = []
    private(set) var acknowledged: Set<Entry> = []
    private(set) var breaches: [PlantedBreach] = []
    private(set) var unknownBatches = 0

    init(_ lines: [LoadLedger.Line]) {
        var batches: [Int: (person: PersonID, samples: [Sample], at: Timestamp)] = [:]
        var answers: [Int: Timestamp] = [:]
        var critical: [(batch: Int, type: Metric)] = []
        for line in lines {
            switch line {
            case .sent(let batch, let person, let samples, let at):
                batches[batch] = (person, samples, at)
                sent.formUnion(samples.map { Entry(person, $0) })
            case .acknowledged(let batch, let rejected, let at):
                guard let known = batches[batch] else { continue }
                answers[batch] = min(answers[batch] ?? at, at)
                let refused = Set(rejected)
                acknowledged.formUnion(
                    known.samples.enumerated().filter { !refused.contains($0.offset) }.map { Entry(known.person, $0.element) })
            case .planted(let batch, let type): critical.append((batch, type))
            }
        }
        for (batch, type) in critical {
            guard let known = batches[batch], let first = known.samples.first(where: { $0.type == type }) else { continue }
            let later = batches.filter { $0.key > batch && $0.value.person == known.person }.sorted { $0.key < $1.key }
            breaches.append(
                PlantedBreach(
                    entry: SampleKey(person: known.person, type: type, at: first.at), sentAt: known.at, acknowledgedAt: answers[batch],
                    later: later.map { UploadTimes(sentAt: $0.value.at, acknowledgedAt: answers[$0.key]) }))
        }
        unknownBatches = batches.count - answers.count
    }
}
