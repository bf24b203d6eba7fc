// The reference client: its queue survives a server that is away, and its own kill.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("A client that queues offline")
    struct ClientTests {
        private static let rows = 3000
        /// 1 January 2025.
        private static let beginning = Timestamp(milliseconds: 1_735_689_600_000)

        private static var samples: [Sample] {
            (0..<rows).map { Sample(type: .heartRate, at: beginning + .seconds($0), value: 60 + Double($0 % 200) / 8) }
        }

        /// A recording of a made-up hour, and a token file of a new person.
        private func prepare(_ suite: RealSuite) async throws -> (watch: AddDevice.Reply, arguments: [String]) {
            let watch = try await suite.addPerson(supervised: false)
            let (token, recording) = (suite.root.appendingPathComponent("token"), suite.root.appendingPathComponent("made-up.csv"))
            try Data((watch.token + "\n").utf8).write(to: token)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
            let lines = Self.samples.map { "\($0.at.rfc3339),\($0.value ?? 0)" }
            try Data(("time,heart_rate_bpm\n" + lines.joined(separator: "\n") + "\n").utf8).write(to: recording)
            return (watch, ["replay", recording.path, "--url", suite.server, "--token-file", token.path, "--data", suite.data.path])
        }

        private func process(_ suite: RealSuite, _ arguments: [String]) throws -> ServiceProcess {
            let command = ChildCommand(
                executable: ServiceExecutable.folder.appendingPathComponent("trackme").path, arguments: arguments,
                environment: suite.layout.environment)
            return try ServiceProcess("client", port: 0, command: command, log: suite.root.appendingPathComponent("client.log"))
        }

        private func check(_ suite: RealSuite, _ watch: AddDevice.Reply) async throws -> CheckReport {
            var evidence = Evidence()
            evidence.sent = Set(Self.samples.map { Entry(watch.person, $0) })
            evidence.acknowledged = evidence.sent
            evidence.stored = try await ReadBack(server: suite.server).entries(of: watch.person, token: watch.token)
            return Checker().report(evidence)
        }

        @Test(
            "ING-02, ING-14: what is recorded while the server is away waits and arrives whole when it is back", .timeLimit(.minutes(5)))
        func serverAway() async throws {
            try await RealSuite.with { suite in
                let (watch, arguments) = try await prepare(suite)
                try await suite.ingest.stop()
                let client = try process(suite, arguments)
                client.start(again: false)
                let queue = suite.data.appendingPathComponent("client/replay/queue")
                try await eventually("the entries wait in the queue") {
                    (try? queue.resourceValues(forKeys: [.fileSizeKey]).fileSize).map { $0 > 100_000 } ?? false
                }
                suite.ingest.start()
                try await eventually("the client has delivered everything", within: .seconds(60)) { !client.ends.isEmpty }
                #expect(client.ends == [.exited(0)])
                let report = try await check(suite, watch)
                report.expectSound("client without a server")
            }
        }

        @Test("ING-14: a client that is killed while it sends finishes the next time, and nothing is stored twice", .timeLimit(.minutes(5)))
        func killed() async throws {
            try await RealSuite.with { suite in
                let (watch, arguments) = try await prepare(suite)
                let reader = ReadBack(server: suite.server)
                let client = try process(suite, arguments)
                client.start(again: false)
                try await eventually("some entries have arrived") {
                    try await !reader.entries(of: watch.person, token: watch.token).isEmpty
                }
                client.signal(SIGKILL)
                try await eventually("the client has ended") { !client.ends.isEmpty }
                let before = try await reader.entries(of: watch.person, token: watch.token).count
                try Tool.run(
                    ServiceExecutable.folder.appendingPathComponent("trackme").path, arguments, environment: suite.layout.environment)
                let report = try await check(suite, watch)
                report.expectSound("client killed after \(before) of \(Self.rows) entries")
            }
        }
    }
}
