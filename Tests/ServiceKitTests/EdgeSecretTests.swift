// By what a service tells the edge from whoever else reaches its port: the secret in the keys' folder.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Storage
import TestKit
import Testing

@testable import ServiceKit

@Suite("The edge's secret", .timeLimit(.minutes(2)))
struct EdgeSecretTests {
    private static let migrations = [
        Migration(1, "tokens") { db in
            try ConsumerPositions.create(in: db)
            try TokenChecker.create(in: db)
        }
    ]

    private static let telling = Route(.get, "/ingest/v1/caller", access: .anyone, summary: "Tells the address", answers: []) { exchange in
        .text(exchange.remoteAddress)
    }

    /// Under which address a service of that folder counts a caller who shows this and claims 198.51.100.7; and what was wrong at its start.
    private func counted(_ shown: String, in folder: URL) async throws -> (address: String?, faults: [String]) {
        let runtime = try Runtime.test(.ingest, in: folder)
        let store = try runtime.openStore(applicationID: 1, migrations: Self.migrations)
        let server = runtime.server(
            .init(title: "Test", version: "1.0.0", summary: "For tests", prefix: "ingest"), routes: [Self.telling], store: store,
            tokens: try TokenChecker(store: store, issuer: "https://localhost:8443"), authenticate: { _, _ in .anyone })
        let running = Task { try await server.run() }
        let caller = try RawConnection(port: await server.boundPort)
        await caller.send(
            "GET /ingest/v1/caller HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 198.51.100.7\r\nTrackMe-Edge: \(shown)\r\n\r\n")
        let answer = await caller.receiveAnswer()
        await runtime.end(running, closing: store)
        return (answer?.text, runtime.faults.remarks)
    }

    @Test("X19: what the edge says of addresses counts by the secret in its file; without it a service starts and counts by connection")
    func file() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder.appendingPathComponent("k"))
            let secret = try keys.edgeSecret()
            #expect(try keys.edgeSecret() == secret)
            let mode = try FileManager.default.attributesOfItem(atPath: keys.edgeSecretFile.path)[.posixPermissions]
            #expect(mode as? Int == 0o600)

            let known = try await counted(secret, in: folder)
            #expect(known.address == "198.51.100.7" && known.faults.isEmpty)
            #expect(try await counted(String(repeating: "f", count: 64), in: folder).address == "127.0.0.1")

            try keys.write("damaged", to: keys.edgeSecretFile)
            let damaged = try await counted(secret, in: folder)
            #expect(damaged.address == "127.0.0.1" && damaged.faults.count == 1)
            #expect(damaged.faults.first?.contains(keys.edgeSecretFile.path) == true)
            try FileManager.default.removeItem(at: keys.edgeSecretFile)
            let gone = try await counted(secret, in: folder)
            #expect(gone.address == "127.0.0.1" && gone.faults.isEmpty)
        }
    }

    @Test("a service without routes says nothing of the edge's secret, which it does not need; one with routes says that it is missing")
    func withoutRoutes() async throws {
        try await withTemporaryFolder { folder in
            for routes in [[], [Self.telling]] {
                let log = RecordingLog()
                let runtime = try Runtime.test(.anonymiser, in: folder, logger: log.logger)
                let store = try runtime.openStore(applicationID: 1, migrations: Self.migrations)
                let server = runtime.server(
                    .init(title: "Test", version: "1.0.0", summary: "For tests", prefix: "ingest"), routes: routes, store: store,
                    tokens: nil, authenticate: { _, _ in .anyone })
                let running = Task { try await server.run() }
                _ = await server.boundPort
                await runtime.end(running, closing: store)
                #expect(log.text.contains("no secret of an edge") == !routes.isEmpty)
            }
        }
    }
}
