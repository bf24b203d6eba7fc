// What follows for the person when the emergency service that had taken the call rejects it.

import Contracts
import ServiceKit

extension SupervisionService {
    /// The call is on its way again. Of an emergency that is closed nothing is shown any more; the dispatcher calls all the same.
    func rejected(_ person: PersonID, _ emergency: EmergencyID) async {
        guard let episode = people[person]?.subscriber.supervision.episode, names.emergency(of: person, episode.trigger) == emergency else {
            return
        }
        var effects = Effects()
        change(person, &effects) { $0.rejected(at: clock.now) }
        if var record = records[person], record.id == emergency, record.state == .dispatched {
            (record.state, record.acknowledgedAt) = (.dispatching, nil)
            records[person] = record
            changes.emergencies[emergency] = record
            effects.people.insert(person)
            effects.tidings.append(Tiding(person: person, kind: .goesOn, emergency: emergency, episode: episode, at: .now))
        }
        await settle(effects)
    }
}
