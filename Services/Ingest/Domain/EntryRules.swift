// What an entry must be to be stored (ING-03, ING-04, ING-08, INV-09): from the fields that were read to a sample, or why not.

import Contracts

/// The fields of one entry as they were written; `seen` has which of them were there.
struct EntryDraft {
    var seen: FieldSet = []
    var metric: Metric?
    var at = Timestamp(milliseconds: 0)
    var value = 0.0
    var latitude = 0.0
    var longitude = 0.0
    var altitude = 0.0
    var accuracy = 0.0
    /// A unit that came before its type, to be compared as soon as the type is known.
    var unit: JSONText?
    /// The first thing that was wrong while reading; decides before anything else.
    var fault: EntryFault?
    /// The first thing that was wrong with the place alone: what was measured may still be right.
    var faultOfPlace: EntryFault?

    struct FieldSet: OptionSet {
        let rawValue: UInt16
        static let type = FieldSet(rawValue: 1)
        static let at = FieldSet(rawValue: 2)
        static let value = FieldSet(rawValue: 4)
        static let unit = FieldSet(rawValue: 8)
        static let position = FieldSet(rawValue: 16)
        static let latitude = FieldSet(rawValue: 32)
        static let longitude = FieldSet(rawValue: 64)
        static let altitude = FieldSet(rawValue: 128)
        static let accuracy = FieldSet(rawValue: 256)
        static let place: FieldSet = [.latitude, .longitude, .altitude, .accuracy]
    }
}

struct EntryRules: Sendable {
    let now: Timestamp
    /// Times later than this are refused: the receiver's clock plus `ing.clock_skew_s`.
    let latest: Timestamp
    let limits: [MetricCatalogue.Limits]

    init(now: Timestamp, clockSkew: Duration, catalogue: MetricCatalogue = .registry) {
        self.now = now
        latest = now + clockSkew
        limits = catalogue.limits
    }

    /// The sample that the draft describes. `problem` is set and the result void where it describes none.
    @inline(__always)
    func judge(_ draft: EntryDraft, problem: inout EntryFault?) -> Sample? {
        problem = firstProblem(draft)
        guard problem == nil, let metric = draft.metric else { return nil }
        var position: Position?
        if draft.seen.contains(.latitude) {
            let place = Position(
                latitude: draft.latitude, longitude: draft.longitude,
                altitude: draft.seen.contains(.altitude) ? draft.altitude : nil,
                accuracy: draft.seen.contains(.accuracy) ? draft.accuracy : nil)
            guard place.isOnEarth else {
                problem = .offEarth
                return nil
            }
            position = place
        }
        return Sample(
            type: metric, at: draft.at, value: draft.seen.contains(.value) ? draft.value : nil, position: position)
    }

    /// The value of a refused entry, for alarms: a clock that is ahead and a place that is none make no value wrong, and a call for
    /// help or a fall is known by its name alone. Nil where it is not known what was measured, or when.
    func judgeRefused(_ draft: EntryDraft) -> Sample? {
        guard let metric = draft.metric else { return nil }
        var draft = draft
        let isEvent = metric.definition.shape == .event
        let hasTime = draft.seen.contains(.at) && draft.at.milliseconds > 0 && draft.fault?.field != .at
        guard isEvent || hasTime && draft.fault == nil else { return nil }
        let at = hasTime ? draft.at : now
        draft.at = min(at, now)
        let hasPlace = draft.faultOfPlace == nil
        draft.faultOfPlace = nil
        let limit = limits[Int(metric.number)]
        let isPossible = draft.seen.contains(.value) && draft.value >= limit.low && draft.value <= limit.high
        let isBare = isEvent && (draft.fault != nil || !isPossible)
        if isBare {
            (draft.fault, draft.value) = (nil, limit.high)
            draft.seen.insert(.value)
        }
        draft.seen.insert(.at)
        var problem: EntryFault?
        var sample = hasPlace ? judge(draft, problem: &problem) : nil
        if sample == nil {
            draft.seen.subtract(.place)
            sample = judge(draft, problem: &problem)
        }
        sample?.at = at
        if isBare { sample?.value = nil }
        return sample
    }

    @inline(__always)
    private func firstProblem(_ draft: EntryDraft) -> EntryFault? {
        if let fault = draft.fault ?? draft.faultOfPlace { return fault }
        guard let metric = draft.metric else { return .missing(.type) }
        guard draft.seen.contains(.at) else { return .missing(.at) }
        guard draft.at.milliseconds > 0 else { return .timeNotPositive }
        guard draft.at <= latest else { return .timeInFuture }
        if !draft.seen.isDisjoint(with: .place) {
            guard draft.seen.contains(.latitude) else { return .missing(.latitude) }
            guard draft.seen.contains(.longitude) else { return .missing(.longitude) }
        }
        let limit = limits[Int(metric.number)]
        if limit.isPosition {
            guard !draft.seen.contains(.value) else { return .valueOfPosition }
            guard draft.seen.contains(.latitude) else { return .missing(.latitude) }
        } else {
            guard draft.seen.contains(.value) else { return .missing(.value) }
            guard draft.value >= limit.low, draft.value <= limit.high else { return .impossibleValue(metric) }
        }
        return nil
    }
}
