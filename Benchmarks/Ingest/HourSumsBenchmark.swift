// What it costs uploads that hours of those who share anonymously are summed up and said beside them.

import Bus
import Contracts
import Foundation
import ServiceKit
import Storage
import Synchronization

/// Everybody who uploads shares, and has hours of before that nobody has summed up: ingest does nothing else in its background while it is
/// measured. In the rounds between consent is silent, and ingest says nothing then. Somebody hears all samples in both.
struct HourSumsBenchmark {
    private static let batch = 100

    let stage: Stage
    let pair: IngestPair

    func row() async throws -> Row {
        let suite = pair.suite
        let samples = try await SamplesFollower(of: suite)
        let hours = try await HoursFollower(of: suite)
        let folder = try stage.emptyFolder("people")
        var consent = try await SharingPeople(in: suite, folder)
        try await consent.share(pair.people)
        var (alone, beside): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.rounds {
            let before = hours.said.count
            try await Stage.wait("hours to be summed up", atMost: .seconds(60)) { hours.said.count > before }
            beside.append(try await rate())
            // Else there was nothing to sum up any more.
            let after = hours.said.count
            try await Stage.wait("more hours than were summed up under load", atMost: .seconds(60)) { hours.said.count > after }
            await consent.end()
            try await Task.sleep(for: StreamFamily.grantSilence + .seconds(1))
            alone.append(try await rate())
            consent = try await SharingPeople(in: suite, folder)
        }
        await consent.end()
        try await samples.catchUp()
        await samples.end()
        await hours.end()
        let said = hours.said
        print("  an hour of one person and type: \(said.bytes / max(1, said.count)) bytes on the wire; \(said.count) were said")
        return Row(
            "ingest, batches of \(Self.batch), while hours are summed up", "entries/s", beside, reference: alone,
            beside: "ingest while none are", higherIsBetter: true, .ratioAtLeast(0.95), isJudged: true)
    }

    private func rate() async throws -> Double {
        let outcome = try await pair.load(.trackme, batch: Self.batch)
        return Double(outcome.accepted * Self.batch) / outcome.seconds
    }
}

/// Consent as far as ingest needs it to sum up hours: it says who shares, and is heard. Opened again in the same folder it goes on.
private struct SharingPeople: Sendable {
    private let seat: Runtime
    private let store: Store
    private let facts: FactStream

    init(in suite: SuiteUnderTest, _ folder: URL) async throws {
        seat = try SuiteUnderTest.seat(.consent, in: suite.folder)
        let streams = Migration(1, "streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
        }
        let store = try Store.open(
            folder.appendingPathComponent("people.db"), applicationID: 1, migrations: [streams], logger: WebClient.quiet)
        self.store = store
        let (relay, epoch) = try await seat.relay(of: .people, in: store)
        let facts = FactStream(stream: StreamFamily.people.streams[0], epoch: epoch, relay: relay)
        self.facts = facts
        var methods = Methods()
        StreamSource(families: [.people], store: store, render: { $1.body }) { _ in
            try await store.read { db in
                try facts.snapshot(db, type: PersonState.type, facts: [(subject: PersonID?, body: PersonState)](), next: nil)
            }
        }.register(in: &methods)
        try await seat.answer(methods)
    }

    /// Their heart rates, since before the first that was uploaded.
    func share(_ people: [PersonID]) async throws {
        let optIn = CohortOptIn(metric: .heartRate, since: .now - .seconds(5 * 86_400))
        for person in people {
            let state = PersonState(person: person, active: true, termsVersion: "1", language: .italian, sharesAnonymously: [optIn])
            try await store.write { [facts] db in
                try facts.publish(db, type: PersonState.type, subject: person, body: state, at: .now)
            }
        }
    }

    func end() async {
        await seat.bus.shutdown()
        await store.close()
    }
}

/// Hears `ingest.cohort` in the place of the anonymiser and stores nothing.
private final class HoursFollower: Sendable {
    private let seat: Runtime
    private let following: Task<Void, any Error>
    private let state = Heard()

    private final class Heard: Sendable {
        let said = Mutex((count: 0, bytes: 0))
        let isThere = Atomic<Bool>(false)
    }

    /// Hours of people and types, and what they took on the wire with their headers.
    var said: (count: Int, bytes: Int) { state.said.withLock { $0 } }

    init(of suite: SuiteUnderTest) async throws {
        seat = try SuiteUnderTest.seat(.anonymiser, in: suite.folder)
        let consumer = try await seat.consumer(of: .cohortHours)
        following = Task { [state] in
            try await consumer.run(
                from: [],
                apply: { events, _ in
                    let hours = events.filter { $0.header.type == CohortHourSummed.type }
                    let bytes = try hours.reduce(0) { try $0 + $1.payload.count + JSONEncoder().encode($1.header).count }
                    state.said.withLock { said in said = (said.count + hours.count, said.bytes + bytes) }
                    state.isThere.store(true, ordering: .relaxed)
                })
        }
        try await Stage.wait("the first heartbeat") { [state] in state.isThere.load(ordering: .relaxed) }
    }

    func end() async {
        following.cancel()
        await seat.bus.shutdown()
    }
}
