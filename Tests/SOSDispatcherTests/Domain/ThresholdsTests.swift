// Which values are critical.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Thresholds")
struct ThresholdsTests {
    private func opens(
        _ values: KeyValuePairs<Metric, Double>, rule: SupervisionRules.PressureRule = .and, own: [Metric: Bounds] = [:]
    ) -> Bool {
        var rules = SupervisionRules()
        rules.pressureRule = rule
        var story = SupervisionStory(rules, own: own)
        story.upload(1, values)
        return story.list.contains { $0.contains("opened") }
    }

    @Test(
        "SOS-05: comparison with the defaults is strict",
        arguments: [(45, false), (44.999, true), (120, false), (120.001, true), (80, false), (1, true), (350, true)])
    func heartRate(value: Double, critical: Bool) {
        #expect(opens([.heartRate: value]) == critical)
    }

    @Test(
        "SOS-05: blood pressure is critical when maximum and minimum are both above",
        arguments: [
            (170, 101, false), (171, 100, false), (171, 101, true), (180, 60, false), (100, 120, false), (40, 20, false), (181, 60, true),
            (100, 121, true),
        ])
    func pressureAnd(max: Double, min: Double, critical: Bool) {
        #expect(opens([.bloodPressureMax: max, .bloodPressureMin: min]) == critical)
        #expect(opens([.bloodPressureMin: min, .bloodPressureMax: max]) == critical)
    }

    @Test(
        "SOS-05, CON-27: with the rule `or` one of them is enough",
        arguments: [(170, 100, false), (171, 100, true), (170, 101, true), (171, 101, true)])
    func pressureOr(max: Double, min: Double, critical: Bool) {
        #expect(opens([.bloodPressureMax: max, .bloodPressureMin: min], rule: .or) == critical)
    }

    @Test("The pair is judged by the latest known values, also from different uploads")
    func pairAcrossUploads() {
        var story = SupervisionStory()
        story.upload(1, [.bloodPressureMax: 175])
        story.upload(2, [.bloodPressureMin: 110])
        story.upload(3, [.bloodPressureMax: 160])
        #expect(story.list == ["2.000 opened blood-pressure-min", "3.000 transient blood-pressure-min"])
    }

    @Test("SOS-05: maximum and minimum measured together are judged together, in either order and also within a longer upload")
    func pairIsOneMeasurement() {
        var story = SupervisionStory()
        story.upload(1, [.bloodPressureMax: 170, .bloodPressureMin: 101])
        story.upload(2, [.bloodPressureMax: 171, .bloodPressureMin: 100])
        story.upload(3, [.bloodPressureMin: 101, .bloodPressureMax: 170])
        story.upload(
            5,
            [
                Sample(type: .bloodPressureMax, at: SupervisionStory.at(4), value: 171),
                Sample(type: .bloodPressureMax, at: SupervisionStory.at(5), value: 120),
                Sample(type: .bloodPressureMin, at: SupervisionStory.at(4), value: 100),
                Sample(type: .bloodPressureMin, at: SupervisionStory.at(5), value: 110),
            ])
        #expect(story.list.isEmpty)
        story.upload(6, [.bloodPressureMax: 171, .bloodPressureMin: 101])
        #expect(story.list == ["6.000 opened blood-pressure-max"])
    }

    @Test("SOS-05: half a pair holds for 600 s", arguments: [(600.0, true), (600.001, false)])
    func pairHolds(seconds: Double, critical: Bool) {
        var story = SupervisionStory()
        story.upload(1, [.bloodPressureMin: 110])
        story.upload(1 + seconds, [.bloodPressureMax: 175])
        #expect(story.list.contains { $0.contains("opened") } == critical)
    }

    @Test("One value can be critical by itself and as half of the pair")
    func twoParameters() {
        var story = SupervisionStory(own: [.bloodPressureMax: Bounds(low: 180, high: nil)])
        story.upload(1, [.bloodPressureMax: 175, .bloodPressureMin: 101])
        #expect(story.actions.first?.episode?.parameters == [.metric(.bloodPressureMax), .bloodPressure])
    }

    @Test("SOS-05: other metrics have no default", arguments: [Metric.oxygenSaturation, .bodyTemperature, .respirationRate, .pulseRate])
    func noDefault(metric: Metric) {
        #expect(!opens([metric: metric.definition.possible.lowerBound]))
        #expect(!opens([metric: metric.definition.possible.upperBound]))
    }

    @Test("SOS-06: own bounds count in both directions, strictly", arguments: [(49.9, true), (50, false), (60, false), (60.1, true)])
    func ownBounds(value: Double, critical: Bool) {
        #expect(opens([.heartRate: value], own: [.heartRate: Bounds(low: 50, high: 60)]) == critical)
        #expect(opens([.oxygenSaturation: value], own: [.oxygenSaturation: Bounds(low: 50, high: 60)]) == critical)
    }

    @Test("SOS-08: own bounds take precedence; a side that is not set keeps its default")
    func precedence() {
        #expect(!opens([.heartRate: 40], own: [.heartRate: Bounds(low: 35, high: nil)]))
        #expect(opens([.heartRate: 121], own: [.heartRate: Bounds(low: 35, high: nil)]))
        #expect(!opens([.heartRate: 150], own: [.heartRate: Bounds(low: nil, high: 180)]))
        #expect(opens([.heartRate: 44], own: [.heartRate: Bounds(low: nil, high: 180)]))
    }

