// One connection on its event loop: requests in, one after the other, and their answers out.

import Contracts
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The last handler of the pipeline. A request that has come completely with one look at the socket is handed over as a whole;
/// the body of any other is handed over while it comes. Requests that were sent before their predecessor was answered wait.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Arriving {
        case nothing
        /// The head is there; nobody has been told yet.
        case gathered(RequestHead, ByteBuffer?)
        /// Goes to the handler, which is at work.
        case piped(BodyPipe)
        /// Nobody wants the rest.
        case discarded
    }

    /// Bodies up to here are copied behind their head, so that both leave in one piece.
    private static let copiedBody = 16 << 10

    private let responder: Responder
    private let connections: OpenConnections
    private var limits: HTTPLimits { responder.limits }
    private var context: ChannelHandlerContext?
    private var connection: Connection?

    private var arriving = Arriving.nothing
    /// The request that is being answered, and the task that does it, if one does.
    private var answering: (head: RequestHead, task: Task<Void, Never>?)?
    private var streaming: (framing: OutgoingAnswer.Framing, isEndless: Bool)?
    /// Parts of requests whose turn has not come.
    private var later = CircularBuffer<HTTPServerRequestPart>(initialCapacity: 2)
    /// No further request is read: the other side has finished, or said nonsense.
    private var isDeaf = false
    /// Its framing was ambiguous: nothing that follows is looked at.
    private var isRefused = false
    /// A head has come.
    private var hasBegun = false
    /// Counts bodies that nobody wanted.
    private var discards = 0
    private var isLingering = false
    private var holdsReads = false
    private var wantsRead = false
    private var piecesOnTheirWay = 0
    private var lastProgress = NIODeadline.now()
    private var nextLook: Scheduled<Void>?

    init(responder: Responder, connections: OpenConnections) {
        (self.responder, self.connections) = (responder, connections)
    }
}

// MARK: Reading

extension ConnectionHandler {
    func channelActive(context: ChannelHandlerContext) {
        let connection = Connection(self, context.channel, tasks: connections.tasks(for: context.eventLoop))
        guard connections.add(connection) else { return context.close(promise: nil) }
        (self.context, self.connection) = (context, connection)
        connection.waits(since: .now())
        watch(after: silenceTimeout)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastProgress = .now()
        let part = unwrapInboundIn(data)
        if isRefused { return }
        if isDeaf, case .nothing = arriving { return }
        guard later.isEmpty, !isWaitingForTurn else {
            later.append(part)
            holdsReads = true
            return
        }
        take(part)
    }

    /// Whether the next part belongs to a request that has to wait.
    private var isWaitingForTurn: Bool {
        if case .nothing = arriving { return answering != nil || isLingering }
        return false
    }

