// What ingest says before it has stored it, because its disk is slow or refuses (`docs/decisions/0018-*`).

import Contracts

extension SupervisionService {
    /// Judges entries on arrival that may come again in their place, or never. No position moves; what follows is stored as ever.
    func hear(provisional event: StreamEvent) async {
        guard event.header.type == SamplesRecorded.provisionalType, let person = subjects[event.header.subject],
            var recorded = decode(event), let subscriber = people[person]?.subscriber
        else { return }
        recorded.samples = subscriber.news(in: recorded.samples, receivedAt: recorded.receivedAt)
        guard recorded.samples.contains(where: { $0.value != nil }) else { return }
        early.note(recorded.samples, of: person, at: clock.now)
        var effects = Effects()
        hear(recorded, of: person, &effects)
        settleSoon(effects)
    }
}
