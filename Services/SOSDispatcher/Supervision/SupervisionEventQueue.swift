// Keeps events in their order for one worker, so that whoever announces them never waits.

/// A listener that only takes note; `run` does the work.
final class SupervisionEventQueue: SupervisionEventConsumer {
    private let events: AsyncStream<[SupervisionEvent]>
    private let queue: AsyncStream<[SupervisionEvent]>.Continuation

    init() {
        (events, queue) = AsyncStream<[SupervisionEvent]>.makeStream()
    }

    func heard(_ events: [SupervisionEvent]) async {
        queue.yield(events)
    }

    /// Hands on what was heard until it is cancelled.
    func run(_ work: @Sendable ([SupervisionEvent]) async -> Void) async {
        for await heard in events { await work(heard) }
    }
}
