// Reads under grants at the pace of a thousand subscriptions: how far behind them consent's record of accesses is.

import Bus
import Contracts
import Foundation
import ServiceKit

/// The benchmarks sit in the gateway's place and ask ingest for single values. Ingest tells consent of each before it leaves (SHR-24);
/// how many are recorded is seen where the person sees it.
struct AccessesBenchmark {
    /// What 1,002 subscriptions of two types by the second read.
    private static let pace = 2004
    private static let seconds = 30
    private static let reads = pace * seconds
    private static let people = 50
    private static let secondsOfEach = 1000
    /// Fewer than ingest works on at once for one peer (`BusLimits.questionsInWork`, less what is kept for others).
    private static let readers = 32
    /// Listed at once.
    private static let page = 1000

    let stage: Stage

    private struct Accesses: Decodable, Sendable {
        struct Item: Decodable, Sendable {
            var count: Int
        }
        var items: [Item]
        var next: String?
    }

    /// Of each round.
    private struct Backlog {
        /// Accesses a second, from consent's start until the last one is seen.
        var ours: [Double] = []
        var plain: [Double] = []
        var lost: [Double] = []
    }

    func rows() async throws -> [Row] {
        let sharing = try await SharingSuite(in: stage.emptyFolder("accesses"), people: Self.people, firms: 1)
        let entries = PageRows(
            people: Self.people, start: Int(Date.now.timeIntervalSince1970) - Self.secondsOfEach - 3600, seconds: Self.secondsOfEach)
        for wearer in sharing.wearers { try await sharing.upload(entries.lines(), of: wearer, lines: true) }
        let end = Timestamp(milliseconds: Int64(entries.start + entries.seconds) * 1000)
        let shares = try await sharing.share(from: end - .seconds(2 * entries.seconds), to: end + .seconds(1)) { _ in [.heartRate] }
        sharing.programs[.thirdPartyGateway]?.kill9()
        let seat = try SuiteUnderTest.seat(.thirdPartyGateway, in: sharing.suite.folder)
        let reader = GrantReader(ingest: try await seat.client(of: .ingest), organisation: sharing.firms[0].id)
        let grants = try shares.map { share in
            guard let grant = GrantID(share.grant) else { throw BenchmarkError("no grant: \(share.grant)") }
            return grant
        }
        // Nothing was measured then, so that nothing leaves and nothing is recorded.
        try await Stage.wait("ingest to answer in the gateway's place") {
            (try? await reader.read(grants[0], at: entries.start - 10)) != nil
        }
        let before = try await recorded(sharing)
        let took = try await read(reader, grants, entries)
        let behind = try await lag(reader, grants[0], sharing.wearers[shares[0].wearer], entries, sharing)
        let after = try await recorded(sharing)
        await seat.bus.shutdown()
        let backlog = try await drain(sharing, sharing.wearers[shares[0].wearer], recordedBefore: after)
        await sharing.end()
        let name = "granted reads at \(Self.pace) a second"
        return [
            Row("\(name), \(Self.seconds) s of them took", "s", [took.inSeconds], .below(1.1 * Double(Self.seconds)), isJudged: true),
            Row("\(name), record behind the last", "ms", [behind.milliseconds], .below(2000), isJudged: true),
            // One that was recorded twice is as wrong.
            Row("\(name), accesses", "lost", [Double(abs(Self.reads + 1 - (after - before)))], .below(1)),
            Row(
                "\(name), recorded after consent was away", "accesses/s", backlog.ours, reference: backlog.plain,
                beside: "SQLite alone, the same rows", higherIsBetter: true, .atLeast(Double(Self.pace)), isJudged: true),
            Row("\(name), accesses after consent was away", "lost", backlog.lost, .below(1)),
        ]
    }

    /// Each at its moment, whether those before are answered or not, as far as there are readers.
    private func read(_ reader: GrantReader, _ grants: [GrantID], _ entries: PageRows) async throws -> Duration {
        let begun = ContinuousClock.now
        _ = try await SuiteUnderTest.each(0..<Self.readers, atOnce: Self.readers) { first in
            for number in stride(from: first, to: Self.reads, by: Self.readers) {
                try await Task.sleep(until: begun + Duration.seconds(number) / Self.pace, clock: .continuous)
                let found = try await reader.read(
                    grants[number % grants.count], at: entries.start + number / grants.count % (entries.seconds - 2))
                guard found == 1 else { throw BenchmarkError("\(found) values of a second with one") }
            }
        }
        return ContinuousClock.now - begun
    }

