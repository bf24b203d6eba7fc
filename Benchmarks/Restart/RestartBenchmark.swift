// Processes that are killed under `trackme up`: how long until their work goes on.

import Bus
import Contracts
import Foundation
import ServiceKit

struct RestartBenchmark {
    private static let people = 200

    let stage: Stage

    func rows() async throws -> [Row] {
        let suite = try SuiteUnderTest(in: stage.emptyFolder("restart"))
        let deskPort = try Stage.freePort()
        let up = try Program(
            Program.own("trackme"),
            [
                "up", "--data", suite.folder.path, "--only", "ingest", "sos-dispatcher", "--ingest-port", "\(suite.ingestPort)",
                "--sos-port",
                "\(suite.sosPort)",
            ], environment: RescueSuite.settings(deskPort: deskPort), log: suite.folder.appendingPathComponent("up.log"))
        let sos = WebClient(port: suite.sosPort)
        try await Stage.wait("the suite; see \(suite.folder.path)/up.log") {
            let both = (await suite.ingest.isReady(), await sos.isReady())
            return both.0 && both.1
        }
        let desk = try RescueSuite.startDesk(deskPort, suite)
        let people = try await suite.addDevices(Self.people)
        try await suite.subscribe(people)
        let watch = try await EmergencyWatch(of: suite)
        var (ingestBack, dispatcherBack): ([Double], [Double]) = ([], [])
        for number in 0..<max(5, stage.rounds) {
            ingestBack.append(try await killIngest(up, suite, people[number]))
            dispatcherBack.append(try await killDispatcher(up, suite, watch, people[Self.people - 1 - number]))
            // The supervisor waits longer for what falls often; this is about a single fall.
            try await Task.sleep(for: .seconds(6))
        }
        watch.end()
        await suite.operatorSeat.bus.shutdown()
        up.signal(SIGTERM)
        up.waitForEnd()
        desk.kill9()
        return [
            Row("ingest killed, until it acknowledges an upload", "ms", ingestBack, .below(1000)),
            Row("sos-dispatcher killed, until an entry sent meanwhile is decided", "ms", dispatcherBack, .below(1000)),
        ]
    }

    /// From the kill to an upload that is answered, tried every 5 ms.
    private func killIngest(_ up: Program, _ suite: SuiteUnderTest, _ device: AddDevice.Reply) async throws -> Double {
        let begun = try killChild(of: up, named: "ingest")
        try await Stage.wait("ingest to be back") {
            (try? await RescueSuite.upload(72, of: device, to: suite)) != nil
        }
        return (ContinuousClock.now - begun).milliseconds
    }

    /// From the kill to the decision about a critical entry that was sent right after it.
    private func killDispatcher(
        _ up: Program, _ suite: SuiteUnderTest, _ watch: EmergencyWatch, _ device: AddDevice.Reply
    ) async throws -> Double {
        let begun = try killChild(of: up, named: "sos-dispatcher")
        try await RescueSuite.upload(170, of: device, to: suite)
        return (try await watch.wait(for: "opened", of: device.person) - begun).milliseconds
    }

    private func killChild(of program: Program, named name: String) throws -> ContinuousClock.Instant {
        for entry in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let id = Int32(entry), let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let parent = stat.split(separator: ")").last?.split(separator: " ").dropFirst().first, Int32(parent) == program.id,
                let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/exe"), path.hasSuffix("/\(name)")
            else { continue }
            kill(id, SIGKILL)
            return .now
        }
        throw BenchmarkError("\(name) does not run")
    }
}
