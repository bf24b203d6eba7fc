// Which device each parameter of a person comes from (ACC-25, ACC-26, ING-19, ING-20): one source at a time, and nothing changes
// that the person was not notified of.

import Contracts

/// What a device delivers.
enum Tracking: Hashable, Sendable {
    /// Whatever it measures and no other device was chosen for: devices that an operator enrolled.
    case rest
    /// What the person confirmed.
    case chosen(MetricSet)
}

/// One device in the plan.
struct TrackedSource: Hashable, Sendable {
    let device: DeviceID
    let kind: DeviceKind
    let measures: MetricSet
    var tracking: Tracking
    var isCharging = false

    fileprivate var chosen: MetricSet {
        if case .chosen(let set) = tracking { return set }
        return MetricSet()
    }

    fileprivate var takesTheRest: Bool { tracking == .rest }
}

/// What to do with parameters that another, more reliable source delivers.
enum WhenTracked: String, CaseIterable, Sendable {
    /// They stay with the source that they have.
    case keep
    /// They come from the newly chosen one.
    case `switch`
}

/// A parameter that was wanted from one source and is delivered by another.
struct TrackedElsewhere: Hashable, Sendable {
    let metric: Metric
    let wanted: DeviceID
    let current: DeviceID
    let currentKind: DeviceKind
    /// Whether the person trusts the current source more than the wanted one.
    let isMoreReliable: Bool
}

/// A choice that makes no sense.
enum TrackingFault: Hashable, Sendable {
    case unknownDevice(DeviceID)
    case cannotMeasure(DeviceID, Metric)
    /// Wanted from two devices at once.
    case twice(Metric, DeviceID, DeviceID)
}

enum TrackingOutcome: Hashable, Sendable {
    /// What moved from one source to another, and what was kept where it is.
    case settled(moved: [TrackedElsewhere], kept: [TrackedElsewhere])
    /// Nothing was changed: the person has to choose whether to keep or switch these.
    case undecided([TrackedElsewhere])
    case faulty([TrackingFault])
}

struct TrackingPlan: Hashable, Sendable {
    private(set) var sources: [TrackedSource]
    let priority: SourcePriority

    /// - Parameter sources: the person's active devices, oldest first.
    init(_ sources: [TrackedSource], priority: SourcePriority = .usual) {
        (self.sources, self.priority) = (sources, priority)
    }

    // MARK: Asking

    func source(_ device: DeviceID) -> TrackedSource? {
        sources.first { $0.device == device }
    }

    /// The device from which the parameter comes: the chosen one, else the most reliable of those that take the rest.
    func source(of metric: Metric) -> TrackedSource? {
        if let chosen = sources.first(where: { $0.chosen.contains(metric) }) { return chosen }
        return sources.filter { $0.takesTheRest && $0.measures.contains(metric) }
            .min { priority.place(of: $0.kind) < priority.place(of: $1.kind) }
    }

    /// Position goes on from a phone while the wearable that delivers it lies in its charger (ING-19).
    func standIn(for metric: Metric) -> TrackedSource? {
        guard metric == .position, let source = source(of: metric), source.isCharging, source.kind.stopsWhileCharging else { return nil }
        return sources.first { $0.kind == .phone && $0.device != source.device && $0.measures.contains(metric) }
    }

    /// What the device may deliver (ING-20); nil where that is everything.
    func admitted(_ device: DeviceID) -> MetricSet? {
        guard let source = source(device) else { return MetricSet() }
        var admitted: MetricSet
        switch source.tracking {
        case .chosen(let set): admitted = set
        case .rest:
            admitted = source.measures
            for other in sources where other.device != device { admitted.subtract(other.chosen) }
        }
        if standIn(for: .position)?.device == device { admitted.insert(.position) }
        return admitted.isEverything ? nil : admitted
    }

    /// What a device delivers by the former plan and no longer by this one, whether another does or none.
    func withdrawn(from former: TrackingPlan) -> [Metric] {
        Metric.all.filter { metric in
            guard !metric.isHeardFromAll, let source = former.source(of: metric) else { return false }
            return self.source(of: metric)?.device != source.device
        }
    }

    // MARK: Choosing

