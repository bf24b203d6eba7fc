// The thread that owns libcurl's multi handle, and the door through which others hand it work.

import CCurl
import Foundation
import Logging
import Synchronization

/// All of libcurl happens on one thread; only `curl_multi_wakeup` may come from others, and does so under the lock that `stop` takes.
final class TransferLoop: Sendable {
    private struct Inbox: ~Copyable {
        var submitted: [Transfer] = []
        var cancelled: [Transfer] = []
        /// Submitted and not yet finished.
        var unfinished = 0
        var isStopping = false
        /// nil when the thread has ended.
        var multi: MultiHandle?
    }

    struct Work {
        var submitted: [Transfer]
        var cancelled: [Transfer]
        var isStopping: Bool
    }

    private let inbox: Mutex<Inbox>
    private let most: Int

    init(_ settings: OutboundSettings, logger: Logger) {
        most = settings.parallel + settings.waiting
        Self.prepareOnce
        let multi = MultiHandle(settings)
        inbox = Mutex(Inbox(multi: multi))
        let thread = Thread { [self] in
            var table = TransferTable(settings, multi: multi, logger: logger)
            table.run(self)
        }
        thread.name = "outbound"
        thread.start()
    }

    /// libcurl's global state is made once per process, before any thread uses it. Writing to a closed connection must be an error and
    /// not a signal: libcurl leaves that to its user.
    private static let prepareOnce: Void = {
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        signal(SIGPIPE, SIG_IGN)
    }()

    /// Submits it and waits for its end; cancelling the task aborts it.
    func carry(_ transfer: Transfer) async -> Transfer.Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.begin(continuation)
                submit(transfer)
            }
        } onCancel: {
            cancel(transfer)
        }
    }

    func submit(_ transfer: Transfer) {
        let refusal: OutboundError? = inbox.withLock { inbox in
            guard !inbox.isStopping else { return .cancelled }
            guard inbox.unfinished < most else { return .queueFull }
            inbox.unfinished += 1
            inbox.submitted.append(transfer)
            if inbox.submitted.count == 1 { inbox.multi?.wake() }
            return nil
        }
        if let refusal { transfer.finish(.failure(refusal)) }
    }

    func cancel(_ transfer: Transfer) {
        transfer.markCancelled()
        inbox.withLock { inbox in
            guard !inbox.isStopping else { return }
            inbox.cancelled.append(transfer)
            inbox.multi?.wake()
        }
    }

    func stop() {
        inbox.withLock { inbox in
            inbox.isStopping = true
            inbox.multi?.wake()
        }
    }

    // MARK: For the thread

    func takeWork() -> Work {
        inbox.withLock { inbox in
            let work = Work(submitted: inbox.submitted, cancelled: inbox.cancelled, isStopping: inbox.isStopping)
            inbox.submitted.removeAll(keepingCapacity: true)
            inbox.cancelled.removeAll(keepingCapacity: true)
            return work
        }
    }

    func finished() {
        inbox.withLock { $0.unfinished -= 1 }
    }

    func ended() {
        inbox.withLock { $0.multi = nil }
    }
}
