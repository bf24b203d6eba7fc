// What a node's socket thread does with each of its sockets.

import CZeroMQ
import Contracts

/// One socket and its work. All calls come on the socket thread.
protocol SocketHandler: AnyObject {
    var socket: Socket { get }
    /// Whether the poll shall also return when the socket takes messages.
    var waitsForRoom: Bool { get }
    /// Messages can be read: at most `BusLimits.batch` of them now.
    func receive(at now: ContinuousClock.Instant)
    /// What other threads handed over, and what is due; comes before every poll.
    func work(at now: ContinuousClock.Instant)
    /// When `work` must be called at the latest, if nothing happens before.
    func nextDue(after now: ContinuousClock.Instant) -> ContinuousClock.Instant?
    /// Answers who still waits; the socket is closed afterwards.
    func end()
}

/// Polls once: does what is due, waits until something happens, reads what there is.
func pollOnce(_ handlers: [any SocketHandler], thread: SocketThread, until end: ContinuousClock.Instant?) {
    let clock = ContinuousClock()
    let now = clock.now
    var due = min(now + .seconds(1), end ?? now + .seconds(1))
    var items: [zmq_pollitem_t] = []
    items.reserveCapacity(handlers.count + 1)
    for handler in handlers {
        handler.work(at: now)
        if let next = handler.nextDue(after: now), next < due { due = next }
        let events = ZMQ_POLLIN | (handler.waitsForRoom ? ZMQ_POLLOUT : 0)
        items.append(zmq_pollitem_t(socket: handler.socket.handle, fd: 0, events: Int16(events), revents: 0))
    }
    items.append(zmq_pollitem_t(socket: nil, fd: thread.wakeDescriptor, events: Int16(ZMQ_POLLIN), revents: 0))
    // Rounded up, so that what is due is due when the poll returns.
    let wait = max(0, (due - now).wholeMilliseconds + 1)
    guard zmq_poll(&items, Int32(items.count), due <= now ? 0 : Int(wait)) > 0 else { return }
    if items[handlers.count].revents != 0 { thread.acknowledgeWake() }
    let woken = clock.now
    for (index, handler) in handlers.enumerated() where items[index].revents & Int16(ZMQ_POLLIN) != 0 {
        handler.receive(at: woken)
    }
}
