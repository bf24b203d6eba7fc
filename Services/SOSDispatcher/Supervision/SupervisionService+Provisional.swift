// The fast path: what ingest says before it has stored it, because its disk is slow or refuses (`docs/decisions/0018-*`).

import Contracts

extension SupervisionService {
    /// Judges entries on arrival that may come again in their place, or never. No position moves; what follows is stored as ever.
    func hear(provisional event: StreamEvent) async {
        let isRefused = event.header.type == SamplesRecorded.refusedType
        guard isRefused || event.header.type == SamplesRecorded.provisionalType, let person = subjects[event.header.subject],
            var recorded = decode(event), let subscriber = people[person]?.subscriber
        else { return }
        if isRefused {
            // No fact follows that would repeat it.
            var effects = Effects()
            hear(recorded, of: person, &effects)
            settleSoon(effects)
            return
        }
        guard !early.contains(.init(recorded)) else { return }
        recorded.samples = subscriber.news(
            in: recorded.samples, of: recorded.device, receivedAt: recorded.receivedAt, at: clock.steady(fromWall: recorded.receivedAt))
        guard recorded.samples.contains(where: { $0.type.definition.shape != .position }) else { return }
        early.note(.init(recorded), at: clock.now)
        var effects = Effects()
        hear(recorded, of: person, &effects)
        settleSoon(effects)
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
        recorded.samples = subscriber.news(
            in: recorded.samples, of: recorded.device, receivedAt: recorded.receivedAt, at: received)
        return !recorded.samples.isEmpty
    }

    func upload(_ recorded: SamplesRecorded, at received: Timestamp?) -> Supervision.Upload {
        Supervision.Upload(
            at: received ?? clock.steady(fromWall: recorded.receivedAt), receivedAt: recorded.receivedAt, source: "\(recorded.device)",
            declaredInterval: recorded.intervalMs.map { .milliseconds($0) }, firstTriedAt: recorded.firstTriedAt, entries: recorded.samples)
    }
}

extension EarlyUploads.Upload {
    init(_ recorded: SamplesRecorded) {
        self.init(device: recorded.device, receivedAt: recorded.receivedAt)
    }
}