    /// One read of two values, which is told from the others and recorded behind them: from its answer until the person sees it.
    private func lag(
        _ reader: GrantReader, _ grant: GrantID, _ wearer: SharingSuite.Wearer, _ entries: PageRows, _ sharing: SharingSuite
    ) async throws -> Duration {
        let found = try await reader.read(grant, at: entries.start, seconds: 2)
        let answered = ContinuousClock.now
        guard found == 2 else { throw BenchmarkError("\(found) values of two seconds with one each") }
        try await Stage.wait("the last access to be recorded", atMost: .seconds(120)) {
            try await newestAccess(of: wearer, sharing).items.first?.count == found
        }
        return ContinuousClock.now - answered
    }

    /// Consent comes back to as many accesses as were read, and SQLite alone is given the same rows, in turn. Whatever is not measured does
    /// not run.
    /// - Parameter wearer: whose access is the last one, of two values.
    private func drain(_ sharing: SharingSuite, _ wearer: SharingSuite.Wearer, recordedBefore: Int) async throws -> Backlog {
        let folder = sharing.suite.folder
        let plain = PlainAccessesStore(recorded: folder.appendingPathComponent("consent/consent-accesses.db"))
        var (backlog, known) = (Backlog(), recordedBefore)
        var running = Array(sharing.programs.values)
        var last = try await newestAccess(of: wearer, sharing)
        for _ in 0..<stage.rounds {
            for program in running { program.kill9() }
            try AccessCopiesStore(file: folder.appendingPathComponent("ingest/ingest.db")).add(Self.reads)
            let ingest = try await sharing.suite.start(.ingest)
            let begun = ContinuousClock.now
            let consent = try await sharing.suite.start(.consent, SharingSuite.settings[.consent] ?? [:])
            running = [consent, ingest]
            let before = last
            last = try await Stage.waitFor("the backlog to be recorded", atMost: .seconds(120), every: .milliseconds(50)) {
                // The connections of before are gone.
                guard let newest = try? await newestAccess(of: wearer, sharing), newest.items.first?.count == 2 else { return nil }
                return newest.next == before.next ? nil : newest
            }
            backlog.ours.append(Double(Self.reads) / (ContinuousClock.now - begun).inSeconds)
            let all = try await recorded(sharing)
            backlog.lost.append(Double(abs(Self.reads - (all - known))))
            known = all
            for program in running { program.kill9() }
            backlog.plain.append(try plain.rate(Self.reads, batch: BusLimits.batch, in: folder))
        }
        return backlog
    }

    /// The page's `next` tells the newest access from all before it.
    private func newestAccess(of wearer: SharingSuite.Wearer, _ sharing: SharingSuite) async throws -> Accesses {
        try await sharing.suite.consent.get("/consent/v1/accesses?limit=1", token: wearer.token)
    }

    /// What all people see.
    private func recorded(_ sharing: SharingSuite) async throws -> Int {
        try await SuiteUnderTest.each(sharing.wearers, atOnce: SharingSuite.logInsAtOnce) { wearer in
            var (count, after): (Int, String?) = (0, nil)
            repeat {
                let path = "/consent/v1/accesses?limit=\(Self.page)" + (after.map { "&after=\($0)" } ?? "")
                let page: Accesses = try await sharing.suite.consent.get(path, token: wearer.token)
                count += page.items.count
                after = page.next
            } while after != nil
            return count
        }.reduce(0, +)
    }
}

/// Asks ingest in the gateway's place.
struct GrantReader: Sendable {
    let ingest: BusClient
    let organisation: OrganisationID

    /// Asked once: each that is answered was recorded once.
    /// - Parameter second: since 1970.
    /// - Returns: how many values.
    func read(_ grant: GrantID, at second: Int, seconds: Int = 1) async throws(Failure) -> Int {
        let from = Timestamp(milliseconds: Int64(second) * 1000)
        let asked = ReadSamples(
            grant: grant, organisation: organisation, type: .heartRate, from: from, to: from + .seconds(seconds), after: nil,
            limit: seconds)
        return try await ingest.ask(asked, deadline: .seconds(10), attempts: 1).columns.values.count
    }

    /// Whether ingest has heard of the grant and of everything else that consent has said. Nothing is read: a page of no values is refused,
    /// but only of a grant that is known.
    func isKnown(_ grant: GrantID) async -> Bool {
        let asked = ReadSamples(
            grant: grant, organisation: organisation, type: .heartRate, from: Timestamp(milliseconds: 0),
            to: Timestamp(milliseconds: 1000), after: nil, limit: 0)
        do throws(Failure) {
            _ = try await ingest.ask(asked, deadline: .seconds(10), attempts: 1)
            return true
        } catch {
            return error.code == .invalid
        }
    }
}
