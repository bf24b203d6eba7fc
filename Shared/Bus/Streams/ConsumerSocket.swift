// The subscribing socket: fills the inbox, and is closed and made anew when the consumer receives nothing.

import Contracts
import Logging
import Metrics

final class ConsumerSocket: SocketHandler {
    private(set) var socket: Socket
    private let inbox: StreamInbox
    private let logger: Logger
    private let depth: Gauge
    private let connect: () throws(BusError) -> Socket
    private var nextTick: ContinuousClock.Instant

    /// `connect` makes a connected socket with all subscriptions; it is called again at each reopening.
    init(inbox: StreamInbox, logger: Logger, connect: @escaping () throws(BusError) -> Socket) throws(BusError) {
        (self.inbox, self.logger, self.connect) = (inbox, logger, connect)
        socket = try connect()
        depth = BusMetrics.queueDepth("inbox-" + inbox.family.name)
        nextTick = .now
    }

    var waitsForRoom: Bool { false }

    func nextDue(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        nextTick
    }

    func work(at now: ContinuousClock.Instant) {
        if inbox.takeReopen() { reopen() }
        guard now >= nextTick else { return }
        nextTick = now + BusLimits.inboxTick
        depth.record(inbox.depth)
        inbox.tick()
    }

    func receive(at now: ContinuousClock.Instant) {
        var frames: [StreamInbox.Frame] = []
        frames.reserveCapacity(BusLimits.batch)
        for _ in 0..<BusLimits.batch {
            guard var message = socket.receive() else { break }
            guard message.frames.count == 3 else {
                BusMetrics.refused("unreadable").increment()
                continue
            }
            let payload = message.frames.removeLast()
            frames.append(StreamInbox.Frame(header: message.frames.removeLast(), payload: payload, at: now))
        }
        if !frames.isEmpty { inbox.leave(frames) }
    }

    func end() {
        inbox.close()
    }

    private func reopen() {
        do throws(BusError) {
            let fresh = try connect()
            socket.close()
            socket = fresh
        } catch {
            // The old one stays; the consumer asks again when it still receives nothing.
            logger.error("cannot reopen a subscription", metadata: ["family": "\(inbox.family.name)", "error": "\(error)"])
        }
    }
}
