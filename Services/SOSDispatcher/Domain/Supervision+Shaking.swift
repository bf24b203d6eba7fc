// Repetitive shaking that a wearable reports (SOS-23, CON-31): contacts, and an ambulance only where the operator says so.

import Contracts

extension Supervision {
    /// Whether the entry is a report of shaking that counts for this person. It is no sign of life: vital signs are.
    func isSeizure(_ entry: Sample, in upload: Upload) -> Bool {
        state.shaking == true && entry.type == .shaking && isFresh(entry, in: upload)
            && (entry.value.map { Plausibility.isPossible($0, of: .shaking) } ?? true)
    }

    /// Reports that follow each other are one alarm.
    mutating func shaken(_ entry: Sample) -> [SupervisionAction] {
        let until = state.now + SupervisionRules.valueHolds
        if var known = state.seizure, state.now < known.until {
            known.until = until
            state.seizure = known
            return []
        }
        state.seizure = Seizure(at: entry.at, until: until)
        return [action(.shakingAlarm, of: nil, since: entry.at)]
    }

    /// A seizure has no value that comes back in range: it is critical until nothing of it was reported for a while.
    var seizureBreaches: Set<Breach> {
        guard rules.seizureCallsAmbulance, let seizure = state.seizure, state.now < seizure.until else { return [] }
        return [Breach(.metric(.shaking), .above)]
    }

    /// The contacts have been alerted without there being an emergency: they hear that it was nothing.
    mutating func shakingCalledOff() -> [SupervisionAction] {
        guard var seizure = state.seizure, state.now < seizure.until, !seizure.isCalledOff else { return [] }
        seizure.isCalledOff = true
        state.seizure = seizure
        return [action(.shakingCalledOff, of: nil, since: seizure.at)]
    }
}

extension Supervision.CriticalEntry {
    /// - Parameter entry: of shaking; its value is how many seconds it lasted, where that is known.
    init(shaking entry: Sample) {
        self.init(
            trigger: Trigger(.shaking, lasting: entry.value, at: entry.at, kind: .shaking),
            breaches: [Breach(.metric(.shaking), .above)])
    }
}
