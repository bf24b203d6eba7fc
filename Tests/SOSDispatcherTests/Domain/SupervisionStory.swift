// A way to write a supervision down in a few words: seconds since its start, values, and the list that comes out.

import Contracts
import Foundation

@testable import SOSDispatcher

/// Drives one machine and keeps the list of `docs/sos-rules.md` §4, with times in seconds since the story's start.
struct SupervisionStory {
    static let start = Timestamp(rfc3339: "2026-01-10T00:00:00Z").unsafelyUnwrapped

    var machine: Supervision
    private(set) var actions: [SupervisionAction] = []

    init(_ rules: SupervisionRules = SupervisionRules(), own: [Metric: Bounds] = [:], subscribed: Bool = true) {
        machine = Supervision(rules: rules)
        if subscribed { subscribe(0, own: own) }
    }

    static func at(_ seconds: Double) -> Timestamp {
        start + .milliseconds(Int64((seconds * 1000).rounded()))
    }

    mutating func subscribe(_ seconds: Double, own: [Metric: Bounds] = [:], interval: Duration? = nil) {
        actions += machine.subscribed(own: own, declaredInterval: interval, at: Self.at(seconds))
    }

    /// Entries measured and received at the same instant.
    mutating func upload(_ seconds: Double, _ values: KeyValuePairs<Metric, Double>, interval: Duration? = nil) {
        upload(seconds, values.map { Sample(type: $0.key, at: Self.at(seconds), value: $0.value) }, interval: interval)
    }

    /// `received` is the time by ingest's own clock, where that one was set, `sent` what the device's own clock says, where it tells that.
    mutating func upload(
        _ seconds: Double, received: Double? = nil, sent: Double? = nil, _ entries: [Sample], interval: Duration? = nil,
        source: String = "", isTyped: Bool = false, isRefused: Bool = false
    ) {
        let upload = Supervision.Upload(
            at: Self.at(seconds), receivedAt: Self.at(received ?? seconds), sentAt: sent.map(Self.at), source: source, isTyped: isTyped,
            isRefused: isRefused, declaredInterval: interval, entries: entries)
        actions += machine.uploaded(upload)
    }

    mutating func heart(_ seconds: Double, _ value: Double, source: String = "") {
        upload(seconds, [Sample(type: .heartRate, at: Self.at(seconds), value: value)], source: source)
    }

    /// What the person types in, as the source that stands for it.
    mutating func typed(_ seconds: Double, _ value: Double) {
        upload(seconds, [Sample(type: .heartRate, at: Self.at(seconds), value: value)], source: "manual", isTyped: true)
    }

    /// A batch of heart rates, one each second up to `seconds`.
    mutating func batch(_ seconds: Double, _ values: [Double]) {
        upload(
            seconds,
            values.enumerated().map {
                Sample(type: .heartRate, at: Self.at(seconds - Double(values.count - 1 - $0.offset)), value: $0.element)
            })
    }

    mutating func charge(_ seconds: Double, _ isCharging: Bool = true) {
        actions += machine.charging(isCharging, declaredInterval: nil, at: Self.at(seconds))
    }

    mutating func prefer(_ seconds: Double, shaking: Bool, falls: Supervision.FallWatch? = nil) {
        actions += machine.preferences(shaking: shaking, falls: falls, at: Self.at(seconds))
    }

    mutating func shake(_ seconds: Double, lasting value: Double? = nil) {
        upload(seconds, [Sample(type: .shaking, at: Self.at(seconds), value: value)])
    }

    mutating func personalise(_ seconds: Double, _ bounds: [Metric: Bounds]) {
        actions += machine.personalised(bounds, at: Self.at(seconds))
    }

    mutating func note(_ more: [SupervisionAction]) {
        actions += more
    }

    mutating func pass(_ seconds: Double) {
        actions += machine.timePassed(to: Self.at(seconds))
    }

    @discardableResult
    mutating func answer(_ seconds: Double, _ answer: AnswerPrompt.Answer) -> Supervision.Outcome {
        let outcome = machine.answered(answer, at: Self.at(seconds), wall: Self.at(seconds))
        actions += outcome.actions
        return outcome
    }

    mutating func acknowledge(_ seconds: Double) {
        actions += machine.acknowledged(at: Self.at(seconds))
    }

    @discardableResult
    mutating func pause(_ seconds: Double) -> Supervision.Outcome {
        let outcome = machine.paused(at: Self.at(seconds))
        actions += outcome.actions
        return outcome
    }

    mutating func resume(_ seconds: Double) {
        actions += machine.resumed(declaredInterval: nil, at: Self.at(seconds)).actions
    }

    mutating func unsubscribe(_ seconds: Double) {
        actions += machine.unsubscribed(at: Self.at(seconds))
    }

    /// As `12.500 opened heart-rate`.
    var list: [String] {
        actions.compactMap { action in
            action.listed.map { word in
                let milliseconds = action.at.milliseconds - Self.start.milliseconds
                let seconds = String(format: "%.3f", Double(milliseconds) / 1000)
                return "\(seconds) \(word) \(action.subject)"
            }
        }
    }
}
