// Everything that a fault test brings to the checker: what was promised, and what is there afterwards.

import Contracts
import Foundation

/// Names one entry: unique by person, metric and time (INV-10).
struct SampleKey: Hashable, Codable, Sendable {
    var person: PersonID
    var type: Metric
    var at: Timestamp
}

/// What an entry says.
struct Reading: Hashable, Codable, Sendable {
    var value: Double?
    var position: Position?
}

/// One entry as it was sent or read back.
struct Entry: Hashable, Codable, Sendable {
    var key: SampleKey
    var reading: Reading

    init(_ person: PersonID, _ sample: Sample) {
        key = SampleKey(person: person, type: sample.type, at: sample.at)
        reading = Reading(value: sample.value, position: sample.position)
    }

    var sample: Sample { Sample(type: key.type, at: key.at, value: reading.value, position: reading.position) }
}

/// A planted emergency: from `entry` on, all that is sent for this person is critical.
struct PlantedBreach: Hashable, Codable, Sendable {
    var entry: SampleKey
    /// When the upload with the first critical entry was first tried: `t0` is never earlier.
    var sentAt: Timestamp
    /// When it was acknowledged: `t0` is never later. Nil while it is unknown.
    var acknowledgedAt: Timestamp?
    /// The person's uploads after it, in order.
    var later: [UploadTimes] = []

    /// Which of the critical uploads was under way at `t0`, the first being 1; nil where none was.
    func upload(at t0: Timestamp) -> Int? {
        ([UploadTimes(sentAt: sentAt, acknowledgedAt: acknowledgedAt)] + later).firstIndex { $0.contains(t0) }.map { $0 + 1 }
    }
}

/// From an upload's first attempt to its acknowledgement; without one it may still be under way.
struct UploadTimes: Hashable, Codable, Sendable {
    var sentAt: Timestamp
    var acknowledgedAt: Timestamp?

    func contains(_ time: Timestamp) -> Bool { sentAt <= time && time <= acknowledgedAt ?? time }
}

/// One line of the desk's ledger. The checker reads it by itself, so that the desk's code is not its own witness.
struct DeskLine: Hashable, Codable, Sendable {
    var receivedAt: Timestamp
    var messageId: String
    var sha256: String
    var verified: Bool
    var answer: String
    /// Members in which it differs from the first of its id; nil where it does not, or the desk was another by then.
    var differs: [String]?

    /// Whether this answer ended the repetition.
    var isAcknowledgement: Bool { verified && (answer == "accepted" || answer == "duplicate") }

    /// The emergency is the message id up to its last hyphen, the place in its sequence what follows.
    var emergency: EmergencyID? { messageId.lastIndex(of: "-").flatMap { EmergencyID(messageId[..<$0]) } }
    var sequence: Int? { messageId.lastIndex(of: "-").flatMap { Int(messageId[messageId.index(after: $0)...]) } }

    /// A line that a kill tore is passed over.
    static func read(_ file: URL) -> [DeskLine] {
        let decoder = JSONDecoder()
        return (FileManager.default.contents(atPath: file.path) ?? Data()).split(separator: UInt8(ascii: "\n"))
            .compactMap { try? decoder.decode(DeskLine.self, from: Data($0)) }
    }
}

/// What a follower of one stream applied, in the order of applying.
struct StreamAccount: Hashable, Sendable {
    var stream: String
    /// The first sequence that it had to apply.
    var first: Int64
    var applied: [Int64]
    /// The publisher's last sequence at the end.
    var head: Int64
}

/// How far a service that consumes a stream has stored its position at the end.
struct ConsumerProgress: Hashable, Sendable {
    var consumer: String
    var stream: String
    var next: Int64
    var head: Int64
}

/// The findings of a store's own examination after the stop.
struct StoreExamination: Hashable, Sendable {
    var file: String
    /// `ok`, or SQLite's words.
    var verdict: String
}

/// What the checker judges. Parts that a test did not look at stay empty and are not judged.
struct Evidence: Sendable {
    var sent: Set<Entry> = []
    var acknowledged: Set<Entry> = []
    /// As read back over HTTP, each as often as it came.
    var stored: [Entry] = []
    var breaches: [PlantedBreach] = []
    var emergencies: [ListEmergencies.Entry] = []
    var desk: [DeskLine] = []
    /// When the desk could not be reached.
    var outages: [ClosedRange<Timestamp>] = []
    var streams: [StreamAccount] = []
    var consumers: [ConsumerProgress] = []
    var audit: VerifyAudit.Reply?
    var stores: [StoreExamination] = []
}
