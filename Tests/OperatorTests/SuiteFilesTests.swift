// Files and folders that the tool shares with services and containers.

import Contracts
import Foundation
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
