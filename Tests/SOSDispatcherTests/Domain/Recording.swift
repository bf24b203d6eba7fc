// A recording as `docs/sos-rules.md` §4 reads it, and how the machine is driven through it.

import Contracts
import Foundation

@testable import SOSDispatcher

/// Rows of a CSV file as what happens to one subscriber, in order.
struct Recording: Sendable {
    enum Happening: Sendable {
        case upload([Sample], source: String = "")
        case said(String)
    }

    /// What may be varied between two lists of one recording.
    struct Terms: Sendable {
        var rules = SupervisionRules()
        var own: [Metric: Bounds] = [:]
        var personal: [Metric: Bounds] = [:]
        var declaredInterval = Duration.seconds(60)
        var acknowledgedAfter = Duration.milliseconds(100)
    }

    static let columns: [String: String] = [
        "HR_bpm": "heart-rate", "heart_rate_bpm": "heart-rate", "ABPSys_mmHg": "blood-pressure-max", "ABPDias_mmHg": "blood-pressure-min",
        "ABPMean_mmHg": "blood-pressure-mean", "PULSE_bpm": "pulse-rate", "RESP_pm": "respiration-rate", "SpO2_%": "oxygen-saturation",
        "NBPSys_mmHg": "cuff-blood-pressure-max", "NBPDias_mmHg": "cuff-blood-pressure-min", "NBPMean_mmHg": "cuff-blood-pressure-mean",
    ]
    /// 32 h of a patient in intensive care.
    static let file = URL(
        fileURLWithPath: ProcessInfo.processInfo.environment["TEST_DATA"] ?? "../shared/data", isDirectory: true
    ).appendingPathComponent("icu-vitals-32h.csv")
    static var isThere: Bool { FileManager.default.isReadableFile(atPath: file.path) }

    private static let events: [String: Metric] = ["help-event": .help, "fall": .fall]

    private(set) var happenings: [(at: Timestamp, what: Happening)] = []

    init(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let names = (lines.first ?? []).map(String.init)
        for line in lines.dropFirst() {
            guard let time = line.first.flatMap({ Timestamp(rfc3339: $0) }) else { continue }
            let cells = Array(zip(names, line))
            let event = cells.first { $0.0 == "event" }.map { String($0.1) } ?? ""
            let source = cells.first { $0.0 == "source" }.map { String($0.1) } ?? ""
            if event.isEmpty {
                add(Recording.samples(cells, at: time), of: source, at: time)
            } else if let metric = Recording.events[event] {
                let age = cells.first { $0.0 == "age_ms" }.flatMap { Int64($0.1) } ?? 0
                happenings.append(
                    (
                        time,
                        .upload([Sample(type: metric, at: Timestamp(milliseconds: time.milliseconds - age), value: nil)], source: source)
                    ))
            } else {
                happenings.append((time, .said(event)))
            }
        }
    }

    /// Entries of a row, without what is no reading.
    private static func samples(_ cells: [(String, Substring)], at time: Timestamp) -> [Sample] {
        let age = cells.first { $0.0 == "age_ms" }.flatMap { Int64($0.1) } ?? 0
        return cells.compactMap { name, cell in
            guard let metric = columns[name].flatMap({ Metric(code: $0) }), let value = Double(cell) else { return nil }
            guard metric.definition.possible.contains(value) else { return nil }
            return Sample(type: metric, at: Timestamp(milliseconds: time.milliseconds - age), value: value)
        }
    }

    /// Rows with one time that follow each other are one upload.
    private mutating func add(_ samples: [Sample], of source: String, at time: Timestamp) {
        if let last = happenings.last, last.at == time, case .upload(let earlier, source) = last.what,
            earlier.allSatisfy({ $0.value != nil })
        {
            happenings[happenings.count - 1].what = .upload(earlier + samples, source: source)
        } else {
            happenings.append((time, .upload(samples, source: source)))
        }
    }

    /// The list that the machine gives.
    func list(_ terms: Terms) -> [String] {
        guard let first = happenings.first else { return [] }
        var drive = RecordingDrive(terms)
        var latest = first.at
        drive.personalise(at: first.at)
        drive.watchFalls(at: first.at)
        drive.hear(.said("subscribe"), at: first.at)
        for (time, what) in happenings {
            latest = max(latest, time)
            drive.pass(to: latest)
            drive.hear(what, at: time)
        }
        // What still waits to be acknowledged belongs to it.
        var end = latest
        repeat {
            end = max(end, drive.acknowledgeAt ?? end)
            drive.pass(to: end + .seconds(600))
        } while drive.acknowledgeAt != nil
        return drive.actions.compactMap(\.line)
    }
}

/// A machine whose every dispatch is acknowledged after a while.
private struct RecordingDrive {
    let terms: Recording.Terms
    var machine: Supervision
    var actions: [SupervisionAction] = []
    var acknowledgeAt: Timestamp?

    init(_ terms: Recording.Terms) {
        self.terms = terms
        machine = Supervision(rules: terms.rules)
    }

    mutating func personalise(at time: Timestamp) {
        took(machine.personalised(terms.personal, at: time))
    }

    mutating func watchFalls(at time: Timestamp) {
        took(machine.preferences(shaking: false, falls: Supervision.FallWatch(), at: time))
    }

    mutating func took(_ happened: [SupervisionAction]) {
        actions += happened
        guard let call = happened.last(where: { $0.listed == "dispatched" }) else { return }
        acknowledgeAt = call.at + terms.acknowledgedAfter
    }

    mutating func pass(to time: Timestamp) {
        while true {
            let due = machine.nextDue.map { min($0, time) } ?? time
            if let acknowledge = acknowledgeAt, acknowledge <= due {
                acknowledgeAt = nil
                took(machine.acknowledged(at: acknowledge))
            } else {
                took(machine.timePassed(to: due))
                if due == time, acknowledgeAt.map({ $0 > time }) ?? true { return }
            }
        }
    }

    mutating func hear(_ what: Recording.Happening, at time: Timestamp) {
        switch what {
        case .upload(let samples, let source):
            guard !samples.isEmpty else { return }
            took(
                machine.uploaded(
                    Supervision.Upload(
                        at: time, receivedAt: time, source: source, isTyped: source == "manual",
                        declaredInterval: terms.declaredInterval, entries: samples)))
        case .said("subscribe"): took(machine.subscribed(own: terms.own, declaredInterval: terms.declaredInterval, at: time))
        case .said("unsubscribe"): took(machine.unsubscribed(at: time))
        case .said("pause"): took(machine.paused(at: time).actions)
        case .said("resume"): took(machine.resumed(declaredInterval: terms.declaredInterval, at: time).actions)
        case .said(let word):
            guard let answer = AnswerPrompt.Answer(rawValue: word) else { return }
            took(machine.answered(answer, at: time, wall: time).actions)
        }
    }
}
