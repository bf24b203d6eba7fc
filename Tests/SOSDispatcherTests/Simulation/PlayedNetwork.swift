// The network between the suite's processes: what the bus's own threads do with sockets, done in one thread with frames that get lost.

import Contracts
import Foundation
import Logging
import Synchronization

@testable import Bus
@testable import SOSDispatcher
@testable import ServiceKit

/// Everything that a process leaves for its sockets is taken here and brought to whoever hears or answers it.
final class PlayedNetwork {
    typealias Reply = (Result<[UInt8], Failure>) -> Void

    /// What a frame meets on its way.
    enum Fate {
        case lost
        /// Arrives after so many milliseconds; more than once where there are more.
        case arrives([Int64])
    }

    private struct Consumer {
        var process: Int
        var peer: Peer
        var inbox: StreamInbox
    }

    private struct PublisherSide {
        var process: Int
        var peer: Peer
        var queue: PublisherQueue
    }

    private struct Client {
        var process: Int
        var from: Peer
        var to: Peer
        var requests: ClientRequests
    }

    private struct Server {
        var process: Int
        var methods: Methods
        var rights: StreamRights
    }

    /// Wakes nobody: there is no thread behind it.
    fileprivate static let thread: SocketThread = {
        // Only where the machine has no file descriptor left.
        guard let thread = try? SocketThread() else { fatalError("no eventfd") }
        return thread
    }()
    private static let tick: Int64 = 200

    private let time: VirtualTime
    private var consumers: [String: [Consumer]] = [:]
    private var publishers: [String: PublisherSide] = [:]
    private var clients: [Client] = []
    private var servers: [Peer: Server] = [:]
    /// Peers that are no process: they answer by themselves.
    var played: [Peer: (_ question: Question, _ client: Peer, _ reply: @escaping Reply) -> Void] = [:]
    /// What becomes of a frame or a question between two peers.
    var fate: (_ from: Peer, _ to: Peer) -> Fate = { _, _ in .arrives([1]) }
    let quiet = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }

    init(_ time: VirtualTime) {
        self.time = time
    }

    func line(of peer: Peer, process: Int) -> PlayedLine {
        PlayedLine(network: self, peer: peer, process: process)
    }

    /// A process that is gone says, hears and answers nothing.
    func forget(_ process: Int) {
        for family in consumers.keys { consumers[family]?.removeAll { $0.process == process } }
        publishers = publishers.filter { $0.value.process != process }
        clients.removeAll { $0.process == process }
        servers = servers.filter { $0.value.process != process }
    }

    // MARK: Sockets

    fileprivate func publishes(_ queue: PublisherQueue, _ peer: Peer, _ process: Int) {
        for stream in queue.family.streams { queue.subscribed(stream, true) }
        publishers[queue.family.name] = PublisherSide(process: process, peer: peer, queue: queue)
    }

    fileprivate func subscribes(_ inbox: StreamInbox, _ peer: Peer, _ process: Int) {
        consumers[inbox.family.name, default: []].append(Consumer(process: process, peer: peer, inbox: inbox))
    }

    fileprivate func asks(_ requests: ClientRequests, _ from: Peer, _ to: Peer, _ process: Int) {
        clients.append(Client(process: process, from: from, to: to, requests: requests))
    }

    fileprivate func answers(_ methods: Methods, _ peer: Peer, _ process: Int) {
        let everybody = Peer.suite.filter { $0 != peer }.map { other in
            AllowedPeer(
                peer: other, publicKey: other.name,
                families: Set(StreamFamily.all.filter { $0.owner == peer && $0.consumers.contains(other) }.map(\.name)),
                methods: Questions.methods(of: peer, askedBy: other))
        }
        let rights = StreamRights(allowed: AllowList(everybody))
        for family in StreamFamily.all where family.owner == peer { rights.add(family) }
        servers[peer] = Server(process: process, methods: methods, rights: rights)
    }

    // MARK: Carrying

    /// Takes what tasks have left since the last time.
    func collect() {
        for (family, publisher) in publishers where publisher.queue.waiting > 0 {
            for frame in publisher.queue.take(atMost: 1024).frames {
                carry(frame.header, frame.payload, of: family, from: publisher.peer)
            }
        }
        for client in clients {
            for ask in client.requests.takeNew().asks { begin(Outcome(ask), client, attempt: 1) }
        }
    }

    /// To everybody who hears the family, each on a way of its own.
    func carry(_ header: [UInt8], _ payload: [UInt8], of family: String, from peer: Peer) {
        for consumer in consumers[family] ?? [] {
            guard case .arrives(let delays) = fate(peer, consumer.peer) else { continue }
            for delay in delays {
                time.after(delay) { [time] in
                    time.enter(consumer.process) { consumer.inbox.leave([.init(header: header, payload: payload, at: .now)]) }
                }
            }
        }
    }

    /// Heads, and a look at the clock for whoever waits for frames; again and again.
    func beat() {
        time.after(PlayedNetwork.tick) { [self] in beat() }
        for (family, publisher) in publishers {
            let (frames, heads) = publisher.queue.take(atMost: 1024)
            for frame in frames { carry(frame.header, frame.payload, of: family, from: publisher.peer) }
            guard let heads else { continue }
            say(Contracts.Heartbeat(epoch: publisher.queue.epoch, heads: heads), of: publisher.queue.family, from: publisher.peer)
        }
        // Whoever hears a family that nobody says waits for nothing.
        for (family, all) in consumers where publishers[family] != nil || family == StreamFamily.samples.name {
            for consumer in all { time.enter(consumer.process) { consumer.inbox.tick() } }
        }
    }

    func say(_ heartbeat: Contracts.Heartbeat, of family: StreamFamily, from peer: Peer) {
        guard consumers[family.name]?.isEmpty == false, let payload = try? busJSON(heartbeat) else { return }
        let header = StreamHeader(
            stream: family.heartbeatStream, epoch: heartbeat.epoch, sequence: 0, head: 0, type: StreamHeader.heartbeat, subject: "",
            at: .now, trace: "")
        carry(header.frame, payload, of: family.name, from: peer)
    }

    // MARK: Questions

    /// As the asking duty: again and again under one id until an answer comes.
    private func begin(_ outcome: Outcome, _ client: Client, attempt: Int) {
        let ask = outcome.ask
        let finish = { [time] (result: AskOutcome) in
            time.enter(client.process) {
                guard outcome.becomesKnown() else { return }
                client.requests.finish(ask, result)
            }
        }
        if let question = Question(envelope: ask.envelope()) {
            bring(question, from: client.from, to: client.to) { finish(.answer($0)) }
        }
        time.after(ask.timeout.wholeMilliseconds) { [self] in
            guard !outcome.isKnown, time.isAlive(client.process) else { return }
            if attempt > ask.attemptsLeft { finish(.silence) } else { begin(outcome, client, attempt: attempt + 1) }
        }
    }

    /// A question until its outcome is known; for ever where its process was killed, whose tasks are neither resumed nor freed.
    private final class Outcome {
        let ask: ClientRequests.Ask
        private(set) var isKnown = false

        init(_ ask: ClientRequests.Ask) {
            self.ask = ask
            _ = Unmanaged.passRetained(self)
        }

        /// Whether this is the first one.
        func becomesKnown() -> Bool {
            guard !isKnown else { return false }
            isKnown = true
            Unmanaged.passUnretained(self).release()
            return true
        }
    }

    /// Asks as a peer that is no process; no answer comes where the question or its answer is lost, or nobody is there.
    func ask<R: BusRequest>(
        _ request: R, of peer: Peer, from client: Peer, id: String, _ reply: @escaping (Result<R.Reply, Failure>) -> Void
    ) {
        guard let body = try? busJSON(request) else { return }
        let question = Question(id: id, method: R.method, deadline: .now + .seconds(5), trace: "", body: body)
        bring(question, from: client, to: peer) { result in
            reply(
                result.flatMap { body in
                    (try? JSONDecoder().decode(R.Reply.self, from: Data(body))).map { .success($0) } ?? .failure(Failure(.internal, ""))
                })
        }
    }

    private func bring(_ question: Question, from client: Peer, to peer: Peer, _ reply: @escaping Reply) {
        guard case .arrives(let delays) = fate(client, peer), let delay = delays.first else { return }
        time.after(delay) { [self] in
            let back: Reply = { [self] result in
                guard case .arrives(let delays) = fate(peer, client), let delay = delays.first else { return }
                time.after(delay) { reply(result) }
            }
            if let answer = played[peer] { return answer(question, client, back) }
            guard let server = servers[peer], let method = server.methods.byName[question.method] else { return }
            let context = RequestContext(
                peer: client, id: question.id, method: question.method, deadline: question.deadline, trace: question.trace)
            let answered = Carried(back)
            time.enter(server.process) {
                Task { answered.value(await PlayedNetwork.answer(question, by: method, server.methods, server.rights, context)) }
            }
        }
    }

    /// As the answering duty does in the handler's task.
    private static func answer(
        _ question: Question, by method: Methods.Method, _ methods: Methods, _ rights: StreamRights, _ context: RequestContext
    ) async -> Result<[UInt8], Failure> {
        do {
            if method.mutates, let known = try await methods.memory?.answer(to: context.peer, id: context.id) { return .success(known) }
            return .success(try await method.run(question.body, context, rights))
        } catch {
            return .failure(error as? Failure ?? Failure(.internal, "\(error)"))
        }
    }
}