    private func take(_ part: HTTPServerRequestPart) {
        switch (part, arriving) {
        case (.head(let fields), _):
            hasBegun = true
            connection?.waits(since: nil)
            guard !RequestFraming.isAmbiguous(fields) else { return refuse(.malformedRequest) }
            let head = RequestHead(fields)
            if head.expectsContinue { writeNow(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")) }
            arriving = .gathered(head, nil)
        case (.body(var piece), .gathered(let head, var whole)):
            arriving = .nothing  // So that `whole` is held once and grows in place.
            if whole?.writeBuffer(&piece) == nil { whole = piece }
            arriving = .gathered(head, whole)
        case (.body(let piece), .piped(let pipe)):
            if !pipe.add(piece) { holdsReads = true }
        case (.body, _):
            break
        case (.end, .gathered(let head, let whole)):
            arriving = .nothing
            respond(to: head, .whole(whole ?? ByteBuffer()))
        case (.end, .piped(let pipe)):
            arriving = .nothing
            pipe.end(.success(()))
        case (.end, _):
            arriving = .nothing
            if isLingering { context?.close(promise: nil) }
        }
    }

    /// What has not come completely by now is handed over as it comes.
    func channelReadComplete(context: ChannelHandlerContext) {
        guard case .gathered(let head, let first) = arriving, let connection else { return }
        let pipe = BodyPipe { connection.onLoop { $0.readOn() } }
        if let first, !pipe.add(first) { holdsReads = true }
        arriving = .piped(pipe)
        respond(to: head, .coming(pipe))
    }

    /// Says so and reads no further, since where the next request would begin is not known.
    private func refuse(_ problem: Problem) {
        (isDeaf, isRefused) = (true, true)
        // More of what cannot be understood may follow: it is read away while the answer is read.
        arriving = .discarded
        finish(responder.refusal(problem), closes: true)
    }

    private func respond(to head: RequestHead, _ body: RequestBody) {
        guard let connection else { return }
        if head.isLast { isDeaf = true }
        answering = (head, responder.begin(head, body, on: connection))
    }

    func read(context: ChannelHandlerContext) {
        if holdsReads { wantsRead = true } else { context.read() }
    }

    fileprivate func readOn() {
        holdsReads = false
        lastProgress = .now()
        guard wantsRead else { return }
        wantsRead = false
        context?.read()
    }
}

// MARK: Writing

extension ConnectionHandler {
    func finish(_ outgoing: OutgoingAnswer, closes mustClose: Bool = false) {
        guard let context else { return answered(closes: true) }
        let closes = mustClose || closesAfterAnswer || isTooMuch(outgoing.answer.status)
        var bytes = context.channel.allocator.buffer(capacity: 384 + min(outgoing.body?.readableBytes ?? 0, Self.copiedBody))
        outgoing.writeHead(to: &bytes, .length, closes: closes)
        if let body = outgoing.body {
            if body.readableBytes <= Self.copiedBody {
                bytes.writeImmutableBuffer(body)
            } else {
                context.write(wrapOutboundOut(bytes), promise: nil)
                bytes = body
            }
        }
        writeNow(bytes, thenClose: closes)
        answered(closes: closes)
    }

    func begin(_ outgoing: OutgoingAnswer, _ promise: EventLoopPromise<Void>) {
        guard let context else { return promise.fail(ChannelError.ioOnClosedChannel) }
        let framing = answering?.head.isOld == true ? OutgoingAnswer.Framing.close : .chunks
        streaming = (framing, outgoing.answer.contentType == MediaType.events)
        var bytes = context.channel.allocator.buffer(capacity: 384)
        outgoing.writeHead(to: &bytes, framing, closes: closesAfterAnswer)
        write(raw: bytes, promise)
    }

    func write(_ piece: ByteBuffer, _ promise: EventLoopPromise<Void>) {
        guard let context, let streaming else { return promise.fail(ChannelError.ioOnClosedChannel) }
        guard streaming.framing == .chunks else { return write(raw: piece, promise) }
        var bytes = context.channel.allocator.buffer(capacity: piece.readableBytes + 16)
        bytes.writeChunk(piece)
        write(raw: bytes, promise)
    }

    private func write(raw bytes: ByteBuffer, _ promise: EventLoopPromise<Void>) {
        guard let context else { return promise.fail(ChannelError.ioOnClosedChannel) }
        piecesOnTheirWay += 1
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.piecesOnTheirWay -= 1
            self.lastProgress = .now()
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
    }

    /// A comment in an event stream whose reader takes what it is given.
    func sayAlive() {
        guard streaming?.isEndless == true, piecesOnTheirWay == 0, let context else { return }
        write(ByteBuffer(staticString: ":\n\n"), context.eventLoop.makePromise(of: Void.self))
    }

    func end() {
        let closes = closesAfterAnswer
        writeNow(ByteBuffer(staticString: streaming?.framing == .chunks ? "0\r\n\r\n" : ""), thenClose: closes)
        answered(closes: closes)
    }

    func cut() {
        context?.close(promise: nil)
        answered(closes: true)
    }

    /// - Parameter thenClose: when the kernel has the bytes, unless the sender of an unwanted body needs time to read them.
    private func writeNow(_ bytes: ByteBuffer, thenClose: Bool = false) {
        guard let context else { return }
        guard thenClose else { return context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        let isWanted = if case .nothing = arriving { true } else { false }
        let wait = isWanted ? nil : TimeAmount(limits.linger)
        isLingering = true
        context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenComplete { _ in
            guard let wait else { return context.close(promise: nil) }
            context.eventLoop.assumeIsolated().scheduleTask(in: wait) { context.close(promise: nil) }
        }
    }

    /// Who was told to be too slow (408) is not waited for any longer (RFC 9110 §15.5.9), nor is a body that there was no room for.
    private func isTooMuch(_ status: Int) -> Bool {
        guard case .piped = arriving else { return status == 408 }
        return [408, 429, 503].contains(status)
    }

    /// Whether the connection ends with the answer that is about to be written.
    private var closesAfterAnswer: Bool {
        if responder.load.isDraining || (isDeaf && later.isEmpty) { return true }
        guard case .piped = arriving, let head = answering?.head else { return false }
        return head.isChunked || (head.contentLength ?? 0) > limits.discardedBody
    }

    private func answered(closes: Bool) {
        (answering, streaming) = (nil, nil)
        lastProgress = .now()
        guard context != nil else { return leave() }
        connection?.waits(since: .now())
        if case .piped = arriving {
            arriving = .discarded
            if !closes { closeUnlessReadAway() }
        }
        guard !closes else {
            later.removeAll()
            return readOn()
        }
        while let part = later.first, !isWaitingForTurn {
            later.removeFirst()
            take(part)
        }
        if case .gathered = arriving, let context { channelReadComplete(context: context) }
        if later.isEmpty { readOn() }
    }
}

// MARK: Ending

extension ConnectionHandler {
    /// What nobody wants has as long as what is read whole, whatever its pace.
    private func closeUnlessReadAway() {
        guard let context else { return }
        discards += 1
        context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.bodyArrival)) { [discards] in
            if case .discarded = self.arriving, self.discards == discards { self.context?.close(promise: nil) }
        }
    }

    /// Makes room, unless a request has come meanwhile.
    func closeIfWaiting() {
        if connection?.waitsSince != nil { context?.close(promise: nil) }
    }
}

extension ConnectionHandler {
    private var isIdle: Bool {
        if case .nothing = arriving { return answering == nil && later.isEmpty }
        return false
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else { return context.fireUserInboundEventTriggered(event) }
        isDeaf = true
        // Whoever listens to events for ever and hangs up has left: its place is not to be held until the next event finds that out.
        if isIdle || isLingering || streaming?.isEndless == true { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
        guard !isDeaf else { return }
        isDeaf = true
        if case .piped(let pipe) = arriving {
            arriving = .nothing
            pipe.end(.failure(BodyCutOff()))
        }
        guard answering == nil else { return }
        refuse(error == .headerOverflow ? .headTooLarge(limits) : .malformedRequest)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isDeaf = true
        if case .piped(let pipe) = arriving { pipe.end(.failure(BodyCutOff())) }
        arriving = .nothing
        self.context = nil
        nextLook?.cancel()
        // Whoever stores goes on to the end; whoever only writes to somebody who has left does not.
        if streaming != nil { answering?.task?.cancel() }
        if answering == nil { leave() }
    }

    private func leave() {
        if let connection { connections.remove(connection) }
        connection = nil
    }

    /// The server is ending: at once where nothing is going on, else with the answer.
    func drain() {
        if isIdle { context?.close(promise: nil) }
        if streaming?.isEndless == true { answering?.task?.cancel() }
    }

    /// The time to drain is over.
    func abandon() {
        answering?.task?.cancel()
        context?.close(promise: nil)
    }

    /// Closes a connection whose other end neither sends what it owes nor takes what it is given.
    private func watch(after wait: Duration) {
        guard let context else { return }
        nextLook = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(wait)) {
            let passed = NIODeadline.now() - self.lastProgress
            let limit = TimeAmount(self.silenceTimeout)
            guard self.waitsForOtherEnd, passed >= limit else {
                return self.watch(after: Duration.nanoseconds(self.waitsForOtherEnd ? (limit - passed).nanoseconds : limit.nanoseconds))
            }
            context.close(promise: nil)
        }
    }

    /// How long the other end may be silent.
    private var silenceTimeout: Duration { hasBegun ? limits.idle : min(limits.idle, limits.headArrival) }

    private var waitsForOtherEnd: Bool {
        if piecesOnTheirWay > 0 { return true }
        if case .nothing = arriving { return answering == nil }
        return !holdsReads
    }
}
