// Ctrl-C and the supervisor's request to end, as something that can be awaited.

// Dispatch does not say that its sources may be cancelled from any thread, though they may.
@preconcurrency import Dispatch
import Foundation

enum Interrupt {
    /// Returns at the first SIGINT or SIGTERM from now on, or when the task is cancelled. Neither ends the process any more.
    static func wait() async {
        for await _ in signals() { return }
    }

    /// One element for each SIGINT or SIGTERM.
    static func signals() -> AsyncStream<Void> {
        AsyncStream { continuation in
            let sources = [SIGINT, SIGTERM].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { continuation.yield() }
                source.activate()
                return source
            }
            continuation.onTermination = { _ in sources.forEach { $0.cancel() } }
        }
    }
}
