// Reads a person's entries back over HTTP, as the person's device may.

import Contracts
import Foundation
import Outbound
import TestKit

/// Why an answer could not be used; never what was in it.
struct ReadBackFault: Error, CustomStringConvertible {
    let description: String
}

struct ReadBack: Sendable {
    let server: String
    private let sender = HTTPSender.anywhere()

    /// A day at 1 Hz is some ten million bytes.
    private static let largestAnswer = 64 << 20

    init(server: String) {
        self.server = server
    }

    private struct Item: Decodable {
        var type: Metric
        var at: String
        var value: Double?
        var position: Position?
    }

    /// All entries of one metric, as a stream of lines.
    func entries(of person: PersonID, token: String, type: Metric = .heartRate) async throws -> [Entry] {
        let response = try await sender.send(
            OutboundRequest(
                url: "\(server)/ingest/v1/entries?type=\(type.code)",
                headers: [("Authorization", "Bearer \(token)"), ("Accept", "application/x-ndjson")], timeout: .seconds(60),
                maxResponseBytes: ReadBack.largestAnswer))
        // Whose device is not known any more has nothing there.
        if response.status == 401 { return [] }
        guard response.status == 200 else { throw ReadBackFault(description: "reading back was answered with \(response.status)") }
        let decoder = JSONDecoder()
        return try response.body.split(separator: UInt8(ascii: "\n")).map { line in
            let item = try decoder.decode(Item.self, from: Data(line))
            guard let at = Timestamp(rfc3339: item.at) else { throw ReadBackFault(description: "an entry has no readable time") }
            return Entry(person, Sample(type: item.type, at: at, value: item.value, position: item.position))
        }
    }

    func entries(of wearers: [Wearer]) async throws -> [Entry] {
        var all: [Entry] = []
        for wearer in wearers { all += try await entries(of: wearer.person, token: wearer.token) }
        return all
    }
}