    /// Takes over what the person confirmed for some devices, as a whole or not at all. Devices that are not named keep what they
    /// deliver, but for what moves. A source that is trusted less yields to a chosen one; one that is trusted more only where the
    /// person says so.
    mutating func choose(_ wanted: [DeviceID: MetricSet], _ whenTracked: WhenTracked?) -> TrackingOutcome {
        let faults = faults(of: wanted)
        guard faults.isEmpty else { return .faulty(faults) }
        let elsewhere = wanted.sorted { $0.key.bits < $1.key.bits }.flatMap { device, metrics in
            metrics.metrics.compactMap { trackedElsewhere($0, wanted: device, among: wanted) }
        }
        let doubtful = elsewhere.filter(\.isMoreReliable)
        guard doubtful.isEmpty || whenTracked != nil else { return .undecided(doubtful) }
        let kept = whenTracked == .keep ? elsewhere : []
        for place in sources.indices {
            if let metrics = wanted[sources[place].device] { sources[place].tracking = .chosen(metrics) }
        }
        for item in elsewhere { give(item.metric, to: whenTracked == .keep ? item.current : item.wanted) }
        return .settled(moved: whenTracked == .keep ? [] : elsewhere, kept: kept)
    }

    private func faults(of wanted: [DeviceID: MetricSet]) -> [TrackingFault] {
        var faults: [TrackingFault] = []
        var owners: [Metric: DeviceID] = [:]
        for (device, metrics) in wanted.sorted(by: { $0.key.bits < $1.key.bits }) {
            guard let source = source(device) else {
                faults.append(.unknownDevice(device))
                continue
            }
            for metric in metrics.metrics {
                if !source.measures.contains(metric) { faults.append(.cannotMeasure(device, metric)) }
                if let other = owners[metric], !metric.isHeardFromAll { faults.append(.twice(metric, other, device)) }
                owners[metric] = device
            }
        }
        return faults
    }

    /// The device that delivers the parameter now, unless the same choice takes it from there.
    private func trackedElsewhere(_ metric: Metric, wanted: DeviceID, among choice: [DeviceID: MetricSet]) -> TrackedElsewhere? {
        guard !metric.isHeardFromAll, let kind = source(wanted)?.kind,
            let current = sources.first(where: { $0.device != wanted && $0.chosen.contains(metric) }), choice[current.device] == nil
        else { return nil }
        return TrackedElsewhere(
            metric: metric, wanted: wanted, current: current.device, currentKind: current.kind,
            isMoreReliable: priority.trusts(current.kind, moreThan: kind))
    }

    private mutating func give(_ metric: Metric, to device: DeviceID) {
        for place in sources.indices {
            guard case .chosen(var set) = sources[place].tracking else { continue }
            if sources[place].device == device { set.insert(metric) } else { set.remove(metric) }
            sources[place].tracking = .chosen(set)
        }
    }

    // MARK: Devices that come and go

    /// Takes in a newly paired device: it delivers what no other device was chosen for, and what the replaced one delivered.
    /// - Returns: what it could measure too and another device delivers, which the person may change.
    mutating func paired(_ new: TrackedSource, replacing old: DeviceID? = nil) -> [TrackedElsewhere] {
        remove(old)
        var tracks = new.measures
        var elsewhere: [TrackedElsewhere] = []
        for source in sources {
            for metric in source.chosen.metrics where new.measures.contains(metric) && !metric.isHeardFromAll {
                elsewhere.append(
                    TrackedElsewhere(
                        metric: metric, wanted: new.device, current: source.device, currentKind: source.kind,
                        isMoreReliable: priority.trusts(source.kind, moreThan: new.kind)))
            }
            tracks.subtract(source.chosen)
        }
        for metric in new.measures.metrics where metric.isHeardFromAll { tracks.insert(metric) }
        var added = new
        added.tracking = .chosen(tracks)
        sources.append(added)
        return elsewhere.sorted { $0.metric.number < $1.metric.number }
    }

    /// Takes out a device that is gone for good. What came from it comes from the most reliable of the others that measure it, of two alike
    /// from the older: a heart that still wears a watch is not left alone because another one was given away. What the person had
    /// switched off everywhere stays off.
    /// - Returns: what moved, of which the person is notified (ACC-26).
    mutating func removed(_ device: DeviceID) -> [Metric] {
        guard let source = source(device) else { return [] }
        let freed = admitted(device) ?? source.measures
        remove(device)
        return freed.metrics.filter { metric in
            guard !metric.isHeardFromAll, self.source(of: metric) == nil,
                let heir = sources.filter({ $0.measures.contains(metric) })
                    .min(by: { priority.place(of: $0.kind) < priority.place(of: $1.kind) })
            else { return false }
            give(metric, to: heir.device)
            return true
        }
    }

    private mutating func remove(_ device: DeviceID?) {
        sources.removeAll { $0.device == device }
    }
}

extension Metric {
    /// What happens to a person, and is not measured of them: a report of any of their devices is published, tracked or not. Nobody who
    /// falls, or presses the button of a pendant, knows which device was chosen (SOS-35, SOS-36).
    var isHeardFromAll: Bool { self == .help || self == .fall }
}