    @Test("SOS-08: an own upper bound of one pressure stands alone and switches the pair off")
    func ownPressure() {
        let own: [Metric: Bounds] = [.bloodPressureMax: Bounds(low: nil, high: 200)]
        #expect(!opens([.bloodPressureMax: 190, .bloodPressureMin: 120], own: own))
        #expect(opens([.bloodPressureMax: 201], own: own))
        #expect(opens([.bloodPressureMax: 175, .bloodPressureMin: 120], own: [.bloodPressureMax: Bounds(low: 80, high: nil)]))
        #expect(opens([.bloodPressureMax: 79], own: [.bloodPressureMax: Bounds(low: 80, high: nil)]))
    }

    // MARK: Personalised bounds

    private func opensPersonally(
        _ values: KeyValuePairs<Metric, Double>, _ personal: [Metric: Bounds], own: [Metric: Bounds] = [:],
        _ rules: SupervisionRules = SupervisionRules()
    ) -> Bool {
        var story = SupervisionStory(rules, own: own)
        story.personalise(0, personal)
        story.upload(1, values)
        return story.list.contains { $0.contains("opened") }
    }

    @Test("SOS-07, SOS-08: own bounds go before personalised ones, these before defaults, each side for itself")
    func personalised() {
        let personal: [Metric: Bounds] = [.heartRate: Bounds(low: 52, high: 98)]
        #expect(opensPersonally([.heartRate: 51], personal) && opensPersonally([.heartRate: 99], personal))
        #expect(!opensPersonally([.heartRate: 52], personal) && !opensPersonally([.heartRate: 98], personal))
        let own: [Metric: Bounds] = [.heartRate: Bounds(low: nil, high: 140)]
        #expect(!opensPersonally([.heartRate: 139], personal, own: own), "own high")
        #expect(opensPersonally([.heartRate: 51], personal, own: own), "personalised low")
        let half: [Metric: Bounds] = [.heartRate: Bounds(low: nil, high: 98)]
        #expect(opensPersonally([.heartRate: 44], half) && !opensPersonally([.heartRate: 46], half), "default low")
        #expect(opensPersonally([.oxygenSaturation: 91], [.oxygenSaturation: Bounds(low: 92, high: nil)]), "no default at all")
    }

    @Test("SOS-07: bounds that are taken back leave the defaults, and count from the next upload on")
    func personalisedAndBack() {
        var story = SupervisionStory()
        story.heart(1, 100)
        story.personalise(2, [.heartRate: Bounds(low: nil, high: 90)])
        #expect(story.actions.isEmpty)
        story.personalise(3, [:])
        story.heart(4, 100)
        #expect(story.actions.isEmpty && story.machine.state.personal == nil)
    }

    @Test("SOS-05, SOS-07: a personalised pressure moves its half of the pair, which stays a pair until the person sets one")
    func personalisedPair() {
        let personal: [Metric: Bounds] = [.bloodPressureMax: Bounds(low: 80, high: 150), .bloodPressureMin: Bounds(low: nil, high: 95)]
        #expect(!opensPersonally([.bloodPressureMax: 160], personal), "half of a pair")
        #expect(opensPersonally([.bloodPressureMax: 151, .bloodPressureMin: 96], personal))
        #expect(!opensPersonally([.bloodPressureMax: 150, .bloodPressureMin: 96], personal))
        #expect(opensPersonally([.bloodPressureMax: 79], personal), "a low bound stands alone")
        let own: [Metric: Bounds] = [.bloodPressureMax: Bounds(low: nil, high: 180)]
        #expect(opensPersonally([.bloodPressureMax: 181], personal, own: own))
        #expect(opensPersonally([.bloodPressureMin: 96], personal, own: own), "without the pair it stands alone")
        var or = SupervisionRules()
        or.pressureRule = .or
        #expect(opensPersonally([.bloodPressureMax: 151], personal, or))
    }

    @Test("INV-13: every watched metric has a bound in force")
    func everyWatchedMetricHasBounds() {
        for rule in SupervisionRules.PressureRule.allCases {
            var rules = SupervisionRules()
            rules.pressureRule = rule
            let owns: [[Metric: Bounds]] = [
                [:], [.bloodPressureMax: Bounds(low: nil, high: 150)], [.bodyTemperature: Bounds(low: 35, high: nil)],
            ]
            for own in owns {
                for personal in owns {
                    let both = Thresholds(own: own, personal: personal, rules: rules)
                    #expect(Set(Metric.all.filter(both.watches)) == both.watched)
                }
                let thresholds = Thresholds(own: own, rules: rules)
                for metric in thresholds.watched {
                    let possible = metric.definition.possible
                    let bounded = [possible.lowerBound, possible.upperBound].contains { thresholds.passed(metric, $0) != nil }
                    #expect(bounded, "\(metric) has no bound")
                }
            }
        }
    }

    @Test("SOS-08: bounds outside the possible range or upside down are refused, and the range is said")
    func refusedBounds() {
        let wrong: [[String: Bounds]] = [
            ["heart-rate": Bounds(low: 0, high: nil)], ["heart-rate": Bounds(low: nil, high: 351)],
            ["heart-rate": Bounds(low: 90, high: 90)], ["heart-rate": Bounds(low: 100, high: 90)],
            ["heart-rate": Bounds(low: .nan, high: nil)],
        ]
        for bounds in wrong {
            do throws(Failure) {
                _ = try OwnBounds.checked(bounds)
                Issue.record("was not refused")
            } catch {
                #expect(error.code == .invalid && error.reason.contains("350.0"))
            }
        }
        for code in ["position", "shaking", "mood"] {
            #expect(throws: Failure.self) { try OwnBounds.checked([code: Bounds(low: 1, high: 2)]) }
        }
    }
}
