// Where a subscriber is, as supervision keeps it for whoever is called.

import Contracts
import ServiceKit

extension SupervisionService {
    /// Everything that follows from what the machine has decided, and from a place that has become known since the call.
    func followAll(
        _ actions: [SupervisionAction], _ machine: Supervision, _ subscriber: inout Subscriber, _ person: PersonID, _ effects: inout Effects
    ) {
        for action in actions {
            follow(action, machine, subscriber, person, &effects)
            subscriber.noteTold(action)
        }
        guard let located = subscriber.located(machine) else { return }
        follow(located, machine, subscriber, person, &effects)
        subscriber.noteTold(located)
    }

    /// What ingest knows of a person whom nothing was known of: where they are, above all. It may come after the call.
    func note(_ latest: [Sample], of person: PersonID) async {
        guard people[person] != nil else { return }
        people[person]?.subscriber.note(Supervision.Upload(at: clock.now, receivedAt: .now, entries: latest), watches: { _ in false })
        var effects = Effects()
        change(person, &effects) { $0.emergencyRuns ? $0.timePassed(to: clock.now) : [] }
        await settle(effects)
    }

    func knowsPlace(of person: PersonID) -> Bool {
        !(people[person]?.subscriber.places.places.isEmpty ?? true)
    }
}
