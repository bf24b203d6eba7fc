// Ingest and InfluxDB side by side, with an account of what each has acknowledged.

import Contracts
import Foundation

/// Entries' times go on from run to run, the same for both, so that every entry is new to both.
final class IngestPair {
    let suite: SuiteUnderTest
    private let stage: Stage
    private let influx: InfluxDB
    private let devices: [AddDevice.Reply]
    private let deviceFile: URL
    private var programs: [Wrk.Target: Program] = [:]
    private var acknowledgedEntries: [Wrk.Target: Int] = [:]
    /// Second of the next entry of every device.
    private var cursors: [Wrk.Target: Int] = [:]

    init(stage: Stage) async throws {
        self.stage = stage
        suite = try SuiteUnderTest(in: stage.emptyFolder("ingest"))
        influx = try InfluxDB(in: stage.emptyFolder("influxdb"))
        programs[.trackme] = try await suite.start(.ingest)
        devices = try await suite.addDevices(stage.devices)
        deviceFile = try suite.write(devices)
        programs[.influxdb] = try await influx.start()
        // Four days back, as if everybody had been offline since: all that is sent must lie before now, or it is refused as future.
        let start = Int(Date.now.timeIntervalSince1970) / 60 * 60 - 4 * 86_400
        cursors = [.trackme: start, .influxdb: start]
        for target in [Wrk.Target.trackme, .influxdb] { _ = try await load(target, batch: 10, seconds: 2) }
    }

    func load(
        _ target: Wrk.Target, batch: Int, connections: Int = 64, pause: Int = 0, through url: String? = nil, seconds: Int? = nil
    ) async throws -> Wrk.Outcome {
        let other: Wrk.Target = target == .trackme ? .influxdb : .trackme
        programs[other]?.signal(SIGSTOP)
        defer { programs[other]?.signal(SIGCONT) }
        let port = target == .trackme ? suite.ingestPort : influx.port
        let before = programs[target]?.processorTime ?? .zero
        let outcome = try await Wrk(
            target: target, url: url ?? "http://127.0.0.1:\(port)", devices: deviceFile, batch: batch, start: cursors[target] ?? 0,
            seconds: seconds ?? stage.seconds, connections: connections, pauseMilliseconds: pause
        ).run()
        report(target, batch, outcome, processor: max(.zero, (programs[target]?.processorTime ?? before) - before))
        acknowledgedEntries[target, default: 0] += outcome.accepted * batch
        // One of wrk's threads may have gone round its devices more often than the other.
        cursors[target, default: 0] += ((outcome.requests + connections) * 2 / devices.count + 2) * batch
        return outcome
    }

    /// One line a run: where others keep the machine busy, the processor time says more than the rate.
    private func report(_ target: Wrk.Target, _ batch: Int, _ outcome: Wrk.Outcome, processor: Duration) {
        let rate = Report.short(Double(outcome.accepted) / outcome.seconds)
        let each = Report.short(processor / .microseconds(1) / Double(max(1, outcome.accepted)))
        print(
            "  \(target.rawValue), batches of \(batch): \(rate) uploads/s, p50 \(Report.short(outcome.p50)) ms, p99 \(Report.short(outcome.p99)) ms, "
                + "\(each) µs of processor each; \(outcome.refused) refused, \(outcome.failed) failed")
    }

    var people: [PersonID] { devices.map(\.person) }

    func acknowledged(by target: Wrk.Target) -> Int { acknowledgedEntries[target] ?? 0 }

    /// Kills it after a second of load and starts it again; how long from the start until it answers.
    func killUnderLoad(_ target: Wrk.Target) async throws -> Duration {
        let victim = programs[target]
        let killing = Task.detached {
            try await Task.sleep(for: .seconds(2))
            victim?.kill9()
        }
        _ = try await load(target, batch: 10, seconds: 3)
        try await killing.value
        let begun = ContinuousClock.now
        programs[target] = target == .trackme ? try await suite.start(.ingest) : try await influx.start()
        return .now - begun
    }

    func count(_ target: Wrk.Target) async throws -> Int {
        if target == .influxdb { return try await influx.count() }
        return try await SuiteUnderTest.each(devices, atOnce: 16) { [suite] device in
            try await suite.ingest.get(Stretches.self, "/ingest/v1/entries?type=heart-rate&granularity=day", token: device.token)
                .items.reduce(0) { $0 + $1.count }
        }.reduce(0, +)
    }

    func end() {
        for program in programs.values { program.kill9() }
    }
}

/// What `GET /ingest/v1/entries` answers for a chart.
struct Stretches: Decodable {
    struct Stretch: Decodable {
        var count: Int
    }
    var items: [Stretch]
}
