// A file that both dispatchers read is damaged: both run, and calls go out as before.

import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Damaged secrets, whole service", .timeLimit(.minutes(3)))
struct DamagedSecretStories {
    private static func remarks(of dispatcher: Stage.Dispatcher) async throws -> [String] {
        struct Health: Decodable {
            var remarks: [String]
        }
        let url = "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)/health/ready"
        let answer = try await HTTPSender.anywhere().send(OutboundRequest(url: url))
        #expect(answer.status == 200)
        return try JSONDecoder().decode(Health.self, from: Data(answer.body)).remarks
    }

    @Test(
        "SOS-28: a damaged key file that both dispatchers read stopped every alarm: both start, the call goes out signed as before, readiness names the file",
        arguments: SharedSecret.all.map(\.name))
    func damaged(name: String) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let keys = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            #expect(keys.makeShared().isEmpty)
            // As of a suite that has run: each dispatcher knows the keys that its data lie under.
            for role in [PairRole.first, .second] { await (try await stage.start(role: role)).stop() }
            let secret = try #require(SharedSecret.all.first { $0.name == name })
            let file = keys.places(of: secret).original
            try Data().write(to: file)
            let heartbeat = ["TRACKME_SOS_HEARTBEAT_URL": "http://127.0.0.1:9/"]

            let dispatcher = try await stage.start(heartbeat)
            let deputy = try await stage.start(heartbeat, role: .second)
            let emergency = try await stage.callForHelp(.random())
            let receipt = try await eventually("the call") { desk.receipts.first }
            #expect(receipt.id == "\(emergency)-0")
            let shared = try WebhookSecret(keys.readSecret(keys.places(of: .webhook).copy))
            let signature = WebhookSignature(id: receipt.id, timestamp: receipt.timestamp, signatures: receipt.signatures)
            try signature.verify(body: receipt.body, secrets: [shared], now: .now)
            for one in [dispatcher, deputy] {
                let remarks = try await Self.remarks(of: one)
                #expect(remarks.count == 1 && remarks.first?.contains(file.path) == true, "\(remarks)")
                await one.stop()
            }
        }
    }

    @Test(
        "SOS-15: a webhook secret, a token or a desk key that nobody can read costs no call: it goes out, signed with the suite's own key")
    func lost() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let keys = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            #expect(keys.makeShared().isEmpty)
            let broken = stage.folder.appendingPathComponent("broken")
            try keys.write("", to: broken)
            let places = [SharedSecret.webhook, .token].map { keys.places(of: $0) }
            for place in places { for file in [place.original, place.copy] { try Data().write(to: file) } }

            let dispatcher = try await stage.start(["TRACKME_SOS_DESK_KEY": broken.path])
            _ = try await stage.callForHelp(.random())
            let receipt = try await eventually("the call") { desk.receipts.first }
            let seed = try #require(Hex.decode(keys.readSecret(keys.file("signing.seed", of: .sosDispatcher))))
            let signature = WebhookSignature(id: receipt.id, timestamp: receipt.timestamp, signatures: receipt.signatures)
            try signature.verify(body: receipt.body, keys: [SigningKey(seed: seed).publicKey], now: .now)
            let remarks = try await Self.remarks(of: dispatcher)
            for file in places.map(\.original) + [broken] {
                #expect(remarks.contains { $0.contains(file.path) }, "\(remarks)")
            }
        }
    }
}
