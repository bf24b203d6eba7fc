// What devices say of themselves, and how it changes whether a person can be watched.

import Contracts
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

    /// What ingest had said of the person's devices before anybody here supervised them: it is not said again.
    func readDevices(of person: PersonID) async {
        if (try? await store.isMonitoringPaused(person)) == true {
            await monitoring(MonitoringState(person: person, paused: true))
        }
        await devicesChanged(of: [person])
    }

    /// As `readDevices`, for one whom the other dispatcher was told to supervise: it does not say what interval their devices declared.
    func began(elsewhere person: PersonID) async {
        if let interval = try? await store.longestInterval(of: person) {
            var effects = Effects()
            change(person, &effects) { $0.declared(interval, at: clock.now) }
            await settle(effects)
        }
        await readDevices(of: person)
    }

    func charging(_ person: PersonID, _ isCharging: Bool) async {
        guard let known = people[person]?.subscriber.supervision, (known.charging ?? false) != isCharging else { return }
        let interval = try? await store.longestInterval(of: person)
        var effects = Effects()
        change(person, &effects) { $0.charging(isCharging, declaredInterval: interval, at: clock.now) }
        effects.people.insert(person)
        await settle(effects)
    }

    /// The person has paused or resumed monitoring (ACC-28); who is not subscribed is skipped.
    func monitoring(_ pause: MonitoringState) async {
        let known = people[pause.person]?.subscriber.supervision
        guard let known, (known.monitoringPaused ?? false) != pause.paused else { return }
        let interval = try? await store.longestInterval(of: pause.person)
        var effects = Effects()
        change(pause.person, &effects) { $0.monitoring(isPaused: pause.paused, declaredInterval: interval, at: clock.now) }
        effects.people.insert(pause.person)
        changes.audit.append(
            AuditNote(
                at: .now, actor: "person", action: pause.paused ? "monitoring-paused" : "monitoring-resumed",
                object: names.auditName(of: pause.person)))
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
