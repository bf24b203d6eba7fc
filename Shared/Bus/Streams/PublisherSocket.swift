// The publishing socket: frames in order, a heartbeat with the heads, who listens to what.

import Contracts
import Metrics

final class PublisherSocket: SocketHandler {
    /// Frames per turn, so that other sockets of the node get theirs.
    private static let framesPerTurn = 1024

    let socket: Socket
    private let queue: PublisherQueue
    private let depth: Gauge
    private var nextHeartbeat: ContinuousClock.Instant

    init(socket: Socket, queue: PublisherQueue) {
        (self.socket, self.queue) = (socket, queue)
        depth = BusMetrics.queueDepth("publisher-" + queue.family.name)
        nextHeartbeat = .now
    }

    var waitsForRoom: Bool { false }

    func nextDue(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        queue.waiting > 0 ? now : nextHeartbeat
    }

    func work(at now: ContinuousClock.Instant) {
        let (frames, heads) = queue.take(atMost: PublisherSocket.framesPerTurn)
        for frame in frames {
            // Without NODROP a consumer whose queue is full is skipped; sending itself does not fail.
            _ = socket.send([Array(frame.stream.utf8), frame.header, frame.payload])
        }
        // A backlog is its own sign of life; the heads of a heartbeat must not run ahead of the frames before it.
        guard let heads, now >= nextHeartbeat else { return }
        sendHeartbeat(heads)
        depth.record(queue.waiting)
        nextHeartbeat = now + queue.family.heartbeat
    }

    func receive(at now: ContinuousClock.Instant) {
        for _ in 0..<BusLimits.batch {
            guard let message = socket.receive() else { return }
            guard let frame = message.frames.first, let kind = frame.first, kind <= 1 else { continue }
            queue.subscribed(String(decoding: frame.dropFirst(), as: UTF8.self), kind == 1)
            // Who has just come learns the heads at once.
            if kind == 1 { nextHeartbeat = now }
        }
    }

    func end() {
        queue.close()
        while queue.waiting > 0 { work(at: .now) }
    }

    private func sendHeartbeat(_ heads: [String: Int64]) {
        let stream = queue.family.heartbeatStream
        let header = StreamHeader(
            stream: stream, epoch: queue.epoch, sequence: 0, head: 0, type: StreamHeader.heartbeat, subject: "", at: busTime(), trace: "")
        guard let payload = try? busJSON(Heartbeat(epoch: queue.epoch, heads: heads)) else { return }
        _ = socket.send([Array(stream.utf8), header.frame, payload])
    }
}
