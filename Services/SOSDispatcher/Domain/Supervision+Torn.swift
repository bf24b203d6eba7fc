// The one reading that is not believed by itself: a lone low rate in the midst of a silence (`docs/sos-rules.md` §1).

import Contracts

extension Supervision {
    /// Whether all that counts in the upload is one rate that the sensors' being off for most of its time explains. Only the first in a
    /// silence, and only in one that the person was warned of: the next is believed, whatever it is, and a running alert is never
    /// doubted.
    func isTorn(_ entries: [Sample], in upload: Upload, _ thresholds: Thresholds) -> Bool {
        guard state.standing == .signalLost, state.tornSeen != true, entries.count == 1, let entry = entries.first,
            let value = entry.value, TornAverage.rates.contains(entry.type),
            (upload.declaredInterval ?? .zero) >= TornAverage.interval,
            let together = state.heardTogether, together.contains(entry.type), together.count >= TornAverage.together
        else { return false }
        return thresholds.breach(of: entry.type, value: value)?.side == .below
    }

    /// It is no sign of life, and the waiting is over: if it was the person's heart, somebody must look now.
    mutating func passedOverAsTorn() -> [SupervisionAction] {
        state.tornSeen = true
        if state.contactsTold != true { state.contactsDue = state.now }
        return timePassed(to: state.now)
    }
}
