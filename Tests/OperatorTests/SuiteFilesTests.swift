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

    @Test(
        "SOS-28: what both dispatchers go by has a copy beside the second's keys; what is gone of it is put back, never made anew beside a copy"
    )
    func copies() async throws {
        try await withTemporaryFolder { folder in
            let layout = SuiteLayout(data: folder.path, environment: [:])
            _ = try SuiteKeys.makeMissing(layout)
            for secret in SharedSecret.all {
                let (original, copy) = layout.keys.places(of: secret)
                #expect(original.deletingLastPathComponent().lastPathComponent == "sos-dispatcher")
                #expect(copy.deletingLastPathComponent().lastPathComponent == "sos-deputy")
                let text = try layout.keys.whole(secret, in: original)
                for gone in [original, copy] {
                    try FileManager.default.removeItem(at: gone)
                    _ = try SuiteKeys.makeMissing(layout)
                    #expect(try layout.keys.whole(secret, in: gone) == text)
                }
                try Data().write(to: original)
                #expect(throws: OperatorError.self) { try SuiteKeys.makeMissing(layout) }
                #expect(SuiteKeys.makeMissingOrComplain(layout) == [], "`trackme up` starts the suite all the same")
                try layout.keys.write(text, to: original)
            }
        }
    }
}

@Suite("Errors about files")
struct FileTroubleTests {
    @Test("an error about a file showed Foundation's words and codes: it names the file, the cause and the mend")
    func words() async throws {
        try await withTemporaryFolder { folder in
            let missing = folder.appendingPathComponent("missing/file")
            let attempts: [() throws -> Void] = [
                { _ = try Data(contentsOf: missing) }, { _ = try String(contentsOf: missing, encoding: .utf8) },
                { try Data().write(to: missing) }, { _ = try FileHandle(forReadingFrom: missing) },
                { _ = try FileManager.default.attributesOfItem(atPath: missing.path) },
                { _ = try FileManager.default.contentsOfDirectory(atPath: missing.path) },
            ]
            for attempt in attempts {
                let error = try #require(throws: (any Error).self) { try attempt() }
                let text = try #require(FileTrouble.text(error), "\(type(of: error))")
                #expect(text.contains("missing") && text.contains("No such file or directory") && text.contains("see that"), "\(text)")
                for word in ["Cocoa", "Domain", "Code", "couldn"] { #expect(!text.contains(word), "\(text)") }
            }
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
            #expect(refusals.received(.everythingIsReady) == nil && SuiteRefusals.read(layout.refusalsFile) == [:])

            #expect(
                refusals.received(.refused("ingest", reason: "a.key is damaged", again: true))
                    == "WITHOUT ingest, which refuses to start: a.key is damaged")
            #expect(SuiteRefusals.read(layout.refusalsFile) == ["ingest": "a.key is damaged"])
            #expect(refusals.received(.mended("ingest")) == "no part refuses to start any more")
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
