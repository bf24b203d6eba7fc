// Ingest as far as subscriptions see it: keeps entries, tells that they arrived, and answers for what is over.

import Contracts
import Foundation
import Synchronization

@testable import ThirdPartyGateway

/// Its answers are what the real one gives: one mean for each step that is over and holds anything.
final class SmallIngest: Sendable {
    struct Silent: Error {}

    private struct State {
        var entries: [GrantID: [Metric: [Int64: Double]]] = [:]
        var denial: Failure?
        var isSilent = false
        /// Of these something is damaged, so that every question that asks for one of them fails.
        var damaged: Set<GrantID> = []
        /// How much its clock is behind.
        var lag = Duration.zero
        var most = 2000
        var questions = 0
        /// Called once, when a question was read and before it is answered.
        var interrupt: (@Sendable () async throws -> Void)?
    }

    private let state = Mutex(State())
    private let clock: @Sendable () -> Timestamp

    init(_ clock: @escaping @Sendable () -> Timestamp) {
        self.clock = clock
    }

    var questions: Int { state.withLock { $0.questions } }

    func set(denial: Failure? = nil, silent: Bool = false, lag: Duration = .zero, most: Int = 2000) {
        state.withLock { ($0.denial, $0.isSilent, $0.lag, $0.most) = (denial, silent, lag, most) }
    }

    func damage(_ grants: Set<GrantID>) {
        state.withLock { $0.damaged = grants }
    }

    func interrupt(_ body: (@Sendable () async throws -> Void)?) {
        state.withLock { $0.interrupt = body }
    }

    func keep(_ grant: GrantID, _ metric: Metric, _ at: Int64, _ value: Double) {
        state.withLock { $0.entries[grant, default: [:]][metric, default: [:]][at] = value }
    }

    /// All there is, in steps: what a subscriber must end up with.
    func truth(
        _ grant: GrantID, _ metric: Metric, _ granularity: GrantGranularity, in range: Range<Int64>, now: Timestamp
    ) -> [Int64: Double] {
        let steps = FeedSteps(granularity)
        let entries = state.withLock { $0.entries[grant, default: [:]][metric, default: [:]] }
        let grouped = Dictionary(grouping: entries.filter { range.contains($0.key) }) { max(steps.floor($0.key), range.lowerBound) }
        return grouped.filter { steps.over($0.key, window: range) <= now.milliseconds }
            .mapValues { group in
                let values = group.sorted { $0.key < $1.key }.map(\.value)
                return values.reduce(0, +) / Double(values.count)
            }
    }

    func answer(
        _ asked: ReadSampleRanges, _ feeds: [GrantID: (window: Range<Int64>, granularity: GrantGranularity)]
    ) async throws
        -> ReadSampleRanges.Reply
    {
        let (known, interrupt) = state.withLock { state in
            state.questions += 1
            defer { state.interrupt = nil }
            return (state, state.interrupt)
        }
        if known.isSilent { throw Silent() }
        if asked.stretches.contains(where: { known.damaged.contains($0.grant) }) { throw Failure(.internal, "a fault of the answerer") }
        let now = clock() - known.lag
        let outcomes = asked.stretches.map { stretch -> ReadSampleRanges.Outcome in
            if let denial = known.denial { return .init(samples: [], readTo: nil, denial: denial) }
            guard let feed = feeds[stretch.grant] else {
                return .init(samples: [], readTo: nil, denial: Failure(.notFound, "there is no such grant"))
            }
            let steps = FeedSteps(feed.granularity)
            let complete = now.milliseconds >= feed.window.upperBound ? feed.window.upperBound : steps.floor(now.milliseconds)
            let (from, to) = (stretch.from.milliseconds, min(stretch.to.milliseconds, complete))
            let all = truth(stretch.grant, stretch.type, feed.granularity, in: feed.window, now: now)
                .filter { $0.key >= from && $0.key < to }.sorted { $0.key < $1.key }
            let taken = all.prefix(known.most)
            let readTo = taken.count < all.count ? (taken.last.map { steps.floor($0.key) + steps.width } ?? from) : max(from, to)
            return .init(
                samples: taken.map { Sample(type: stretch.type, at: Timestamp(milliseconds: $0.key), value: $0.value) },
                readTo: Timestamp(milliseconds: readTo))
        }
        try await interrupt?()
        return ReadSampleRanges.Reply(outcomes: outcomes)
    }
}

/// A clock that is set.
final class SetClock: Sendable {
    private let time: Mutex<Timestamp>

    init(_ start: Int64 = 1_767_225_600_000) {
        time = Mutex(Timestamp(milliseconds: start))
    }

    var now: Timestamp { time.withLock { $0 } }

    func advance(_ duration: Duration) {
        time.withLock { $0 = $0 + duration }
    }
}
