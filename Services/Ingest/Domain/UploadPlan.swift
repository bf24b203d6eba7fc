// What an upload becomes: its samples by metric, without repetitions of itself, and how to put them together again.

import Contracts

/// The samples of one metric of one upload, in the order in which they came.
struct MetricGroup: Sendable {
    let metric: Metric
    var samples: [Sample] = []
    /// For every sample, its place in the upload.
    var indexes: [Int32] = []
    /// Whether each time is later than the one before: then nothing in the group repeats itself.
    var isAscending = true
    private(set) var first = Int64.max
    private(set) var last = Int64.min

    init(metric: Metric) {
        self.metric = metric
    }

    @inline(__always)
    mutating func append(_ sample: Sample, index: Int32) {
        let time = sample.at.milliseconds
        if time <= last { isAscending = false }
        first = min(first, time)
        last = max(last, time)
        samples.append(sample)
        indexes.append(index)
    }

    /// Takes out what `isKept` refuses, keeping the order.
    mutating func keep(where isKept: (Int) -> Bool) {
        var kept = MetricGroup(metric: metric)
        for place in samples.indices where isKept(place) { kept.append(samples[place], index: indexes[place]) }
        self = kept
    }
}

/// Samples that were not new, by their places in the upload.
struct Repetitions: Hashable, Sendable {
    /// Sent before with the same value (ING-04, ING-14): no harm.
    var duplicates: [Int32] = []
    /// Sent before with another value: what is stored stays (INV-10).
    var conflicts: [Int32] = []

    fileprivate mutating func add(_ index: Int32, isSame: Bool) {
        if isSame { duplicates.append(index) } else { conflicts.append(index) }
    }
}

/// One upload on its way to the store.
struct UploadPlan: Sendable {
    /// In the order in which the upload first named each metric; none is empty.
    private(set) var groups: [MetricGroup]
    /// What of the upload is stored already, by what is known so far.
    private(set) var repetitions = Repetitions()
    /// What is refused because another value counts for its metric and time: for alarms, and never stored.
    private(set) var conflicting: [Sample] = []
    /// What the upload itself repeats, and whether it is the same as what counts.
    private var echoes: [Echo] = []

    private struct Echo: Sendable {
        let sample: Sample
        let index: Int32
        var isSame: Bool
    }

    init(samples: [Sample], indexes: [Int32]) {
        groups = []
        if let first = samples.first?.type, samples.allSatisfy({ $0.type == first }) {
            var group = MetricGroup(metric: first)
            group.samples.reserveCapacity(samples.count)
            group.indexes.reserveCapacity(samples.count)
            for place in samples.indices { group.append(samples[place], index: indexes[place]) }
            groups.append(group)
            return
        }
        var places = [Int8](repeating: -1, count: 256)
        for place in samples.indices {
            let number = Int(samples[place].type.number)
            if places[number] < 0 {
                places[number] = Int8(groups.count)
                groups.append(MetricGroup(metric: samples[place].type))
            }
            groups[Int(places[number])].append(samples[place], index: indexes[place])
        }
    }

    var count: Int { groups.reduce(0) { $0 + $1.samples.count } }

    /// Takes out what the upload itself repeats; the first mention counts, unless the store knows better.
    mutating func dropOwnRepetitions() {
        for number in groups.indices where !groups[number].isAscending {
            let group = groups[number]
            var seen: [Int64: Sample] = [:]
            seen.reserveCapacity(group.samples.count)
            groups[number].keep { place in
                let sample = group.samples[place]
                guard let earlier = seen[sample.at.milliseconds] else {
                    seen[sample.at.milliseconds] = sample
                    return true
                }
                echoes.append(Echo(sample: sample, index: group.indexes[place], isSame: earlier == sample))
                return false
            }
        }
    }

    /// Takes out of one group what is stored already, given the stored samples by their times.
    mutating func dropStored(fromGroup number: Int, stored: [Int64: Sample]) {
        let group = groups[number]
        groups[number].keep { place in
            guard let earlier = stored[group.samples[place].at.milliseconds] else { return true }
            let isSame = earlier == group.samples[place]
            repetitions.add(group.indexes[place], isSame: isSame)
            if !isSame { conflicting.append(group.samples[place]) }
            return false
        }
        for place in echoes.indices where echoes[place].sample.type == group.metric {
            guard let earlier = stored[echoes[place].sample.at.milliseconds] else { continue }
            echoes[place].isSame = earlier == echoes[place].sample
        }
    }

    /// Call when everything has been looked up.
    mutating func settle() {
        groups.removeAll { $0.samples.isEmpty }
        for echo in echoes {
            repetitions.add(echo.index, isSame: echo.isSame)
            if !echo.isSame { conflicting.append(echo.sample) }
        }
        echoes = []
    }

    /// How the groups' samples alternate in the order of the upload; empty for a single group.
    var runs: [UploadRecord.Run] {
        guard groups.count > 1 else { return [] }
        var next = [Int](repeating: 0, count: groups.count)
        var runs: [UploadRecord.Run] = []
        for _ in 0..<count {
            var chosen = -1
            var lowest = Int32.max
            for number in groups.indices where next[number] < groups[number].indexes.count {
                let index = groups[number].indexes[next[number]]
                if index < lowest { (lowest, chosen) = (index, number) }
            }
            next[chosen] += 1
            if runs.last?.chunk == chosen {
                runs[runs.count - 1].count += 1
            } else {
                runs.append(UploadRecord.Run(chunk: chosen, count: 1))
            }
        }
        return runs
    }

    /// All samples in the order of the upload.
    var inOrder: [Sample] {
        guard groups.count > 1 else { return groups.first?.samples ?? [] }
        var next = [Int](repeating: 0, count: groups.count)
        var samples: [Sample] = []
        samples.reserveCapacity(count)
        for run in runs {
            samples.append(contentsOf: groups[run.chunk].samples[next[run.chunk]..<next[run.chunk] + run.count])
            next[run.chunk] += run.count
        }
        return samples
    }
}
