// The load generator's own account: what was acknowledged and which breaches were planted. A checker compares it with the suite.

import Contracts
import Foundation
import Synchronization

/// One JSON line per fact. The log holds the values themselves, so it belongs outside the suite's data folder and is for
/// simulated people only.
///
///     {"kind":"person","person":"per_…","device":"dev_…"}
///     {"kind":"sample","person":"per_…","result":"accepted","ackedAt":"…Z","entry":{"type":…,"at":…,"value":…}}
///     {"kind":"breach","person":"per_…","metric":"heart-rate","at":"…Z"}
///
/// `result` is accepted, duplicate or rejected. Lines are written as the answers come; after `kill -9` the last may be torn.
final class SimulationLog: Sendable {
    private struct Line: Encodable {
        var kind: String
        var person: String
        var device: String?
        var metric: String?
        var at: String?
    }

    private let handle: Mutex<FileHandle>

    init(_ file: URL) throws(OperatorError) {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw OperatorError(.configuration, "the ledger \(file.path) cannot be opened", mend: "name a file that you may write to")
        }
        handle = Mutex(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
    }

    func person(_ person: PersonID, _ device: DeviceID) throws {
        try write(Line(kind: "person", person: person.description, device: device.description))
    }

    /// Written before the breach's entry is sent: a checker must not miss one that was.
    func breach(of metric: Metric, _ person: PersonID, at: Timestamp) throws {
        try write(Line(kind: "breach", person: person.description, metric: metric.code, at: at.rfc3339))
    }

    func acknowledged(_ batch: OutboxBatch, _ answer: UploadAnswer, person: PersonID, at: Timestamp) throws {
        let duplicates = Set(answer.duplicates)
        let rejected = Set(answer.rejected.map(\.index))
        var lines: [UInt8] = []
        for (index, entry) in batch.entries.enumerated() {
            let result = rejected.contains(index) ? "rejected" : duplicates.contains(index) ? "duplicate" : "accepted"
            let head = #"{"kind":"sample","person":"\#(person)","result":"\#(result)","ackedAt":"\#(at.rfc3339)","entry":"#
            lines += Array(head.utf8) + entry + Array("}\n".utf8)
        }
        let whole = Data(lines)
        try handle.withLock { try $0.write(contentsOf: whole) }
    }

    private func write(_ line: Line) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let bytes = try encoder.encode(line) + Data("\n".utf8)
        try handle.withLock { try $0.write(contentsOf: bytes) }
    }
}
