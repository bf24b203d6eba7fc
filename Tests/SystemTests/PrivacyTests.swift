// Nothing personal is readable in any file of a suite that was really used.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("The hunt for personal data")
struct CanaryHuntTests {
    @Test("finds a name, a number and a place in every spelling")
    func bites() async throws {
        let number = 73.28125
        let hunt = CanaryHunt(texts: ["Pina Rossi"], numbers: [number])
        for before in 0..<3 {
            try await withTemporaryFolder { folder in
                let padding = Data(repeating: UInt8(ascii: "x"), count: before)
                let text = (padding + Data("Pina Rossi and more".utf8)).base64EncodedString()
                try Data(text.utf8).write(to: folder.appendingPathComponent("a"))
                #expect(hunt.findings(in: folder).found == ["Pina Rossi as base64, alignment \(before) in a"])
            }
        }
        try await withTemporaryFolder { folder in
            var content = Data("value 73.28125 of Pina Rossi".utf8)
            withUnsafeBytes(of: number.bitPattern.littleEndian) { content.append(contentsOf: $0) }
            withUnsafeBytes(of: Float(number).bitPattern.littleEndian) { content.append(contentsOf: $0) }
            try content.write(to: folder.appendingPathComponent("a"))
            #expect(
                Set(hunt.findings(in: folder).found)
                    == ["Pina Rossi as text in a", "73.28125 as text in a", "73.28125 as a Double in a", "73.28125 as a Float in a"])
        }
    }
}

extension SystemTests {
    @Suite("Personal data at rest")
    struct PrivacyTests {
        private static let name = "Giuseppina Filippetti"
        private static let address = "nonna.pina@posta-privata.example"
        private static let value = 73.28125
        private static let latitude = 45.4642137

        /// Where the suite is hosted.
        enum Hosting: CaseIterable, Sendable {
            /// Everything in one folder, with sockets of the file system between the services.
            case ownMachine
            /// Stores on a disk that is rented, and TCP between services that could be on several machines.
            case provider

            func shape(disk: URL, _ environment: [String: String]) -> SuiteShape {
                var shape = SuiteShape(environment: [.ingest: environment, .sosDispatcher: environment])
                if self == .provider {
                    // Of everybody: a name that nobody resolves keeps the bus waiting while it is asked for.
                    let hosts = Peer.suite.map { "\($0.name)=127.0.0.1" }.joined(separator: ",")
                    shape.common = ["TRACKME_BUS_TRANSPORT": "tcp", "TRACKME_BUS_HOSTS": hosts]
                    shape.storeFolder = ([.ingest, .sosDispatcher], disk)
                }
                return shape
            }
        }

        @Test(
            "NFR-11, NFR-25: a name, an address, a value and a place are in no file of the suite, logs included, during and after an emergency, wherever it is hosted; a stranger to the bus is refused",
            .timeLimit(.minutes(5)), arguments: Hosting.allCases)
        func canaries(hosting: Hosting) async throws {
            let hunt = CanaryHunt(texts: [Self.name, Self.address], numbers: [Self.value, Self.latitude])
            let environment = ["TRACKME_LOG_LEVEL": "trace", "TRACKME_ING_UPKEEP_S": "0.2"]
            try await withTemporaryFolder { disk in
                try await RealSuite.with(hosting.shape(disk: disk, environment)) { try await Self.judge($0, hunt) }
            }
        }

        private static func judge(_ suite: RealSuite, _ hunt: CanaryHunt) async throws {
            let watch = try await suite.addPerson(name: name, supervised: false)
            _ = try await suite.ask(AddDevice(person: watch.person, name: address, intervalMs: nil))
            _ = try await suite.ask(
                SubscribePerson(person: watch.person, clausesAccepted: true, bounds: ["heart-rate": Bounds(low: nil, high: 70)]))
            let recording = suite.root.appendingPathComponent("canary.csv")
            let token = suite.root.appendingPathComponent("token")
            try Data((watch.token + "\n").utf8).write(to: token)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
            try Data(Self.recording.utf8).write(to: recording)
            try suite.trackme("replay", recording.path, "--url", suite.server, "--token-file", token.path)
            try await eventually("the emergency is acknowledged") {
                try await suite.ask(ListEmergencies(person: watch.person, limit: 1)).emergencies.contains { $0.acknowledgedAt != nil }
            }
            _ = try await suite.ask(AnswerPrompt(person: watch.person, answer: .falseAlarm))
            try await eventually("the cancellation is acknowledged") {
                DeskLine.read(suite.deskLedger).contains { $0.sequence == 1 && $0.isAcknowledgement }
            }
            let back = try await ReadBack(server: suite.server).entries(of: watch.person, token: watch.token, type: .position)
            #expect(back.first?.reading.position?.latitude == latitude, "the canary was not stored at all")
            let running = suite.storeFolders.map { hunt.findings(in: $0) }
            #expect(running.flatMap(\.found).isEmpty, "\(running)")
            await #expect(throws: OperatorError.self, "a stranger was answered") {
                try await SuiteConnection.with(try stranger(to: suite)) { try await $0.ask(ListEmergencies(person: nil, limit: 1)) }
            }
            try await suite.stop()
            let stopped = suite.storeFolders.map { hunt.findings(in: $0) }
            #expect(stopped.flatMap(\.found).isEmpty, "\(stopped)")
            #expect(stopped.allSatisfy { $0.files > 0 })
            let (files, bytes) = (stopped.reduce(0) { $0 + $1.files }, stopped.reduce(0) { $0 + $1.bytes })
            print("figure: canaries: none in \(files) files, \(bytes) bytes, nor while running")
        }

        /// The suite's own folders with another key of the operator's tool: everything is known there but what was admitted.
        private static func stranger(to suite: RealSuite) throws -> SuiteLayout {
            let folder = suite.root.appendingPathComponent("stranger")
            try FileManager.default.copyItem(at: suite.layout.keysFolder, to: folder)
            let layout = SuiteLayout(data: nil, environment: suite.layout.environment.merging(["TRACKME_BUS_KEYS": folder.path]) { $1 })
            try layout.keys.makeBusKeys(try layout.keys.publicPeer(.trackme))
            return layout
        }

        /// Ten seconds that have just passed, all critical for the person's own bounds.
        private static var recording: String {
            let now = Timestamp.now
            let rows = (0..<10).map { second in
                "\((now - .seconds(10 - second)).rfc3339),\(value),\(latitude),9.1903412"
            }
            return "time,heart_rate_bpm,latitude,longitude\n" + rows.joined(separator: "\n") + "\n"
        }
    }
}
