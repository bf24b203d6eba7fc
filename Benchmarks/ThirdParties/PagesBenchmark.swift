// Pages of a thousand samples as third parties fetch them, beside PostgreSQL that serves the same rows.

import Contracts
import Foundation

/// What lies in both systems: one heart rate a second of everybody.
struct PageRows: Sendable {
    static let perPage = 1000

    let people: Int
    /// Since 1970, of the first row.
    let start: Int
    /// Rows of each person.
    let seconds: Int
    /// Pages begin at so many places, so many seconds apart.
    let starts = 20
    var step: Int { (seconds - Self.perPage) / starts }

    func rfc3339(_ second: Int) -> String { Timestamp(milliseconds: Int64(second) * 1000).rfc3339 }

    func lines() -> [UInt8] {
        var body: [UInt8] = []
        for second in 0..<seconds {
            body.append(
                contentsOf: "{\"type\":\"heart-rate\",\"at\":\(start + second)000,\"value\":\(60 + (7 * second) % 41)}\n".utf8)
        }
        return body
    }
}

struct PagesBenchmark {
    private static let (people, rowsOfEach) = (50, 10_000)
    /// Both are asked so often where the time of an answer is looked at without a queue.
    private static let pace = 100

    let stage: Stage

    func rows() async throws -> [Row] {
        let rows = PageRows(
            people: min(Self.people, stage.devices), start: Int(Date.now.timeIntervalSince1970) - Self.rowsOfEach - 3600,
            seconds: Self.rowsOfEach)
        let sharing = try await SharingSuite(
            in: stage.emptyFolder("pages"), people: rows.people, firms: 1, settings: ["TRACKME_ING_UPKEEP_S": "1"])
        let body = rows.lines()
        for wearer in sharing.wearers { try await sharing.upload(body, of: wearer, lines: true) }
        let end = Timestamp(milliseconds: Int64(rows.start + rows.seconds) * 1000)
        let shares = try await sharing.share(from: end - .seconds(2 * rows.seconds), to: end + .seconds(1)) { _ in [.heartRate] }
        let pages = try await write(shares, sharing, rows)
        let postgres = try await PostgreSQL(in: stage.emptyFolder("pages-postgresql"), rows: rows)
        try await postgres.analyse()
        for program in sharing.programs.values { try await QueryBenchmark.untilIdle(program) }
        let result = try await measure(sharing, pages, postgres)
        postgres.end()
        await sharing.end()
        return result
    }