/// Takes a value into a task of the same thread.
/// Unchecked: all tasks of a simulation run on its one thread.
struct Carried<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// One process's place in the played network.
/// Unchecked: all tasks of a simulation run on its one thread.
struct PlayedLine: BusLine, @unchecked Sendable {
    let network: PlayedNetwork
    let peer: Peer
    let process: Int

    func publisher(of family: StreamFamily, at _: String, epoch: String, heads: [String: Int64]) async throws(BusError) -> Publisher {
        let queue = PublisherQueue(family: family, epoch: epoch, heads: heads, thread: PlayedNetwork.thread, logger: network.quiet)
        network.publishes(queue, peer, process)
        return Publisher(family: family, queue: queue)
    }

    func answer(at _: String, _ methods: Methods) async throws(BusError) {
        network.answers(methods, peer, process)
    }

    func client(of other: Peer, at _: String, serverKey _: String) async throws(BusError) -> BusClient {
        let requests = ClientRequests(thread: PlayedNetwork.thread)
        network.asks(requests, peer, other, process)
        return BusClient(peer: other, requests: requests)
    }

    func inbox(of family: StreamFamily, at _: String, serverKey _: String) async throws(BusError) -> StreamInbox {
        let inbox = StreamInbox(family: family, streams: family.streams, thread: PlayedNetwork.thread)
        network.subscribes(inbox, peer, process)
        return inbox
    }

    func selfTest() async throws(BusError) {}

    func shutdown() async {}
}
