// Keeps tidings in their order for one worker, so that whoever announces them never waits.

/// A listener that only takes note; `run` does the work.
final class TidingsQueue: TidingsListener {
    private let tidings: AsyncStream<[Tiding]>
    private let queue: AsyncStream<[Tiding]>.Continuation

    init() {
        (tidings, queue) = AsyncStream<[Tiding]>.makeStream()
    }

    func heard(_ tidings: [Tiding]) async {
        queue.yield(tidings)
    }

    /// Hands on what was heard until it is cancelled.
    func run(_ work: @Sendable ([Tiding]) async -> Void) async {
        for await heard in tidings { await work(heard) }
    }
}
