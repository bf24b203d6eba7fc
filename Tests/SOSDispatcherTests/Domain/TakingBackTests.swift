// Which actions make a message, and when "I am fine" has to be told to an emergency service that may know more than we do.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Messages of actions")
struct TakingBackTests {
    private static let t0 = SupervisionStory.at(1000)

    /// - Parameters:
    ///   - receivedAt: by ingest's clock.
    ///   - at: of the action, on the machine's time line.
    private func message(
        _ kind: SupervisionAction.Kind, receivedAt: Timestamp = t0, at: Timestamp = t0 + .seconds(2), began: Timestamp, now: Timestamp
    ) -> DispatchMessage.Kind? {
        let passed = PassedBound(metric: .heartRate, side: .below, limit: 45, value: 30)
        let episode = Episode(trigger: Trigger(passed, at: receivedAt), t0: Self.t0, receivedAt: receivedAt)
        return SupervisionAction(kind: kind, at: at, episode: episode).message(since: began, now: now)
    }

    @Test("SOS-14: \"I am fine\" before the call sends nothing where this process has heard the first critical entry as it came")
    func seenItAll() {
        let now = Self.t0 + .seconds(2)
        #expect(message(.muted, began: Self.t0, now: now) == nil)
        #expect(message(.muted, began: Self.t0 - .seconds(3600), now: now) == nil)
        // Ingest's clock may be a little ahead, or far behind.
        #expect(message(.muted, receivedAt: Self.t0 + .seconds(1), began: Self.t0, now: now) == nil)
        #expect(message(.muted, receivedAt: Self.t0 - .seconds(500), began: Self.t0 - .seconds(3600), now: now) == nil)
        #expect(message(.transient, began: Self.t0 + .seconds(1), now: now) == nil)
    }

    @Test(
        "SOS-21, SOS-28: it sends a cancel where the process before may have called: received before this one began, or the clock set back"
    )
    func mayHaveCalled() {
        let now = Self.t0 + .seconds(2)
        #expect(message(.muted, began: Self.t0 + .milliseconds(1), now: now) == .cancel)
        #expect(message(.muted, receivedAt: Self.t0 + .milliseconds(1001), began: Self.t0, now: now) == .cancel)
        #expect(message(.muted, began: Self.t0, now: now - .seconds(60)) == .cancel)
        #expect(message(.muted, receivedAt: Self.t0 - .seconds(1), began: Self.t0, now: now) == .cancel, "counted from a later time")
    }

    @Test("A cancel is never an emergency's first message, even where the first one is not known here")
    func numbers() {
        #expect(DispatchMessage.Kind.cancel.first == 1 && DispatchMessage.Kind.alert.first == 0)
        #expect(message(.dispatched(.unanswered), began: Self.t0, now: Self.t0) == .alert)
        #expect(message(.cancelled(.fine), began: Self.t0, now: Self.t0) == .cancel)
        let worse = Worse(trigger: Trigger(.fall, at: Self.t0, kind: .fall), breaches: [], isNewsToContacts: true)
        #expect(message(.worse(worse), began: Self.t0, now: Self.t0) == .alert, "nobody has taken the alert: it takes its place")
        #expect(message(.located, began: Self.t0, now: Self.t0) == .update)
    }
}
