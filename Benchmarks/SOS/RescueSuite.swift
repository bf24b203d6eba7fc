// The suite with its dispatcher, the reference desk, and people to be rescued.

import Bus
import Contracts
import Foundation
import ServiceKit

/// Ingest, sos-dispatcher and `trackme desk` as processes; the benchmarks send entries and hear what is said.
struct RescueSuite {
    let suite: SuiteUnderTest
    let programs: [Program]
    let watch: EmergencyWatch
    private let dispatcher: BusClient

    /// Settings that the dispatcher needs for the desk of this suite.
    static func settings(deskPort: Int) -> [String: String] {
        ["TRACKME_SOS_WEBHOOK_URL": "http://127.0.0.1:\(deskPort)/dispatch", "TRACKME_SOS_MESSAGE_STATUS": "test"]
    }

    init(in folder: URL) async throws {
        suite = try SuiteUnderTest(in: folder)
        let deskPort = try Stage.freePort()
        let ingest = try await suite.start(.ingest)
        let sos = try await suite.start(.sosDispatcher, Self.settings(deskPort: deskPort))
        let desk = try Self.startDesk(deskPort, suite)
        programs = [ingest, sos, desk]
        dispatcher = try await suite.operatorSeat.client(of: .sosDispatcher)
        watch = try await EmergencyWatch(of: suite)
        let client = WebClient(port: deskPort)
        try await Stage.wait("the desk; see \(folder.path)/desk.log") { (try? await client.send("GET", "/")) != nil }
    }

    static func startDesk(_ port: Int, _ suite: SuiteUnderTest) throws -> Program {
        let folder = suite.folder
        return try Program(
            Program.own("trackme"),
            ["desk", "--port", "\(port)", "--ledger", folder.appendingPathComponent("desk.jsonl").path, "--data", folder.path],
            environment: SuiteUnderTest.environment(folder), log: folder.appendingPathComponent("desk.log"))
    }

    /// One entry of a heart that races, measured now.
    static func upload(_ heartRate: Int, of device: AddDevice.Reply, to suite: SuiteUnderTest) async throws {
        let body = "{\"type\":\"heart-rate\",\"at\":\"\(Timestamp.now.rfc3339)\",\"value\":\(heartRate)}"
        let answer = try await suite.ingest.send(
            "POST", "/ingest/v1/entries", token: device.token, contentType: "application/json", body: Array(body.utf8))
        guard answer.status == 200 else {
            throw BenchmarkError("upload: \(answer.status) \(String(decoding: answer.body.prefix(300), as: UTF8.self))")
        }
    }

    struct Rescue: Sendable {
        /// From handing the upload to the HTTP client until the published decision was heard, ms.
        var decided: Double
        /// From the same instant until the acknowledgement was heard.
        var acknowledged: Double
    }

    /// One critical entry; the person answers "help" as soon as the alert is heard, so that no prompt window is waited for.
    func rescueAtOnce(_ device: AddDevice.Reply) async throws -> Rescue {
        let begun = ContinuousClock.now
        async let uploaded: Void = Self.upload(170, of: device, to: suite)
        let opened = try await watch.wait(for: "opened", of: device.person)
        _ = try await dispatcher.ask(AnswerPrompt(person: device.person, answer: .help), deadline: .seconds(2))
        let acknowledged = try await watch.wait(for: "acknowledged", of: device.person)
        try await uploaded
        return Rescue(decided: (opened - begun).milliseconds, acknowledged: (acknowledged - begun).milliseconds)
    }

    /// One critical entry and nobody who answers: the call goes out by itself.
    func rescueByItself(_ device: AddDevice.Reply) async throws -> Double {
        let begun = ContinuousClock.now
        try await Self.upload(170, of: device, to: suite)
        return (try await watch.wait(for: "acknowledged", of: device.person) - begun).milliseconds
    }

    func end() async {
        watch.end()
        await suite.operatorSeat.bus.shutdown()
        for program in programs { program.kill9() }
    }
}
