// What does not wait for its turn: what ingest says before it has stored it, because its disk is slow or refuses (`docs/decisions/0018-*`),
// and what is said of somebody in danger while the dispatcher is behind (`docs/decisions/0050-*`).

import Contracts
import ServiceKit

extension SupervisionService {
    /// Judges entries on arrival that may come again in their place, or never. No position moves; what follows is stored as ever.
    func hear(provisional event: StreamEvent) async {
        let isRefused = event.header.type == SamplesRecorded.refusedType
        let (now, wall) = (clock.now, Timestamp.now)
        transit.compare(wall: wall, at: now)
        let delay = transit.note(receivedAt: event.header.at, at: now)
        let place = ReceiptPlace(event.header.at, wall: wall, at: now, transit, rules)
        guard isRefused || event.header.type == SamplesRecorded.provisionalType, let person = subjects[event.header.subject],
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

    /// Whom a fact that came live is about, where it must not wait until everything that was said before it is judged.
    func urgent(_ event: StreamEvent) -> PersonID? {
        guard [SamplesRecorded.type, SamplesRecorded.provisionalType, SamplesRecorded.refusedType].contains(event.header.type),
            let person = subjects[event.header.subject], let state = people[person]?.subscriber.supervision, let recorded = decode(event)
        else { return nil }
        let thresholds = Supervision(rules: rules, state: state).thresholds
        let isUrgent =
            state.episode != nil
            || recorded.samples.contains { $0.isCritical(by: thresholds) || $0.type == .help || $0.type == .fall }
        return isUrgent ? person : nil
    }

    /// Where the facts about a person begin that are not judged yet; nil while it is not known.
    func place(of person: PersonID) -> StreamPosition? {
        guard var place = progress.place(of: person) else { return nil }
        if let heard = people[person]?.heard, heard.epoch == place.epoch { place.next = max(place.next, heard.sequence + 1) }
        return place
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
