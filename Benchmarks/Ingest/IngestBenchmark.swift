// Uploads, acknowledged when they are on disk, beside InfluxDB's.

import Contracts
import Foundation

/// Both systems run all the time on the same disk; the one that is not measured is halted meanwhile.
struct IngestBenchmark {
    /// 300 connections with a pause of 100 ms each: 3000 uploads a second.
    private static let paced = (connections: 300, pause: 100)

    let stage: Stage

    func rows() async throws -> [Row] {
        let pair = try await IngestPair(stage: stage)
        var rows: [Row] = []
        for batch in stage.batches {
            let (ours, reference) = try await alternate(pair, batch: batch)
            rows.append(
                Row(
                    "ingest, batches of \(batch)", "entries/s", ours.map { rate($0, batch) }, reference: reference.map { rate($0, batch) },
                    beside: "InfluxDB 1.6, log synced on each write", higherIsBetter: true, .ratioAtLeast(batch < 100 ? 1 : 2)))
        }
        rows += try await pacedRows(pair)
        rows.append(try await heardRow(pair))
        rows.append(try await HourSumsBenchmark(stage: stage, pair: pair).row())
        rows.append(try await edgeRow(pair))
        rows += try await lostRows(pair)
        pair.end()
        return rows
    }

    private func rate(_ outcome: Wrk.Outcome, _ batch: Int) -> Double {
        Double(outcome.accepted * batch) / outcome.seconds
    }

    private func alternate(
        _ pair: IngestPair, batch: Int, connections: Int = 64, pause: Int = 0
    ) async throws -> (ours: [Wrk.Outcome], reference: [Wrk.Outcome]) {
        var (ours, reference): ([Wrk.Outcome], [Wrk.Outcome]) = ([], [])
        for _ in 0..<stage.rounds {
            ours.append(try await pair.load(.trackme, batch: batch, connections: connections, pause: pause))
            reference.append(try await pair.load(.influxdb, batch: batch, connections: connections, pause: pause))
        }
        return (ours, reference)
    }

    /// A closed loop of many connections with pauses: a late answer delays only its own connection.
    private func pacedRows(_ pair: IngestPair) async throws -> [Row] {
        let (ours, reference) = try await alternate(pair, batch: 1, connections: Self.paced.connections, pause: Self.paced.pause)
        let beside = "InfluxDB, the same pace"
        return [
            Row(
                "single entries at a pace", "uploads/s", ours.map { rate($0, 1) }, reference: reference.map { rate($0, 1) }, beside: beside,
                higherIsBetter: true),
            Row("single entries at a pace, p50", "ms", ours.map(\.p50), reference: reference.map(\.p50), beside: beside),
            Row("single entries at a pace, p99", "ms", ours.map(\.p99), reference: reference.map(\.p99), beside: beside, .below(50)),
        ]
    }

    /// With somebody who hears all sixteen streams and stores nothing.
    private func heardRow(_ pair: IngestPair) async throws -> Row {
        let follower = try await SamplesFollower(of: pair.suite)
        var (heard, unheard): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.rounds {
            heard.append(rate(try await pair.load(.influxdb, batch: 100), 100))
            unheard.append(rate(try await pair.load(.trackme, batch: 100), 100))
        }
        try await follower.catchUp()
        await follower.end()
        return Row(
            "ingest, batches of 100, followed", "entries/s", unheard, reference: heard, beside: "InfluxDB, followed by nobody",
            higherIsBetter: true, .ratioAtLeast(2))
    }

    private func edgeRow(_ pair: IngestPair) async throws -> Row {
        let edge = try await Edge(of: pair.suite)
        var (through, direct): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.rounds {
            through.append(rate(try await pair.load(.trackme, batch: 100, through: edge.url), 100))
            direct.append(rate(try await pair.load(.trackme, batch: 100), 100))
        }
        edge.end()
        return Row(
            "ingest, batches of 100, through Caddy", "entries/s", through, reference: direct, beside: "ingest's own port",
            higherIsBetter: true)
    }

    /// Kills each in the middle of load, starts it again and counts.
    private func lostRows(_ pair: IngestPair) async throws -> [Row] {
        var rows: [Row] = []
        for target in [Wrk.Target.trackme, .influxdb] {
            let back = try await pair.killUnderLoad(target)
            let (stored, acknowledged) = (try await pair.count(target), pair.acknowledged(by: target))
            let name = target == .trackme ? "ingest" : "InfluxDB"
            print(
                "\(name): \(acknowledged) entries acknowledged, \(stored) read back after kill -9, ready after \(Report.short(back.milliseconds)) ms"
            )
            rows.append(
                Row(
                    "\(name), entries after kill -9", "lost", [Double(max(0, acknowledged - stored))],
                    target == .trackme ? .below(1) : .none))
        }
        return rows
    }
}
