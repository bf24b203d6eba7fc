// The link of one dispatcher to the other by itself: what it does beside all that it hears, and what it is told before it begins.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("The link between two dispatchers", .timeLimit(.minutes(2)))
struct PairLinkStories {
    /// What is held up while somebody begins to be supervised.
    enum Stalled: String, CaseIterable, Sendable {
        case ingest, reading
    }

    private static let place = Sample(
        type: .position, at: .now, value: nil, position: Position(latitude: 45.4642, longitude: 9.19, accuracy: 10))

    /// A link of the first dispatcher, whose own one has ended.
    /// - Parameter latest: what ingest says of a person.
    private static func play(
        latest: @escaping @Sendable (PersonID) async -> [Sample], body: (Stage, Stage.Built, PairLink) async throws -> Void
    ) async throws {
        try await Stage.play { stage in
            let built = try await stage.built([:])
            await end(built.parts.link)
            let link = PairLink(
                on: built.runtime, supervision: built.parts.supervision, dispatcher: built.parts.dispatcher, pair: built.parts.pair,
                keys: await built.parts.supervision.keys, participants: [:], positions: [], latest: latest)
            try await withHarness(built) { built in
                try await body(stage, built, link)
            } stop: { built in
                await end(link)
                await built.close()
            }
        }
    }

    private static func end(_ link: PairLink) async {
        let running = Task { await link.run() }
        running.cancel()
        await running.value
    }

    @Test(
        "SOS-20, SOS-25: the place of whom the other dispatcher supervises waited for this one's store: neither waits for the other",
        arguments: Stalled.allCases)
    func apart(stalled: Stalled) async throws {
        let ingest = WakeUpSignal()
        try await Self.play { _ in
            if stalled == .ingest { await ingest.wait(atMost: .seconds(60)) }
            return [Self.place]
        } body: { stage, built, link in
            try await stage.start(role: .second)
            let (person, store) = (PersonID.random(), built.parts.store.store)
            try await store.write { db in
                try db.execute(
                    sql: "INSERT INTO devices (device, person, interval_ms) VALUES (?, ?, 900000)",
                    arguments: [DeviceID.random().data, person.data])
            }
            await link.begin(waiting: true, hasForgotten: false, isAnybodyUnreadable: false)
            let readings = HeldReadings(of: store, count: stalled == .reading ? StoreSettings().readers : 0)
            defer { readings.end() }
            try await eventually("nothing more can be read", isTrue: { readings.areHeld })
            _ = try await stage.question(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), of: .second)
            switch stalled {
            case .ingest:
                try await eventually(
                    "the device is given its time",
                    isTrue: {
                        let due = await built.parts.supervision.subscriber(of: person)?.supervision.joiningDue
                        let now = await built.parts.supervision.clock.now
                        return due.map { $0 - now > .seconds(2000) } ?? false
                    })
                #expect(await !built.parts.supervision.knowsPlace(of: person))
            case .reading:
                try await eventually("its place is known", isTrue: { await built.parts.supervision.knowsPlace(of: person) })
            }
            ingest.notify()
        }
    }

    @Test(
        "SOS-28: the operator's word that the other dispatcher is gone came while this one began: it asked the other for ever",
        arguments: [true, false])
    func goneBefore(isAnybodyUnreadable: Bool) async throws {
        try await Self.play { _ in
            []
        } body: { _, _, link in
            await link.otherIsGone()
            await link.begin(waiting: false, hasForgotten: true, isAnybodyUnreadable: isAnybodyUnreadable)
            #expect(await link.isAsking == isAnybodyUnreadable, "whose state cannot be read is asked for all the same")
        }
    }
}

/// Reads that hold their connections until they are let go.
private final class HeldReadings: Sendable {
    private let count: Int
    private let begun = Atomic<Int>(0)
    private let release = DispatchSemaphore(value: 0)

    init(of store: Store, count: Int) {
        self.count = count
        for _ in 0..<count {
            Task {
                try? await store.read { _ in
                    self.begun.add(1, ordering: .relaxed)
                    self.release.wait()
                }
            }
        }
    }

    var areHeld: Bool { begun.load(ordering: .relaxed) == count }

    func end() {
        for _ in 0..<count { release.signal() }
    }
}
