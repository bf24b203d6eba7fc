// Files and folders that the tool shares with services and containers.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("SuiteLayout")
struct SuiteLayoutTests {
    @Test("--data decides over the environment, the environment over ./var")
    func precedence() {
        let environment = ["TRACKME_BUS_DIRECTORY": "/run/trackme", "HOME": "/root"]

        let unnamed = SuiteLayout(data: nil, environment: environment)
        let named = SuiteLayout(data: "/srv/suite", environment: environment)

        #expect(unnamed.busFolder.path == "/run/trackme" && unnamed.keysFolder.path.hasSuffix("/var/keys"))
        #expect(named.busFolder.path == "/srv/suite/bus" && named.keysFolder.path == "/srv/suite/keys")
        #expect(named.environment["HOME"] == "/root")
    }

    @Test("each service is told its own folder and port")
    func services() {
        let own = SuiteLayout(data: "/srv/suite", environment: [:]).environment(of: .sosDispatcher, httpPort: 8102)

        #expect(own["TRACKME_STORE_DIRECTORY"] == "/srv/suite/sos-dispatcher" && own["TRACKME_HTTP_PORT"] == "8102")
    }
}

@Suite("SuiteKeys")
struct SuiteKeysTests {
    @Test("SOS-28: a damaged bus key of one part kept `trackme up` from starting any: what is missing is made all the same")
    func damaged() async throws {
        try await withTemporaryFolder { folder in
            let layout = SuiteLayout(data: folder.path, environment: [:])
            _ = try SuiteKeys.makeMissing(layout)
            let secret = layout.keys.file("bus.secret", of: .ingest)
            try Data("damaged\n".utf8).write(to: secret)
            let signing = layout.keys.file("signing.seed", of: .sosDispatcher)
            try FileManager.default.removeItem(at: signing)

            let (made, faults) = SuiteKeys.makeWhatIsMissing(layout)

            #expect(made == [] && faults.count == 1 && "\(faults)".contains(secret.path))
            #expect(FileManager.default.fileExists(atPath: signing.path))
            #expect(throws: OperatorError.self) { try SuiteKeys.makeMissing(layout) }
        }
    }
}

@Suite("SuiteRefusals")
struct SuiteRefusalsTests {
    @Test("which parts refuse is one line for systemd and a file for `trackme doctor`, until they have started")
    func file() async throws {
        try await withTemporaryFolder { folder in
            let layout = SuiteLayout(data: folder.path, environment: [:])
            let refusals = SuiteRefusals(layout: layout)
            #expect(refusals.heard(.everythingIsReady) == nil && SuiteRefusals.read(layout.refusalsFile) == [:])

            #expect(
                refusals.heard(.refused("ingest", reason: "a.key is damaged", again: true))
                    == "WITHOUT ingest, which refuses to start: a.key is damaged")
            #expect(SuiteRefusals.read(layout.refusalsFile) == ["ingest": "a.key is damaged"])
            #expect(refusals.heard(.mended("ingest")) == "no part refuses to start any more")
            #expect(SuiteRefusals.read(layout.refusalsFile) == [:])
        }
    }
}

@Suite("EdgeConfiguration")
struct EdgeConfigurationTests {
    @Test("deploy/Caddyfile is the text that trackme up uses")
    func same() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let file = try String(contentsOf: root.appendingPathComponent("deploy/Caddyfile"), encoding: .utf8)

        #expect(file == EdgeConfiguration.caddyfile)
    }
}

@Suite("PeerName")
struct PeerNameTests {
    @Test(
        "only names that are safe as folders are names",
        arguments: [
            ("research-reader", true), ("a1", true), ("", false), ("-x", false), ("../x", false), ("Upper", false), ("a b", false),
            (String(repeating: "a", count: 33), false),
        ])
    func valid(name: String, expected: Bool) {
        #expect(PeerName.isValid(name) == expected)
    }
}

@Suite("LogLineForPeople")
struct LogLineForPeopleTests {
    @Test("a service's JSON line becomes one for people; anything else stays")
    func text() {
        let line =
            #"{"time":"2026-01-10T00:31:00.123Z","level":"info","service":"ingest","label":"ingest","message":"started","port":"8101"}"#

        #expect(LogLineForPeople.text(line) == "00:31:00.123 info    started port=8101")
        #expect(LogLineForPeople.text("plain") == "plain" && LogLineForPeople.text("{broken") == "{broken")
    }
}
