// Reading back: a person's month of heart rate at 1 Hz, beside InfluxDB with the same entries.

import Contracts
import Foundation

struct QueryBenchmark {
    private static let days = 30
    /// Of one round at most; fewer where they take longer than the round.
    private static let questions = 40

    let stage: Stage

    func rows() async throws -> [Row] {
        let suite = try SuiteUnderTest(in: stage.emptyFolder("query"))
        let ingest = try await suite.start(.ingest, ["TRACKME_ING_UPKEEP_S": "1"])
        let influx = try InfluxDB(in: stage.emptyFolder("query-influxdb"))
        let reference = try await influx.start()
        let device = try await suite.addDevices(1)[0]
        // The month ends now: its last day is not closed.
        let month = Month(days: Self.days, end: Int(Date.now.timeIntervalSince1970) / 60 * 60)
        let begun = ContinuousClock.now
        for body in month.lines(perBody: 100_000) {
            let answer = try await suite.ingest.send(
                "POST", "/ingest/v1/entries", token: device.token, contentType: "application/x-ndjson", body: body)
            guard answer.status == 200 else { throw BenchmarkError("upload: \(String(decoding: answer.body.prefix(300), as: UTF8.self))") }
        }
        let loaded = ContinuousClock.now - begun
        for body in month.lineProtocol(perBody: 10_000) {
            let answer = try await influx.client.send("POST", "/write?db=bench&precision=ms", body: body)
            guard answer.status == 204 else {
                throw BenchmarkError("InfluxDB: \(String(decoding: answer.body.prefix(300), as: UTF8.self))")
            }
        }
        // Upkeep sums up and merges meanwhile, as it would in life.
        try await Self.untilIdle(ingest)
        try await Self.untilIdle(reference)
        print("  a month of \(month.count) entries, uploaded as NDJSON in \(Report.short(loaded.inSeconds)) s")
        let rows = try await measure(suite, device.token, influx, month)
        ingest.kill9()
        reference.kill9()
        return rows
    }

    private func measure(_ suite: SuiteUnderTest, _ token: String, _ influx: InfluxDB, _ month: Month) async throws -> [Row] {
        let entries = "/ingest/v1/entries?type=heart-rate"
        let (from, to) = (month.rfc3339(month.start), month.rfc3339(month.end))
        let middle = month.rfc3339(month.start + 86_400 * Self.days / 2)
        let chart = try await suite.ingest.get(Stretches.self, entries + "&granularity=hour&from=\(from)&to=\(to)&limit=1000", token: token)
        let counted = chart.items.reduce(0) { $0 + $1.count }
        guard counted == month.count else { throw BenchmarkError("the chart counts \(counted) of \(month.count) entries") }
        let theirs = "/query?db=bench&epoch=ms&q="
        let mean =
            "SELECT min(value),mean(value),max(value),count(value) FROM \"heart-rate\" WHERE time >= \(month.start)s AND time < \(month.end)s GROUP BY time(1h)"
        let page = "SELECT value FROM \"heart-rate\" WHERE time >= \(month.start + 86_400 * Self.days / 2)s LIMIT 1000"
        let last = "SELECT last(value) FROM \"heart-rate\""
        let beside = "InfluxDB, the same question"
        func ours(_ path: String) async throws -> [Double] { try await rounds { try await suite.ingest.send("GET", path, token: token) } }
        func influxes(_ query: String) async throws -> [Double] {
            let path = theirs + (query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
            return try await rounds { try await influx.client.send("GET", path) }
        }
        return [
            Row(
                "month at 1 Hz, hourly chart", "ms", try await ours(entries + "&granularity=hour&from=\(from)&to=\(to)&limit=1000"),
                reference: try await influxes(mean), beside: beside, .below(50)),
            Row(
                "month at 1 Hz, 1000 raw entries from its middle", "ms", try await ours(entries + "&from=\(middle)&to=\(to)&limit=1000"),
                reference: try await influxes(page), beside: beside),
            Row("month at 1 Hz, latest", "ms", try await ours("/ingest/v1/latest"), reference: try await influxes(last), beside: beside),
        ]
    }

    /// The median of each round of questions, one after the other over a warm connection.
    private func rounds(_ ask: () async throws -> WebClient.Answer) async throws -> [Double] {
        var medians: [Double] = []
        for _ in 0..<stage.rounds {
            var took: [Double] = []
            let end = ContinuousClock.now + .seconds(stage.seconds)
            while took.count < Self.questions, took.isEmpty || ContinuousClock.now < end {
                let answer = try await ask()
                guard answer.status == 200 else {
                    throw BenchmarkError("\(answer.status) \(String(decoding: answer.body.prefix(300), as: UTF8.self))")
                }
                took.append(answer.took.milliseconds)
            }
            medians.append(took.sorted().percentile(50))
        }
        return medians
    }

    /// Returns when the process has used less than a tenth of a core for three seconds: its background work is done.
    static func untilIdle(_ program: Program) async throws {
        let begun = ContinuousClock.now
        var quietSince = begun
        var known = program.processorTime
        while ContinuousClock.now - quietSince < .seconds(3) {
            try await Task.sleep(for: .milliseconds(500))
            let now = program.processorTime
            if now - known > .milliseconds(50) { quietSince = .now }
            known = now
            guard ContinuousClock.now - begun < .seconds(180) else { throw BenchmarkError("upkeep does not end") }
        }
    }
}
