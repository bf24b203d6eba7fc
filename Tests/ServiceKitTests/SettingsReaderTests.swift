// What the start accepts from the environment and what it refuses.

import Contracts
import Foundation
import ServiceKit
import Testing

@Suite("SettingsReader")
struct SettingsReaderTests {
    private let skew = Setting<Int>.integer("ing.clock_skew_s", default: 60, in: 0...600, "How far ahead a device's clock may be.")

    @Test("a parameter that nobody set has its default")
    func fallback() throws {
        var reader = SettingsReader(environment: [:])

        #expect(reader.read(skew) == 60)
        try reader.finish(prefixes: ["ing"])
    }

    @Test("a set parameter is read from its variable")
    func configured() throws {
        var reader = SettingsReader(environment: ["TRACKME_ING_CLOCK_SKEW_S": "5"])

        #expect(reader.read(skew) == 5)
        try reader.finish(prefixes: ["ing"])
    }

    @Test("a malformed value stops the start and names key, value and range", arguments: ["6O", "", "-1", "601", "1.5"])
    func malformed(value: String) {
        var reader = SettingsReader(environment: ["TRACKME_ING_CLOCK_SKEW_S": value])
        _ = reader.read(skew)

        #expect(throws: SettingsError(faults: ["TRACKME_ING_CLOCK_SKEW_S=\(value): must be a whole number from 0 to 600"])) {
            try reader.finish(prefixes: ["ing"])
        }
    }

    @Test("an unknown key under an owned prefix stops the start, one under a neighbour's does not")
    func unknown() {
        var reader = SettingsReader(environment: ["TRACKME_ING_CLOK_SKEW_S": "5", "TRACKME_SOS_RETRY_S": "1", "PATH": "/bin"])
        _ = reader.read(skew)

        #expect(throws: SettingsError(faults: ["TRACKME_ING_CLOK_SKEW_S: no such setting"])) {
            try reader.finish(prefixes: ["ing"])
        }
    }

    @Test("all faults of one start are told at once")
    func allAtOnce() {
        var reader = SettingsReader(environment: ["TRACKME_ING_CLOCK_SKEW_S": "x", "TRACKME_ING_X": "1"])
        _ = reader.read(skew)
        reader.refuse("ing.clock_skew_s", "is too much")

        let error = #expect(throws: SettingsError.self) { try reader.finish(prefixes: ["ing"]) }
        #expect(error?.faults.count == 3)
    }

    @Test("durations are read in the unit of their key")
    func durations() {
        var reader = SettingsReader(environment: [
            "TRACKME_SOS_RETRY_S": "0.25", "TRACKME_BUS_LOG_HOURS": "2", "TRACKME_STORE_GROUP_COMMIT_MS": "1.5",
        ])

        #expect(reader.read(.seconds("sos.retry_s", default: 1, in: 0.2...5, "")) == .milliseconds(250))
        #expect(reader.read(.hours("bus.log_hours", default: 72, in: 1...8760, "")) == .seconds(7200))
        #expect(reader.read(.milliseconds("store.group_commit_ms", default: 2, in: 0...50, "")) == .microseconds(1500))
        #expect(reader.rows.map(\.value) == ["0.25", "2.0", "1.5"])
    }

    @Test(
        "addresses are http or https and name a host",
        arguments: [("", true), ("https://desk.example/x", true), ("ftp://desk", false), ("desk", false)])
    func addresses(text: String, isAllowed: Bool) {
        var reader = SettingsReader(environment: ["TRACKME_SOS_WEBHOOK_URL": text])
        _ = reader.read(.address("sos.webhook_url", ""))

        #expect(((try? reader.finish(prefixes: ["sos"])) != nil) == isAllowed)
    }

    @Test("peers' hosts are read as pairs, and tcp addresses are made from them")
    func hosts() throws {
        var reader = SettingsReader(environment: ["TRACKME_BUS_TRANSPORT": "tcp", "TRACKME_BUS_HOSTS": "ingest=10.0.0.1"])
        let endpoints = Endpoints(SuiteSettings(&reader, peer: .sosDispatcher, httpPort: 8102))
        try reader.finish(prefixes: SuiteSettings.prefixes)

        #expect(endpoints.requests(of: .ingest, binding: false) == "tcp://10.0.0.1:5710")
        #expect(endpoints.requests(of: .sosDispatcher, binding: true) == "tcp://*:5720")
        #expect(endpoints.stream(.emergencies, binding: false) == "tcp://sos-dispatcher:5721")
        #expect(endpoints.requests(of: .trackme, binding: true) == nil)
    }
}