    /// The file from which the load script takes what to ask; each page is asked for once here, which warms ours.
    private func write(_ shares: [SharingSuite.Share], _ sharing: SharingSuite, _ rows: PageRows) async throws -> URL {
        struct Page: Decodable {
            struct Item: Decodable {
                var value: Double
            }
            var items: [Item]
        }
        var lines = ""
        for share in shares {
            for place in 0..<rows.starts {
                let from = rows.rfc3339(rows.start + place * rows.step)
                let path = "/thirdparty/v1/requests/\(share.request)/data?type=heart-rate&from=\(from)&limit=\(PageRows.perPage)"
                let token = sharing.firms[share.firm].token
                if place == 0 {
                    let page: Page = try await sharing.suite.gateway.get(path, token: token)
                    guard page.items.count == PageRows.perPage else { throw BenchmarkError("a page of \(page.items.count) values") }
                }
                lines += "\(path) \(token)\n"
            }
        }
        let file = sharing.suite.folder.appendingPathComponent("pages.txt")
        try lines.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    /// Who stood still has not heard consent meanwhile, and gives nothing away until it has.
    private func awaken(_ sharing: SharingSuite, _ pages: URL) async throws {
        struct Anything: Decodable {}
        let words = try String(contentsOf: pages, encoding: .utf8).prefix { $0 != "\n" }.split(separator: " ").map(String.init)
        try await Stage.wait("a page after the halt") {
            let page: Anything? = try? await sharing.suite.gateway.get(words[0], token: words[1])
            return page != nil
        }
    }

    private func ours(_ sharing: SharingSuite, _ pages: URL, pause: Int) async throws -> Wrk.Outcome {
        try await awaken(sharing, pages)
        let before = sharing.programs.mapValues(\.processorTime)
        let outcome = try await Wrk.run(
            "pages.lua", at: "http://127.0.0.1:\(sharing.suite.port(of: .thirdPartyGateway))", connections: PostgreSQL.connections,
            seconds: stage.seconds, timeout: 5, pauseMilliseconds: pause, environment: ["BENCH_PAGES": pages.path])
        guard outcome.refused == 0, outcome.failed == 0 else {
            throw BenchmarkError("\(outcome.refused) pages refused, \(outcome.failed) failed")
        }
        let each = sharing.programs.map { peer, program in
            let used = (program.processorTime - (before[peer] ?? .zero)) / .microseconds(1) / Double(max(1, outcome.requests))
            return "\(peer) \(Report.short(used)) µs"
        }
        print("  \(outcome.requests) pages; processor of each: \(each.sorted().joined(separator: ", "))")
        return outcome
    }

    private func measure(_ sharing: SharingSuite, _ pages: URL, _ postgres: PostgreSQL) async throws -> [Row] {
        let pause = PostgreSQL.connections * 1000 / Self.pace
        var (fast, paced): ([Wrk.Outcome], [Wrk.Outcome]) = ([], [])
        var (plain, recorded, plainPaced, recordedPaced): ([Wrk.Outcome], [Wrk.Outcome], [Wrk.Outcome], [Wrk.Outcome]) = ([], [], [], [])
        for _ in 0..<stage.rounds {
            fast.append(try await ours(sharing, pages, pause: 0))
            plain.append(try await halting(sharing) { try await postgres.run(.page, seconds: stage.seconds) })
            recorded.append(try await halting(sharing) { try await postgres.run(.recordedPage, seconds: stage.seconds) })
            paced.append(try await ours(sharing, pages, pause: pause))
            plainPaced.append(try await halting(sharing) { try await postgres.run(.page, seconds: stage.seconds, pace: Self.pace) })
            recordedPaced.append(
                try await halting(sharing) { try await postgres.run(.recordedPage, seconds: stage.seconds, pace: Self.pace) })
        }
        let (beside, recording) = ("PostgreSQL 15, the same rows", "PostgreSQL 15 that records each read too")
        func rate(_ outcomes: [Wrk.Outcome]) -> [Double] { outcomes.map { Double($0.accepted) / $0.seconds } }
        func times(_ name: String, _ ours: [Wrk.Outcome], _ reference: [Wrk.Outcome], _ beside: String, isAsked: Bool = false) -> [Row] {
            [
                Row("\(name), p50", "ms", ours.map(\.p50), reference: reference.map(\.p50), beside: beside),
                Row(
                    "\(name), p99", "ms", ours.map(\.p99), reference: reference.map(\.p99), beside: beside,
                    isAsked ? .referencePlus(0) : .none),
            ]
        }
        let name = "pages of 1000 samples"
        return [Row(name, "pages/s", rate(fast), reference: rate(plain), beside: beside, higherIsBetter: true)]
            + times(name, fast, plain, beside, isAsked: true)
            + [Row("\(name), recorded", "pages/s", rate(fast), reference: rate(recorded), beside: recording, higherIsBetter: true)]
            + times("\(name), recorded", fast, recorded, recording)
            + times("\(name), \(Self.pace) a second", paced, plainPaced, beside)
            + times("\(name), \(Self.pace) a second, recorded", paced, recordedPaced, recording)
    }

    /// Whoever is not measured stands still.
    private func halting<Value>(_ sharing: SharingSuite, _ body: () async throws -> Value) async throws -> Value {
        for program in sharing.programs.values { program.signal(SIGSTOP) }
        defer { for program in sharing.programs.values { program.signal(SIGCONT) } }
        return try await body()
    }
}
