// What the reference client writes into an upload: entries as JSON, rendered once when they are queued.

import Contracts
import Foundation

/// One entry as `POST /ingest/v1/entries` takes it.
struct UploadEntry: Encodable, Hashable {
    var type: String
    var at: String
    var value: Double?
    var position: Position?

    init(_ sample: Sample) {
        (type, at, value, position) = (sample.type.code, sample.at.rfc3339, sample.value, sample.position)
    }
}

enum UploadBody {
    /// The JSON of one entry.
    static func entry(_ sample: Sample) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return try Array(encoder.encode(UploadEntry(sample)))
    }

    /// The body of a batch. The same entries give the same bytes but for `sentAt`, so that a repeated key has what counts as the same body.
    /// - Parameters:
    ///   - tried: when the device tries to send it for the first time, where it sends that (SOS-41).
    ///   - sent: what the clock that dated the entries says now, as each try tells anew; nil where they come of another clock.
    static func batch(
        _ entries: some Sequence<[UInt8]>, firstTriedAt tried: Timestamp? = nil, sentAt sent: Timestamp? = nil
    ) -> [UInt8] {
        var body = Array("{".utf8)
        if let sent { body += Array("\"sentAt\":\(sent.milliseconds),".utf8) }
        if let tried { body += Array("\"firstTriedAt\":\(tried.milliseconds),".utf8) }
        body += Array(#""entries":["#.utf8)
        var isFirst = true
        for entry in entries {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            body += entry
        }
        body += Array("]}".utf8)
        return body
    }
}

/// The server's answer to an upload that it took.
struct UploadAnswer: Decodable, Hashable, Sendable {
    struct Rejection: Decodable, Hashable, Sendable {
        var index: Int
        var type: String
        var detail: String?
    }

    /// What the device is asked for while its person is alerted (SOS-11).
    struct Asked: Decodable, Hashable, Sendable {
        var state: String
        var measurementsPerSecond: Double?
    }

    var accepted: Int
    /// Indexes of entries that were there already.
    var duplicates: [Int]
    var rejected: [Rejection]
    var supervision: Asked?
}
