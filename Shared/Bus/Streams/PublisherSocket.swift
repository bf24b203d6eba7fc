// The publishing socket: frames in order, a heartbeat with the heads, the book of who listens to what.

import Contracts
import Metrics

final class PublisherSocket: SocketHandler {
    /// Frames per turn, so that other sockets of the node get theirs.
    private static let framesPerTurn = 1024

    let socket: Socket
    private let desk: PublisherQueue
    private let depth: Gauge
    private var nextHeartbeat: ContinuousClock.Instant

    init(socket: Socket, desk: PublisherQueue) {
        (self.socket, self.desk) = (socket, desk)
        depth = BusMetrics.queueDepth("publisher-" + desk.family.name)
        nextHeartbeat = .now
    }

    var waitsForRoom: Bool { false }

    func nextDue(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        desk.waiting > 0 ? now : nextHeartbeat
    }

    func work(at now: ContinuousClock.Instant) {
        let (frames, heads) = desk.take(atMost: PublisherSocket.framesPerTurn)
        for frame in frames {
            // Without NODROP a hearer whose queue is full is passed over; sending itself does not fail.
            _ = socket.send([Array(frame.stream.utf8), frame.header, frame.payload])
        }
        // A backlog is its own sign of life; the heads of a heartbeat must not run ahead of the frames before it.
        guard let heads, now >= nextHeartbeat else { return }
        sendHeartbeat(heads)
        depth.record(desk.waiting)
        nextHeartbeat = now + desk.family.heartbeat
    }

    func receive(at now: ContinuousClock.Instant) {
        for _ in 0..<BusLimits.batch {
            guard let message = socket.receive() else { return }
            guard let frame = message.frames.first, let kind = frame.first, kind <= 1 else { continue }
            desk.subscribed(String(decoding: frame.dropFirst(), as: UTF8.self), kind == 1)
            // Who has just come learns the heads at once.
            if kind == 1 { nextHeartbeat = now }
        }
    }

    func end() {
        desk.close()
        while desk.waiting > 0 { work(at: .now) }
    }

    private func sendHeartbeat(_ heads: [String: Int64]) {
        let stream = desk.family.heartbeatStream
        let header = StreamHeader(
            stream: stream, epoch: desk.epoch, sequence: 0, head: 0, type: StreamHeader.heartbeat, subject: "", at: busTime(), trace: "")
        guard let payload = try? busJSON(Heartbeat(epoch: desk.epoch, heads: heads)) else { return }
        _ = socket.send([Array(stream.utf8), header.frame, payload])
    }
}
