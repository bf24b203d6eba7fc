// What changes how a person is watched without anything being measured: charging, personalised bounds, preferences.

import Contracts
import Foundation
import ServiceKit

extension SupervisionService {
    /// Devices of these people changed: who is on charge is suspended and told, who is off it is watched again (SOS-27).
    func devicesChanged(of changed: Set<PersonID>) async {
        for person in changed where people[person] != nil {
            // Unknown, it is left as it was: the next fact about the device, or silence, says more.
            guard let isCharging = try? await store.isCharging(person) else { continue }
            await charging(person, isCharging)
        }
    }

    /// As a snapshot of all devices has it.
    func devicesReplaced() async {
        guard let charging = try? await store.charging() else { return }
        for person in Array(people.keys) { await self.charging(person, charging.contains(person)) }
    }

    func charging(_ person: PersonID, _ isCharging: Bool) async {
        guard let known = people[person]?.subscriber.supervision, (known.charging ?? false) != isCharging else { return }
        let interval = try? await store.longestInterval(of: person)
        var effects = Effects()
        change(person, &effects) { $0.charging(isCharging, declaredInterval: interval, at: clock.now) }
        effects.people.insert(person)
        await settle(effects)
    }

    /// Bounds out of the person's history (SOS-07); empty for the defaults. Who is not subscribed is passed over.
    func personalise(_ person: PersonID, _ bounds: [Metric: Bounds]) async {
        await set(person, "personalised") { $0.personalised(bounds, at: $1) }
    }

    /// What the person wants to be watched besides (SOS-23).
    func prefer(_ person: PersonID, shaking: Bool) async {
        await set(person, "preferences-changed") { $0.preferences(shaking: shaking, at: $1) }
    }

    private func set(_ person: PersonID, _ word: String, _ change: (inout Supervision, Timestamp) -> [SupervisionAction]) async {
        guard isSubscribed(person) else { return }
        var effects = Effects()
        self.change(person, &effects) { change(&$0, clock.now) }
        effects.people.insert(person)
        changes.audit.append(AuditNote(at: .now, actor: "dispatcher", action: word, object: names.auditName(of: person)))
        await settle(effects)
    }
}
