// What becomes of a person's supervision when the person's data or account are erased.

import Contracts

extension SupervisionService {
    /// Ends supervision for good. False while an emergency runs that is to be completed first.
    /// - Parameter atOnce: whatever runs; the person has asked for it long ago.
    func leave(_ person: PersonID, atOnce: Bool) async -> Bool {
        if isSubscribed(person) { try? await unsubscribe(person, further: { _ in nil }) }
        guard people[person] != nil else { return true }
        guard atOnce else { return false }
        people[person] = nil
        subjects["\(person)"] = nil
        if let record = records.removeValue(forKey: person) { sequences[record.id] = nil }
        changes.remove(person)
        return true
    }

    /// Forgets what was measured; the supervision goes on. False while an emergency runs, whose messages need it.
    func forgetCourse(of person: PersonID) -> Bool {
        guard var watched = people[person] else { return true }
        guard watched.subscriber.supervision.episode == nil else { return false }
        (watched.subscriber.places, watched.subscriber.course) = (LatestPlaces(), RecentCourse())
        var machine = Supervision(rules: rules, state: watched.subscriber.supervision)
        machine.forgetMeasured(at: clock.now)
        watched.subscriber.supervision = machine.state
        if let next = machine.nextDue { due.want(person, at: next) }
        (watched.calledOff, watched.subscriber.fit) = (nil, nil)
        people[person] = watched
        records[person] = nil
        return true
    }

    /// The person has a new key: the state is stored anew, or begun anew where a crash has taken it (rescue fails open).
    func superviseAfterErasure(_ person: PersonID) async {
        if let watched = people[person] {
            changes.put(watched, of: person)
            await storeChanges()
        } else {
            await superviseAnew(person)
        }
    }
}
