// What ingest tells third parties of an upload: that there is something new of somebody who shares it, and nothing else.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("Arrivals")
struct ArrivalTests {
    private static func said(_ harness: IngestHarness) async throws -> [(person: PersonID?, fact: DataArrived)] {
        try await harness.ingest.store.read { db in
            try StreamLog().rows(db, ArrivalEventStore.stream, from: 1, limit: 1000).map {
                ($0.subject, try JSONDecoder().decode(DataArrived.self, from: Data($0.body)))
            }
        }
    }

    private static func grant(_ person: PersonID, _ types: [Metric], active: Bool = true, version: Int64 = 1, _ id: GrantID) -> GrantState {
        GrantState(
            grant: id, request: .random(), person: person, organisation: .random(), types: types, from: Timestamp(milliseconds: 0),
            to: Timestamp(milliseconds: .max), granularity: .seconds, active: active, version: version)
    }

    private static func following<Value>(_ harness: IngestHarness, _ body: () async throws -> Value) async throws -> Value {
        let following = Task { try await harness.ingest.granted.follower.run() }
        defer { following.cancel() }
        try await eventually("grants are heard", isTrue: { harness.ingest.granted.follower.silentFor < .seconds(2) })
        return try await body()
    }

    private static func say(_ state: GrantState, _ harness: IngestHarness) async throws {
        try await harness.consent.say(state)
        try await eventually("ingest knows the grant") {
            try await harness.ingest.store.read { db in try GrantProjection().find(db, state.grant)?.version == state.version }
        }
    }

    @Test("SHR-14, SHR-21: an upload is told of only where a grant in force covers the type, with its times and without a value")
    func telling() async throws {
        try await IngestHarness.run { harness in
            try await Self.following(harness) {
                let (sharing, quiet) = (try await harness.addDevice(), try await harness.addDevice())
                let id = GrantID.random()
                let start = Timestamp.now - .seconds(600)
                let samples = (0..<5).map { Sample.pulse(start.milliseconds + Int64($0) * 1000, 60 + Double($0)) }
                _ = try await harness.post(samples, token: sharing.token)
                #expect(try await Self.said(harness).isEmpty, "nothing is granted yet")
                try await Self.say(Self.grant(sharing.person, [.heartRate], id), harness)
                let later = samples.map { Sample.pulse($0.at.milliseconds + 10_000, 70) }
                let warm = Sample(type: .bodyTemperature, at: start, value: 36.6)
                _ = try await harness.post(later + [warm], token: sharing.token)
                _ = try await harness.post(samples, token: quiet.token)
                let said = try await Self.said(harness)
                #expect(said.map(\.person) == [sharing.person])
                #expect(
                    said.first?.fact
                        == DataArrived(
                            metric: .heartRate, from: later[0].at, to: Timestamp(milliseconds: later[4].at.milliseconds + 1)))
                // The same again is nothing new; one late entry is.
                _ = try await harness.post(later, token: sharing.token)
                #expect(try await Self.said(harness).count == 1)
                _ = try await harness.post([.pulse(start.milliseconds + 5500, 65)], token: sharing.token)
                #expect(try await Self.said(harness).last?.fact.from == Timestamp(milliseconds: start.milliseconds + 5500))
                // Withdrawn: nothing is told any more.
                try await Self.say(Self.grant(sharing.person, [.heartRate], active: false, version: 2, id), harness)
                try await eventually(
                    "nobody is granted anything", isTrue: { harness.ingest.granted.people.types(of: sharing.person) == nil })
                _ = try await harness.post([.pulse(start.milliseconds + 50_000, 65)], token: sharing.token)
                #expect(try await Self.said(harness).count == 2)
            }
        }
    }

    @Test("SHR-14: who shares is known again after a restart, before consent is heard")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let device = try await IngestHarness.run(in: folder) { harness in
                try await Self.following(harness) {
                    let device = try await harness.addDevice()
                    try await Self.say(Self.grant(device.person, [.heartRate], .random()), harness)
                    return device
                }
            }
            try await IngestHarness.run(in: folder) { harness in
                _ = try await harness.post([.pulse((Timestamp.now - .seconds(10)).milliseconds, 65)], token: device.token)
                #expect(try await Self.said(harness).map(\.person) == [device.person])
            }
        }
    }

    @Test("who shares what is widened before a grant counts and narrowed after: union over grants, nothing without any")
    func people() {
        let people = GrantedPeople()
        let (person, one, two) = (PersonID.random(), GrantID.random(), GrantID.random())
        #expect(people.types(of: person) == nil)
        people.widen(by: Self.grant(person, [.heartRate], one))
        people.widen(by: Self.grant(person, [.bodyTemperature], active: false, two))
        #expect(people.types(of: person) == MetricSet([.heartRate]))
        people.widen(by: Self.grant(person, [.bodyTemperature], two))
        people.widen(by: Self.grant(person, [.position], version: 2, one))
        #expect(people.types(of: person) == MetricSet([.heartRate, .bodyTemperature, .position]))
        people.settle(on: Self.grant(person, [.position], version: 2, one))
        #expect(people.types(of: person) == MetricSet([.bodyTemperature, .position]))
        people.settle(on: Self.grant(person, [], active: false, version: 3, one))
        people.settle(on: Self.grant(person, [.heartRate], two))
        #expect(people.types(of: person) == MetricSet([.heartRate]))
        people.settle(on: Self.grant(person, [.heartRate], active: false, two))
        #expect(people.types(of: person) == nil)
    }
}

