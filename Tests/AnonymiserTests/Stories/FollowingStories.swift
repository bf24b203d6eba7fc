// The anonymiser on the bus: it follows consent and ingest, and confirms an erasure.

import Bus
import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Anonymiser

/// What consent was told.
private final class ToldConsent: Sendable {
    private let kept = Mutex<[ConfirmErasure]>([])

    var all: [ConfirmErasure] { kept.withLock { $0 } }

    func add(_ one: ConfirmErasure) {
        kept.withLock { $0.append(one) }
    }
}

@Suite("The anonymiser between consent and ingest", .serialized, .timeLimit(.minutes(2)))
struct FollowingStories {
    @Test("ACC-29: what consent and ingest say of a person counts once its hour is closed, and is gone before an erasure is confirmed")
    func following() async throws {
        try await withTemporaryHarness(["TRACKME_HTTP_PUBLIC_ORIGIN": "https://suite.example"]) { harness in
            try harness.introducePeers()
            let confirmations = ToldConsent()
            var methods = Methods()
            methods.on(ConfirmErasure.self) { asked, _ in
                confirmations.add(asked)
                return Nothing()
            }
            let consent = try await FactSpeaker(.cohortProfiles, harness.runtime(.consent), harness.folder, methods: methods)
            let ingest = try await FactSpeaker(.cohortHours, harness.runtime(.ingest), harness.folder)
            var reader = harness.reader
            let parts = try await AnonymiserModule(AnonymiserAssembly.settings(&reader), on: harness.runtime(.anonymiser))
            harness.start(parts.services)
            for follower in [parts.profiles, parts.hours] {
                try await eventually("what is said is heard", isTrue: { follower.silentFor < .seconds(5) })
            }

            let hour = Int(Timestamp.now.milliseconds / CohortHourSummed.milliseconds) - 1
            let person = PersonID.random()
            var profile = CohortStage.profile(since: hour)
            (profile.cityOfBirth, profile.cityOfResidence) = ("F205", "F205")
            try await consent.say(CohortProfileState(person: person, profile: profile), type: CohortProfileState.type, of: person)
            try await ingest.say(CohortStage.rate(person, hour, 60), type: CohortHourSummed.type, of: person)
            try await ingest.say(CohortHoursClosed(through: CohortStage.time(hour + 1)), type: CohortHoursClosed.type, of: nil)
            let data = try await eventually("the hour is closed and the person known") {
                let data = await parts.population.current()
                let isThere = data.closedUntil == (hour + 1) * TimeSpan.perHour && !data.columns.eligible(for: .heartRate).isEmpty
                return isThere ? data : nil
            }
            #expect(try data.rate(of: 0, from: hour) == 30)
            #expect(data.hasData(.heartRate, day: hour / 24).members == [0])

            let order = PersonErased(erasure: .random(), person: person, scope: .account, orderedAt: .now)
            try await parts.opened.store.write { [erasures = parts.erasures] db in try erasures.add(db, order) }
            let said = try await eventually("the erasure is confirmed") { confirmations.all.first }
            #expect(said.erasure == order.erasure)
            #expect(said.stores.map(\.store) == ["anonymiser.db", "anonymiser-keys.db", "anonymiser-keys.db backups"])
            #expect(said.stores.allSatisfy { $0.kept == nil }, "no key of one person was there to be kept")
            let after = await parts.population.current()
            #expect(after.columns.eligible(for: .heartRate).isEmpty)
            #expect(try after.rate(of: 0, from: hour) == nil)
            await harness.stop()
            await consent.close()
            await ingest.close()
        }
    }
}
