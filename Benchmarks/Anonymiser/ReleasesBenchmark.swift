// What the anonymiser takes as a service: to start, in memory, to judge a request for a group, and to make its data.

import Bus
import Contracts
import Foundation
import ServiceKit

/// The service as a process over a store with very many people; the benchmark asks it in the gateway's place.
struct ReleasesBenchmark {
    /// Of which people have data (`MadeUpPeople.days`).
    private static let days = 30
    private static let hourDays = 7
    private static let organisations = 4
    /// Groups that an organisation has asked about before, as many as it may have.
    private static let earlier = 64
    /// More of them, by the hour, would be more entries than a release may have.
    private static let mostPeopleByHour = 1_500_000

    let stage: Stage
    let people: Int

    private var isMillion: Bool { people == AnonymiserBenchmark.million }
    private var hasHours: Bool { people <= Self.mostPeopleByHour }

    func rows() async throws -> [Row] {
        let suite = try SuiteUnderTest(in: stage.emptyFolder("anonymiser"))
        _ = try await AnonymiserBenchmark.ask(
            ["fill", "--people", "\(people)", "--hour-days", "\(hasHours ? Self.hourDays : 0)"],
            environment: suite.environment(of: .anonymiser))
        var (starts, resident): ([Double], [Double]) = ([], [])
        var service = try await start(suite, &starts, &resident)
        for _ in 1..<stage.rounds {
            service.kill9()
            service = try await start(suite, &starts, &resident)
        }
        let seat = try SuiteUnderTest.seat(.thirdPartyGateway, in: suite.folder)
        let client = try await seat.client(of: .anonymiser)
        let closed = try await client.ask(ReadGroupCatalogue(), deadline: .seconds(10), attempts: 3).closedThrough
        guard let closed else { throw BenchmarkError("no hour is closed") }
        let requests = GroupQuestions(client: client, end: closed)
        let judged = try await judge(requests)
        let afterJudging = service.residentMegabytes
        let released = hasHours ? try await release(requests) : []
        let afterAll = service.residentMegabytes
        await seat.bus.shutdown()
        await suite.operatorSeat.bus.shutdown()
        service.kill9()
        let admission: Row.Demand = isMillion ? .below(50) : .below(150)
        let memory: Row.Demand = isMillion ? .below(300) : .none
        let group = "group of \(people) people"
        let anonymiser = "anonymiser with \(people) people"
        var rows = [
            Row("\(anonymiser), until it is ready", "s", starts, isMillion ? .below(2) : .none),
            Row("\(anonymiser), memory once ready", "MB", resident, memory),
            Row("\(group), refused as too few, p99", "ms", [judged.refused.percentile(99)], admission),
            Row("\(group), admitted by guard and ledger, p50", "ms", [judged.admitted.percentile(50)]),
            Row("\(group), admitted by guard and ledger, p99", "ms", [judged.admitted.percentile(99)], admission),
            Row("\(anonymiser), memory after admissions", "MB", [afterJudging], memory),
        ]
        if hasHours {
            let records: Row.Demand = isMillion ? .below(500) : .none
            rows.append(Row("records of a fifth of \(people) people, 7 days by the hour, 3 types", "ms", released, records))
            rows.append(Row("\(anonymiser), memory after records", "MB", [afterAll], memory))
        }
        return rows
    }

    private func start(_ suite: SuiteUnderTest, _ starts: inout [Double], _ resident: inout [Double]) async throws -> Program {
        let begun = ContinuousClock.now
        let service = try await suite.start(.anonymiser, atMost: .seconds(600))
        starts.append((ContinuousClock.now - begun).inSeconds)
        resident.append(service.residentMegabytes)
        return service
    }

    /// How long answers took, ascending, in ms.
    private struct Judged {
        var refused: [Double] = []
        var admitted: [Double] = []
    }

