// The fast path: what ingest says before it has stored it, because its disk is slow or refuses, and what it says while this side still
// hears of what it had missed (`docs/decisions/0018-*`).

import Contracts
import ServiceKit

extension SupervisionService {
    private static let toldOfSamples: Set<String> = [
        SamplesRecorded.type, SamplesRecorded.provisionalType, SamplesRecorded.refusedType,
    ]

    /// While what was said before is still being heard, judges on arrival what may be an alarm, and from then on whatever is said of its
    /// person, so that one value alone is taken back as ever. Nothing else: what is well changes nothing before its turn.
    /// - Returns: whether it was judged.
    func hear(ahead event: StreamEvent) async -> Bool {
        guard Self.toldOfSamples.contains(event.header.type), let person = subjects[event.header.subject],
            let state = people[person]?.subscriber.supervision, let recorded = decode(event),
            ahead.contains(person) || Supervision(rules: rules, state: state).mayAlarm(recorded)
        else { return false }
        ahead.note(person, receivedAt: recorded.receivedAt, at: clock.now)
        await hear(provisional: event)
        return true
    }

    /// An upload whose turn comes after later ones were judged: as if its device had sent it only now, so that what is old by now calls
    /// nobody, and what was well then ends nothing. A reading from before the person said that no help is needed opens nothing anew.
    /// - Parameter received: when ingest received it, on the steady clock.
    func hear(overtaken recorded: SamplesRecorded, of person: PersonID, at received: Timestamp, _ effects: inout Effects) {
        guard let watched = people[person] else { return }
        let whole = upload(recorded, at: received).delayed(by: max(.zero, watched.subscriber.supervision.now - received))
        var counting = whole
        if let calledOffAt = watched.lastCalledOffAt {
            counting.entries = whole.entries.filter { entry in
                entry.type == .help || entry.type == .fall || whole.at - whole.age(of: entry) > calledOffAt
            }
        }
        change(person, &effects, after: whole) { $0.uploaded(counting) }
        noteJudged(recorded, of: person)
    }

    /// Judges entries on arrival that may come again in their place, or never. No position moves; what follows is stored as ever.
    func hear(provisional event: StreamEvent) async {
        let isRefused = event.header.type == SamplesRecorded.refusedType
        let (now, wall) = (clock.now, Timestamp.now)
        transit.compare(wall: wall, at: now)
        // A fact that has a turn is taken note of in it.
        let delay = event.header.sequence == 0 ? transit.note(receivedAt: event.header.at, at: now) : .zero
        let place = ReceiptPlace(event.header.at, wall: wall, at: now, transit, rules)
        guard Self.toldOfSamples.contains(event.header.type), let person = subjects[event.header.subject],
            var recorded = decode(event), let subscriber = people[person]?.subscriber,
            var received = people[person]?.subscriber.supervision.taking(place, settled: place.at)
        else { return }
        if isRefused {
            // No fact follows that would repeat it. Held back for long, as while this side was behind, it says nothing of now, but that
            // somebody calls for help or fell. Ingest's wall clock alone proves nothing: it is another machine's.
            if now - received > rules.maximumAge {
                received = max(received, now - delay)
                if delay > rules.maximumAge { recorded.samples.removeAll { $0.type != .help && $0.type != .fall } }
            }
            guard !recorded.samples.isEmpty else { return }
            var effects = Effects()
            hear(recorded, of: person, at: received, isRefused: true, &effects)
            settleSoon(effects)
            return
        }
        guard !early.contains(.init(recorded)) else { return }
        recorded.samples = news(in: recorded, of: subscriber, at: received)
        guard recorded.samples.contains(where: { $0.type.definition.shape != .position }) else { return }
        early.note(.init(recorded), at: now)
        var effects = Effects()
        hear(recorded, of: person, at: received, &effects)
        settleSoon(effects)
    }

    /// When ingest received each fact of a stretch; what they show of the way here counts from then on.
    func places(of headers: [StreamHeader]) -> [ReceiptPlace] {
        let (now, wall) = (clock.now, Timestamp.now)
        transit.compare(wall: wall, at: now)
        return headers.map { header in
            transit.note(header, at: now)
            return ReceiptPlace(header.at, isReplayed: header.head > header.sequence, wall: wall, at: now, transit, rules)
        }
    }

    /// Leaves out what was judged on the fast path: an upload is judged once and as a whole (SOS-37).
    /// - Returns: whether anything is left to be judged.
    func leaveOutEarly(_ recorded: inout SamplesRecorded, of person: PersonID, at received: Timestamp, _ effects: inout Effects) -> Bool {
        if early.contains(.init(recorded)) {
            // What the fast path left out is kept for messages.
            let upload = upload(recorded, at: received)
            change(person, &effects, after: upload) { _ in [] }
            return false
        }
        guard early.mayHaveJudged(of: recorded.device), let subscriber = people[person]?.subscriber else { return true }
        recorded.samples = news(in: recorded, of: subscriber, at: received)
        return !recorded.samples.isEmpty
    }

    private func news(in recorded: SamplesRecorded, of subscriber: Subscriber, at received: Timestamp) -> [Sample] {
        let thresholds = Supervision(rules: rules, state: subscriber.supervision).thresholds
        return subscriber.news(
            in: recorded.samples, of: recorded.device, receivedAt: recorded.receivedAt, sentAt: recorded.sentAt, at: received
        ) { entry in
            entry.isCritical(by: thresholds) && !judged.contains(JudgedReading(entry, of: recorded.device))
        }
    }

    /// Remembers what was critical, so that it is known when it is sent again. Whoever is well after it has nothing of the kind.
    func noteJudged(_ recorded: SamplesRecorded, of person: PersonID) {
        guard let state = people[person]?.subscriber.supervision,
            state.episode != nil || state.mutes != nil || !state.beside.isEmpty
        else { return }
        let thresholds = Supervision(rules: rules, state: state).thresholds
        for entry in recorded.samples where entry.isCritical(by: thresholds) {
            judged.note(JudgedReading(entry, of: recorded.device), at: clock.now)
        }
    }

    func upload(_ recorded: SamplesRecorded, at received: Timestamp, isRefused: Bool = false) -> Supervision.Upload {
        Supervision.Upload(
            at: received, receivedAt: recorded.receivedAt, sentAt: recorded.sentAt, source: "\(recorded.device)",
            isTyped: recorded.isTyped, isRefused: isRefused, declaredInterval: recorded.intervalMs.map { .milliseconds($0) },
            firstTriedAt: recorded.firstTriedAt, entries: recorded.samples)
    }
}

extension Sample {
    fileprivate func isCritical(by thresholds: Thresholds) -> Bool {
        value.flatMap { thresholds.passed(type, $0) } != nil
    }
}

extension EarlyUploads.Upload {
    init(_ recorded: SamplesRecorded) {
        self.init(device: recorded.device, receivedAt: recorded.receivedAt)
    }
}
