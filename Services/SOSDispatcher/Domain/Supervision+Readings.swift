// What an upload says: which entries count, what each source's values are now, and what of that is critical.

import Contracts

extension Supervision {
    struct CriticalEntry {
        var trigger: Trigger
        /// Critical by its source's values, in order.
        var breaches: [Breach]
        /// Those of them that begin here after having been in range for a while.
        var calmBegun: Set<Breach> = []
    }

    /// What came of taking an upload.
    struct Findings {
        var entries: [CriticalEntry] = []
        /// Critical by anybody's latest values, after the last entry.
        var critical: Set<Breach> = []
        /// Sustained by time of measurement, or opened three times (SOS-37).
        var proven: Set<Breach> = []
        /// Metrics of which an entry was taken.
        var taken: Set<Metric> = []
        /// Whether a person typed it in.
        var isTyped = false
    }

    /// Compares every entry that counts and judges the upload as one instant (SOS-09, SOS-11, SOS-12, SOS-14, SOS-37).
    mutating func uploaded(_ upload: Upload) -> [SupervisionAction] {
        var actions = timePassed(to: upload.at)
        guard state.subscribed else { return actions }
        firstTriedAt = upload.firstTriedAt
        defer { firstTriedAt = nil }
        state.wallOffset = (upload.receivedAt - state.now).wholeMilliseconds
        if state.stage != .paused {
            actions += read(upload)
            if let late = noteLate(upload) { actions.append(late) }
            actions += followMovement(upload)
        }
        actions += falls(in: upload)
        for entry in upload.entries where entry.type == .help { actions += helpReported(entry, in: upload) }
        return actions + timePassed(to: state.now)
    }

    private mutating func read(_ upload: Upload) -> [SupervisionAction] {
        let thresholds = thresholds
        let counting = withoutFrozen(upload.entries.filter { counts($0, in: upload, thresholds) }, in: upload, thresholds)
        let shaking = upload.entries.filter { isSeizure($0, in: upload) }
        guard !counting.isEmpty || !shaking.isEmpty else { return [] }
        if shaking.isEmpty, let torn = torn(counting, in: upload, thresholds) { return doubted(torn, in: upload) }
        var actions = counting.isEmpty ? [] : heard(counting, in: upload, thresholds)
        var findings = take(counting, in: upload, thresholds)
        // What is refused and takes nothing back answers no question either.
        actions += endQuestions(about: upload.isRefused ? findings.taken : Set(counting.map(\.type)), findings)
        for entry in shaking { actions += shaken(entry) }
        if rules.seizureCallsAmbulance {
            findings.entries += shaking.map(CriticalEntry.init(shaking:))
            findings.critical.formUnion(seizureBreaches)
        } else if counting.isEmpty {
            return actions
        }
        return actions + judge(findings, thresholds)
    }

    private func counts(_ entry: Sample, in upload: Upload, _ thresholds: Thresholds) -> Bool {
        guard let value = entry.value, isFresh(entry, in: upload), entry.type.definition.shape == .scalar else { return false }
        return (entry.type.definition.vital || thresholds.watches(entry.type)) && Plausibility.isPossible(value, of: entry.type)
    }

    func isFresh(_ entry: Sample, in upload: Upload) -> Bool {
        upload.age(of: entry) <= rules.maximumAge
    }

    /// What a stuck source sends is no reading, unless it is critical: an alarm is never taken back for being improbable.
    private mutating func withoutFrozen(_ entries: [Sample], in upload: Upload, _ thresholds: Thresholds) -> [Sample] {
        var source = state.sources[upload.source] ?? Source()
        var runs = source.unchanged ?? [:]
        let moving = entries.filter { entry in
            guard let value = entry.value, thresholds.watches(entry.type), Plausibility.showsStillness(value, of: entry.type) else {
                runs[entry.type] = nil
                return true
            }
            let measured = state.now - upload.age(of: entry)
            var run = runs[entry.type] ?? UnchangedRun(value: value, since: measured, count: 0)
            if run.value != value { run = UnchangedRun(value: value, since: measured, count: 0) }
            run.count += 1
            runs[entry.type] = run
            return !run.isFrozen(at: measured) || thresholds.passed(entry.type, value) != nil
        }
        if !runs.isEmpty || source.unchanged != nil {
            source.unchanged = runs.isEmpty ? nil : runs
            state.sources[upload.source] = source
        }
        return moving
    }

