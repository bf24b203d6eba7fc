// What devices say of themselves, and how it changes whether a person can be watched.

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
}

extension Supervision {
    /// A pause or a charge may have been heard and stored without reaching the state. Where neither was, the machine's time stays where it
    /// is: entries that came meanwhile count from their receipt, not from the start (SOS-15, SOS-28).
    mutating func brought(to memory: SOSStore.Memory, of person: PersonID, at time: Timestamp) -> [SupervisionAction] {
        var actions: [SupervisionAction] = []
        let (isPaused, isCharging) = (memory.paused.contains(person), memory.charging.contains(person))
        if isPaused != (state.monitoringPaused ?? false) {
            actions += monitoring(isPaused: isPaused, declaredInterval: nil, at: time)
        }
        if isCharging != (state.charging ?? false) {
            actions += charging(isCharging, declaredInterval: nil, at: time)
        }
        return actions
    }
}
