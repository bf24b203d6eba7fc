// Watching somebody whose state cannot be read.

import Contracts
import ServiceKit

extension SupervisionService {
    /// Rescue fails open: who cannot be watched as before is watched as anybody else. Messages of an emergency that was open are
    /// in the outbox and go on by themselves; its record is closed, so that the next one can be opened.
    func superviseAnew(_ person: PersonID, _ open: EmergencyRecord?, _ effects: inout Effects) {
        if var record = open {
            record.follow(.closed, at: .now)
            changes.emergencies[record.id] = record
        }
        people[person] = Watched()
        change(person, &effects) { $0.subscribed(own: [:], declaredInterval: nil, at: clock.now) }
    }

    /// As for one whose state cannot be read, with no emergency open.
    func superviseAnew(_ person: PersonID) async {
        var effects = Effects()
        superviseAnew(person, nil, &effects)
        await settle(effects)
    }
}