    /// Takes all measurements in order of their time, then says what is critical.
    private mutating func take(_ entries: [Sample], in upload: Upload, _ thresholds: Thresholds) -> Findings {
        if !entries.isEmpty { forgetPassed(thresholds) }
        var findings = Findings(isTyped: upload.isTyped)
        var source = state.sources[upload.source] ?? Source()
        for measurement in measurements(entries, in: upload) {
            let measured = measurement.first.map { state.now - upload.age(of: $0) } ?? state.now
            let taken = measurement.filter { source.take($0, in: upload, at: (measured, state.now), thresholds) }
            guard !taken.isEmpty else { continue }
            findings.taken.formUnion(taken.map(\.type))
            let begun = follow(taken, at: measured, &source, upload.source, thresholds, &findings)
            for entry in taken {
                let breaches = thresholds.critical(entry.type, by: source.latest).sorted()
                guard let passed = entry.value.flatMap({ thresholds.passed(entry.type, $0) }), !breaches.isEmpty else { continue }
                findings.entries.append(
                    CriticalEntry(trigger: Trigger(passed, at: entry.at), breaches: breaches, calmBegun: begun.intersection(breaches)))
            }
        }
        if !entries.isEmpty { keep(source, named: upload.source) }
        findings.critical = critical(thresholds)
        return findings
    }

    /// What is critical by any source's latest values.
    func critical(_ thresholds: Thresholds) -> Set<Breach> {
        state.sources.values.reduce(into: seizureBreaches) { $0.formUnion(thresholds.critical(by: $1.latest)) }
    }

    /// Entries with one own time were measured together: a maximum is not judged with the minimum of before.
    private func measurements(_ entries: [Sample], in upload: Upload) -> [[Sample]] {
        var places: [Timestamp: Int] = [:]
        var measurements: [[Sample]] = []
        for entry in entries {
            if let place = places[entry.at] {
                measurements[place].append(entry)
            } else {
                places[entry.at] = measurements.count
                measurements.append([entry])
            }
        }
        // By their own times: what lies ahead has one age, and the newest must be judged last all the same.
        return measurements.sorted { $0[0].at < $1[0].at }
    }

    /// Brings the runs of the source up to a measurement.
    /// - Returns: the breaches that begin with it after having been in range for a while.
    private func follow(
        _ taken: [Sample], at measured: Timestamp, _ source: inout Source, _ name: String, _ thresholds: Thresholds,
        _ findings: inout Findings
    ) -> Set<Breach> {
        var begun: Set<Breach> = []
        let critical = Set(taken.flatMap { thresholds.critical($0.type, by: source.latest) })
        let touched = critical.union((source.runs ?? [:]).keys.filter { breach in taken.contains { breach.metrics.contains($0.type) } })
        for breach in touched {
            var run = source.runs?[breach] ?? Run()
            guard critical.contains(breach) else {
                if run.since != nil { run = Run(calmSince: measured, openings: run.openings) }
                source.runs?[breach] = isPast(run) ? nil : run
                continue
            }
            if let since = run.since {
                run.since = min(since, measured)
                run.length += 1
            } else {
                run.openings = (run.openings + [measured]).filter(mayCount)
                if run.calmSince.map({ measured - $0 >= rules.calm }) ?? true, !isCritical(breach, butBy: name, thresholds),
                    wall(state.now) > state.mutes?[breach]?.course.adoptedUpTo ?? Timestamp(milliseconds: .min)
                {
                    begun.insert(breach)
                }
                run = Run(since: measured, length: 1, openings: run.openings)
            }
            if let since = run.since, measured - since >= rules.sustain || run.beganOften(about: measured) {
                findings.proven.insert(breach)
            }
            var runs = source.runs ?? [:]
            runs[breach] = run
            source.runs = runs
        }
        return begun
    }