@Suite("Many reads under grants at once")
struct GrantedRangesTests {
    private static func stretch(_ grant: GrantState, _ range: Range<Int64>, type: Metric = .heartRate) -> ReadSampleRanges.Stretch {
        ReadSampleRanges.Stretch(
            grant: grant.grant, organisation: grant.organisation, type: type, from: Timestamp(milliseconds: range.lowerBound),
            to: Timestamp(milliseconds: range.upperBound))
    }

    @Test("X8: a short read under a grant left out what was damaged, and did not say so")
    func damaged() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([
                (0..<3).map { .pulse(Int64($0) * 1000 + 100, 60) }, (3..<6).map { .pulse(Int64($0) * 1000 + 100, 60) },
            ])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, 0..<8000))
            try await harness.store.write { db in
                try db.execute(sql: "UPDATE chunks SET body = zeroblob(length(body)) WHERE id = (SELECT max(id) FROM chunks)")
            }
            let outcomes = try await harness.gateway.ask(
                ReadSampleRanges(stretches: [Self.stretch(grant, 0..<3000), Self.stretch(grant, 2000..<5000)]), deadline: .seconds(10)
            ).outcomes
            #expect(outcomes.map(\.samples.count) == [3, 1])
            #expect(outcomes[0].damaged == nil)
            #expect(outcomes[1].damaged == [DamagedPeriod(from: Timestamp(milliseconds: 3100), to: Timestamp(milliseconds: 4999))])
        }
    }

    @Test(
        "SHR-11, SHR-21, SHR-24, INV-04: each stretch is judged by its own grant, gives what read-samples gives, and is recorded if anything left"
    )
    func judged() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([(0..<10).map { .pulse(Int64($0) * 1000 + 100, 60 + Double($0)) }])
            let stranger = try await harness.addPerson([[.pulse(500, 90)]])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, 0..<8000))
            var over = GrantedHarness.grant(to: stranger, 0..<8000)
            over.active = false
            over = try await harness.saying(over)
            var foreign = Self.stretch(grant, 0..<1000)
            foreign.organisation = .random()
            let asked = [
                Self.stretch(grant, 1000..<4000), Self.stretch(over, 0..<1000), Self.stretch(grant, 0..<1000, type: .bodyTemperature),
                Self.stretch(grant, 7000..<9000), foreign, Self.stretch(grant, 4000..<8000),
            ]
            let outcomes = try await harness.gateway.ask(ReadSampleRanges(stretches: asked), deadline: .seconds(10)).outcomes
            #expect(outcomes.map { $0.samples.count } == [3, 0, 0, 0, 0, 4])
            #expect(outcomes[0].samples == (try await harness.read(grant, 1000..<4000)).samples)
            #expect(outcomes[0].readTo == Timestamp(milliseconds: 4000) && outcomes[5].readTo == Timestamp(milliseconds: 8000))
            #expect(outcomes.map { $0.denial?.code } == [nil, .forbidden, .forbidden, .forbidden, .notFound, nil])
            let reads = try await harness.store.read { db in
                try StreamLog().rows(db, StreamFamily.accesses.streams[0], from: 1, limit: 100).map {
                    try JSONDecoder().decode(DataRead.self, from: Data($0.body)).count
                }
            }
            #expect(reads == [3, 4, 3])
        }
    }

    @Test("SHR-14: a stretch that is not over says how far it was read; none and more than 200 are refused; a silent consent denies all")
    func limits() async throws {
        try await GrantedHarness.run { harness in
            let now = Timestamp.now.milliseconds / 1000 * 1000
            let person = try await harness.addPerson([[.pulse(now - 5000, 60)]])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, (now - 10_000)..<(now + 1_000_000)))
            let outcome = try await harness.gateway.ask(
                ReadSampleRanges(stretches: [Self.stretch(grant, (now - 10_000)..<(now + 100_000))]), deadline: .seconds(10)
            ).outcomes.first
            let readTo = try #require(outcome?.readTo)
            #expect(outcome?.samples.count == 1 && readTo.milliseconds >= now && readTo <= .now && readTo.milliseconds % 1000 == 0)
            for count in [0, 201] {
                await #expect(throws: Failure.self) {
                    let stretches = [ReadSampleRanges.Stretch](repeating: Self.stretch(grant, now..<(now + 1)), count: count)
                    _ = try await harness.gateway.ask(ReadSampleRanges(stretches: stretches), deadline: .seconds(10))
                }
            }
            await harness.consent.close()
            try await eventually("everything is denied", within: .seconds(60)) {
                let reply = try await harness.gateway.ask(
                    ReadSampleRanges(stretches: [Self.stretch(grant, (now - 10_000)..<now)]), deadline: .seconds(10))
                return reply.outcomes.first?.denial?.code == .forbidden
            }
        }
    }
}