    /// Each organisation asks about as many groups as it may have, for more people than there are; then for statistics of the same groups,
    /// each on a day of its own, since a day pays for few: each is compared with all others, is charged to everybody in it, and is made.
    private func judge(_ requests: GroupQuestions) async throws -> Judged {
        var judged = Judged()
        var notAdmitted = 0
        for number in 0..<Self.organisations {
            let organisation = OrganisationID.random()
            for group in 0..<Self.earlier {
                let form = requests.tooMany(group, of: number, days: Self.days)
                let (reply, took) = try await requests.ask(form, as: organisation)
                guard reply.refusal == .tooFewIndividuals else { throw BenchmarkError("\(people) people were more than there are") }
                judged.refused.append(took)
            }
            for day in 0..<Self.days {
                let (reply, took) = try await requests.ask(requests.statistics(day, of: number, daysAgo: day), as: organisation)
                if reply.release == nil { notAdmitted += 1 } else { judged.admitted.append(took) }
            }
        }
        guard notAdmitted < judged.admitted.count / 10 else { throw BenchmarkError("\(notAdmitted) groups were not admitted") }
        judged.refused.sort()
        judged.admitted.sort()
        return judged
    }

    /// Each another group by another organisation, so that nothing is kept of it.
    private func release(_ requests: GroupQuestions) async throws -> [Double] {
        var took: [Double] = []
        for number in 0..<max(5, stage.rounds) {
            let (reply, duration) = try await requests.ask(requests.records(number, days: Self.hourDays), as: .random())
            guard let release = reply.release, release.granularity == "hour", release.tables == 3 * 24 * Self.hourDays else {
                throw BenchmarkError("no records by the hour: \(reply)")
            }
            took.append(duration)
        }
        return took
    }
}

/// What the gateway would ask of the anonymiser.
private struct GroupQuestions: Sendable {
    let client: BusClient
    /// Hours before it are closed.
    let end: Timestamp

    private func daysAgo(_ days: Int) -> Timestamp { end - .seconds(86_400 * days) }

    /// One of sixty-four groups, all of which differ by thousands in a hundred thousand; those of two organisations are never the same.
    private func form(_ group: Int, of organisation: Int, from: Timestamp, to: Timestamp) -> GroupRequestForm {
        var form = GroupRequestForm(types: ["heart-rate"], from: from, to: to, granularity: "day")
        form.sex = [group % 2 == 0 ? "female" : "male"]
        let youngest = 18 + 6 * (group / 2 % 8) + organisation
        form.age = GroupRequestForm.Interval(from: youngest, to: youngest + 20)
        let heaviest = 60 + 20 * (group / 16)
        if group >= 16 { form.weight = GroupRequestForm.Interval(from: heaviest - 40, to: heaviest) }
        return form
    }

    func tooMany(_ group: Int, of organisation: Int, days: Int) -> GroupRequestForm {
        var form = form(group, of: organisation, from: daysAgo(days), to: end)
        form.minIndividuals = 100_000_000
        return form
    }

    func statistics(_ group: Int, of organisation: Int, daysAgo day: Int) -> GroupRequestForm {
        var form = form(group, of: organisation, from: daysAgo(day + 1), to: daysAgo(day))
        form.product = "statistics"
        return form
    }

    /// A fifth of everybody, in groups that differ from one another.
    func records(_ number: Int, days: Int) -> GroupRequestForm {
        var form = GroupRequestForm(
            types: ["heart-rate", "oxygen-saturation", "body-temperature"], from: daysAgo(days), to: end, granularity: "hour")
        form.sex = ["female"]
        form.age = GroupRequestForm.Interval(from: 18 + number, to: 48 + number)
        return form
    }

    /// - Returns: also how long it took, in ms.
    func ask(_ form: GroupRequestForm, as organisation: OrganisationID) async throws -> (ReleaseGroup.Reply, Double) {
        let begun = ContinuousClock.now
        let reply = try await client.ask(
            ReleaseGroup(request: .random(), organisation: organisation, form: form), deadline: .seconds(120), attempts: 1)
        let took = (ContinuousClock.now - begun).milliseconds
        if let faults = reply.faults { throw BenchmarkError("the form is wrong: \(faults)") }
        return (reply, took)
    }
}