    /// Whether it may be within 60 s of a measurement that is still to come, which may be a minute old then.
    private func mayCount(opening: Timestamp) -> Bool { state.now - opening <= SupervisionRules.recent + rules.maximumAge }

    /// In range for so long it is as if it had never been.
    private func isPast(_ run: Run) -> Bool {
        guard !run.openings.contains(where: mayCount) else { return false }
        return run.calmSince.map { state.now - $0 >= rules.calm + rules.maximumAge } ?? true
    }

    private func isCritical(_ breach: Breach, butBy name: String, _ thresholds: Thresholds) -> Bool {
        state.sources.contains { source in
            source.key != name
                && breach.metrics.contains { thresholds.critical($0, by: source.value.latest).contains(breach) }
        }
    }

    /// Values that hold no longer, with what they had begun.
    private mutating func forgetPassed(_ thresholds: Thresholds) {
        for (name, source) in state.sources {
            let passed = source.latest.filter { metric, value in
                let interval = Duration.milliseconds(source.signals[metric]?.interval ?? 0)
                return state.now - value.measured > SupervisionRules.holding(interval: interval)
            }
            if !passed.isEmpty { state.sources[name]?.forget(Set(passed.keys)) }
        }
    }

    private mutating func keep(_ source: Source, named name: String) {
        state.sources[name] = source
        guard state.sources.count > Source.most else { return }
        let oldest = state.sources.min { one, other in
            let (first, second) = (one.value.lastHeard, other.value.lastHeard)
            return (first, one.key) < (second, other.key)
        }
        if let oldest { state.sources[oldest.key] = nil }
    }
}

extension Run {
    /// Whether three beginnings lie within 60 s in which the measurement lies too, in whichever order they came (SOS-37).
    fileprivate func beganOften(about measured: Timestamp) -> Bool {
        let further = SupervisionRules.openingsThatSustain - 1
        let begun = openings.sorted()
        return begun.indices.dropLast(further).contains { first in
            max(begun[first + further], measured) - min(begun[first], measured) <= SupervisionRules.recent
        }
    }
}

extension Supervision.Source {
    fileprivate var lastHeard: Timestamp {
        // What is typed in has no signal.
        (signals.values.map(\.last) + latest.values.map(\.received)).max() ?? Timestamp(milliseconds: .min)
    }

    /// Makes the entry its metric's latest value, unless it is harmless, and older or refused where the latest is not.
    /// - Parameter time: when it was measured and received, on the machine's time line.
    fileprivate mutating func take(
        _ entry: Sample, in upload: Supervision.Upload, at time: (measured: Timestamp, received: Timestamp), _ thresholds: Thresholds
    ) -> Bool {
        guard let value = entry.value, thresholds.watches(entry.type) else { return false }
        var isRefused = upload.isRefused
        if let known = latest[entry.type] {
            let stands = known.stands(against: upload)
            if thresholds.passed(entry.type, value) == nil, stands || time.measured < known.measured { return false }
            // What was critical before is not taken back by a critical one in between.
            if stands, thresholds.passed(entry.type, known.value) != nil { isRefused = false }
        }
        latest[entry.type] = LatestValue(
            value: value, at: min(entry.at, upload.ageEnd), measured: time.measured, received: time.received,
            isRefused: isRefused ? true : nil)
        return true
    }

    /// Their values, and the runs of the breaches that they made.
    mutating func forget(_ metrics: Set<Metric>) {
        latest = latest.filter { !metrics.contains($0.key) }
        let left = runs?.filter { $0.key.metrics.allSatisfy { !metrics.contains($0) } } ?? [:]
        runs = left.isEmpty ? nil : left
    }
}
