// Keeps tidings in their order for one worker, so that whoever announces them never waits.

/// A listener that only takes note; `run` does the work.
final class SupervisionEventQueue: SupervisionEventConsumer {
    private let tidings: AsyncStream<[SupervisionEvent]>
    private let queue: AsyncStream<[SupervisionEvent]>.Continuation

    init() {
        (tidings, queue) = AsyncStream<[SupervisionEvent]>.makeStream()
    }

    func heard(_ tidings: [SupervisionEvent]) async {
        queue.yield(tidings)
    }

    /// Hands on what was heard until it is cancelled.
    func run(_ work: @Sendable ([SupervisionEvent]) async -> Void) async {
        for await heard in tidings { await work(heard) }
    }
}
