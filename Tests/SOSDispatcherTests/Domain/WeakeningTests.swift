// Which settings watch over somebody less than those before them.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("What is watched less")
struct WeakeningTests {
    private static let now = Timestamp(milliseconds: 1_763_518_320_000)
    private static let usual: [Metric: Bounds] = [:]
    private static let strict: [Metric: Bounds] = [.heartRate: Bounds(low: 50, high: 110)]

    /// One bound that stands alone.
    private static func own(_ metric: Metric, low: Double? = nil, high: Double? = nil) -> [Metric: Bounds] {
        [metric: Bounds(low: low, high: high)]
    }

    static let cases: [([Metric: Bounds], [Metric: Bounds], Bool)] = [
        (usual, usual, false), (usual, strict, false), (strict, usual, true), (strict, strict, false),
        (usual, own(.heartRate, low: 44), true), (usual, own(.heartRate, high: 121), true),
        (usual, own(.heartRate, low: 60, high: 121), true),
        // Nothing is in force for it by itself.
        (usual, own(.respirationRate, low: 8), false), (own(.respirationRate, low: 8), usual, true),
        // The pair of 170 and 100: a bound of one half that stands alone holds it, or lets it pass.
        (usual, own(.bloodPressureMax, high: 165), false), (usual, own(.bloodPressureMax, high: 170), false),
        (usual, own(.bloodPressureMax, high: 175), true), (usual, own(.bloodPressureMin, high: 110), true),
        (own(.bloodPressureMax, high: 165), usual, true),
    ]

    @Test(
        "X4, SOS-08: thresholds are wider where something that was critical is not any more, each side for itself", arguments: cases)
    func thresholds(before: [Metric: Bounds], after: [Metric: Bounds], isWider: Bool) {
        var subscriber = Subscriber()
        subscriber.supervision.subscribed = true
        subscriber.supervision.own = before
        #expect(
            subscriber.weakened(own: after, preferences: nil, by: SupervisionRules(), at: Self.now) == (isWider ? [.thresholds] : []))
    }

    @Test("X4, SOS-07: without personalised thresholds that are stricter than the defaults less is critical")
    func personalised() {
        var subscriber = Subscriber()
        subscriber.supervision.subscribed = true
        var fit = PersonalFit([:], defaults: [:], rules: PersonalRules(), at: Timestamp(milliseconds: 0))
        fit.bounds = Self.own(.heartRate, low: 51, high: 99)
        subscriber.fit = fit
        let without = SupervisionPreferences(personalised: false)
        #expect(subscriber.weakened(own: nil, preferences: without, by: SupervisionRules(), at: Self.now) == [.thresholds])
        let own = subscriber.weakened(own: Self.strict, preferences: nil, by: SupervisionRules(), at: Self.now)
        #expect(own == [.thresholds], "own come before them")
    }

    @Test("X4: who is not watched over loses nothing, and what is not said stays")
    func nothing() {
        var subscriber = Subscriber()
        subscriber.supervision.own = Self.strict
        #expect(subscriber.weakened(own: [:], preferences: SupervisionPreferences(), by: SupervisionRules(), at: Self.now).isEmpty)
        subscriber.supervision.subscribed = true
        #expect(subscriber.weakened(own: nil, preferences: nil, by: SupervisionRules(), at: Self.now).isEmpty)
    }

    /// In minutes from now; nil: none.
    static let pauses: [(Int?, Int?, Bool)] = [
        (nil, 240, true), (60, 240, true), (-60, 240, true), (240, 240, false), (240, 60, false), (240, nil, false), (nil, -60, false),
        (-120, -60, false),
    ]

    @Test("X4, SOS-36: falls are watched less by a pause that ends later than before, and it needs no proof", arguments: pauses)
    func falls(before: Int?, after: Int?, isLater: Bool) {
        func end(_ minutes: Int?) -> Timestamp? { minutes.map { Self.now + .seconds($0 * 60) } }
        var subscriber = Subscriber()
        subscriber.supervision.subscribed = true
        subscriber.preferences = SupervisionPreferences(falls: true, fallsPausedUntil: end(before))
        let paused = SupervisionPreferences(falls: true, fallsPausedUntil: end(after))
        let losses = subscriber.weakened(own: nil, preferences: paused, by: SupervisionRules(), at: Self.now)
        let told = (isLater ? end(after) : nil).map { [Weakening.fallsPaused(until: $0)] } ?? []
        #expect(losses == told)
        #expect(losses.allSatisfy { !$0.needsProof })
        subscriber.preferences?.falls = false
        #expect(subscriber.weakened(own: nil, preferences: paused, by: SupervisionRules(), at: Self.now).isEmpty, "they were not watched")
    }
}
