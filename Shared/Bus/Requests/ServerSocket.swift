// The answering side's socket: checks who asks, starts the handler in a task, sends its answer back.

import Contracts
import Logging
import Metrics
import Synchronization

/// Where handlers' tasks leave their answers for the socket thread.
final class ServerRequests: Sendable {
    private let finished = Mutex<[(key: QuestionKey, answer: Answer)]>([])
    private let thread: SocketThread

    init(thread: SocketThread) {
        self.thread = thread
    }

    func leave(_ answer: Answer, for key: QuestionKey) {
        finished.withLock { $0.append((key, answer)) }
        thread.wake()
    }

    func take() -> [(key: QuestionKey, answer: Answer)] {
        finished.withLock { finished in
            defer { finished = [] }
            return finished
        }
    }
}

/// A question is known by its client and the client's id for it.
struct QuestionKey: Hashable, Sendable {
    let peer: Peer
    let id: String
}

final class ServerSocket: SocketHandler {
    /// One question that a handler works on, and all connections on which it was asked.
    private struct InWork {
        var routes: [[[UInt8]]]
        let isReplay: Bool
        let task: Task<Void, Never>
    }

    let socket: Socket
    private let methods: Methods
    private let rights: StreamRights
    private let requests: ServerRequests
    private let logger: Logger
    private var inWork: [QuestionKey: InWork] = [:]
    private var slots = AnswerSlots(total: BusLimits.questionsInWork)
    private var replaysInWork = 0
    /// Set at shutdown: what is in work is finished, nothing new begins.
    var isEnding = false

    init(socket: Socket, methods: Methods, rights: StreamRights, requests: ServerRequests, logger: Logger) {
        (self.socket, self.methods, self.rights, self.requests, self.logger) = (socket, methods, rights, requests, logger)
    }

    var isIdle: Bool { inWork.isEmpty }
    var waitsForRoom: Bool { false }

    func nextDue(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        nil
    }

    func receive(at now: ContinuousClock.Instant) {
        for _ in 0..<BusLimits.batch {
            guard let message = socket.receive() else { return }
            receive(message)
        }
    }

    func work(at now: ContinuousClock.Instant) {
        for (key, answer) in requests.take() {
            guard let done = inWork.removeValue(forKey: key) else { continue }
            slots.ended(key.peer)
            if done.isReplay { replaysInWork -= 1 }
            for route in done.routes { send(answer, along: route) }
        }
    }

    func end() {
        work(at: .now)
        for question in inWork.values { question.task.cancel() }
        inWork = [:]
        slots = AnswerSlots(total: BusLimits.questionsInWork)
    }

    private func receive(_ message: Message) {
        guard let envelope = message.frames.last, message.frames.count >= 2, let user = message.user else {
            BusMetrics.refused("unreadable").increment()
            return
        }
        // A REQ socket puts an empty frame before the question and wants it back.
        let route = Array(message.frames.dropLast())
        let peer = Peer(user)
        guard let question = Question(envelope: envelope) else {
            return refuse("", Failure(.invalid, "the request is no envelope of version 1"), along: route)
        }
        let key = QuestionKey(peer: peer, id: question.id)
        if let running = inWork[key] {
            if !running.routes.contains(route), running.routes.count < 8 { inWork[key]?.routes.append(route) }
            return
        }
        switch admit(question, from: peer) {
        case .success(let method): start(method, question, key: key, route: route)
        case .failure(let failure): refuse(question.id, failure, along: route)
        }
    }

    private func admit(_ question: Question, from peer: Peer) -> Result<Methods.Method, Failure> {
        guard let allowed = rights.allowed.peer(named: peer) else {
            return .failure(Failure(.forbidden, "\(peer) is not allowed here any more"))
        }
        guard let method = methods.byName[question.method] else {
            return .failure(Failure(.unknownMethod, "nobody answers \(question.method) here"))
        }
        if case .listed = method.right, !allowed.methods.contains(question.method) {
            return .failure(Failure(.forbidden, "\(peer) may not request \(question.method)"))
        }
        if isEnding { return .failure(Failure(.unavailable, "stopping")) }
        guard question.deadline > busTime() else { return .failure(Failure(.deadline, "it arrived after its deadline")) }
        guard slots.admits(peer) else { return .failure(Failure(.unavailable, "too many questions at once")) }
        if case .hearing = method.right, replaysInWork >= BusLimits.replaysInWork, question.method != ConfirmPositions.method {
            return .failure(Failure(.unavailable, "too many replays at once"))
        }
        return .success(method)
    }

    private func start(_ method: Methods.Method, _ question: Question, key: QuestionKey, route: [[UInt8]]) {
        let context = RequestContext(
            peer: key.peer, id: question.id, method: question.method, deadline: question.deadline, trace: question.trace)
        let (memory, rights, requests, logger) = (methods.memory, rights, requests, logger)
        let task = Task {
            let result = await answer(method, question.body, context, memory: memory, rights: rights, logger: logger)
            requests.leave(Answer(id: question.id, result), for: key)
        }
        let isReplay = if case .hearing = method.right { question.method != ConfirmPositions.method } else { false }
        if isReplay { replaysInWork += 1 }
        slots.began(key.peer)
        inWork[key] = InWork(routes: [route], isReplay: isReplay, task: task)
    }

    private func refuse(_ id: String, _ failure: Failure, along route: [[UInt8]]) {
        BusMetrics.refused(failure.code.rawValue).increment()
        send(Answer(id: id, .failure(failure)), along: route)
    }

    /// A client that is gone, or takes nothing, asks again.
    private func send(_ answer: Answer, along route: [[UInt8]]) {
        var envelope = answer.envelope
        if envelope.count > BusLimits.answerBytes {
            let failure = Failure(.internal, "the answer is larger than \(BusLimits.answerBytes >> 20) MiB")
            envelope = Answer(id: answer.id, .failure(failure)).envelope
        }
        if !socket.send(route + [envelope]) { BusMetrics.dropped("answers").increment() }
    }
}

/// Runs in the handler's task.
private func answer(
    _ method: Methods.Method, _ body: [UInt8], _ context: RequestContext, memory: (any AnswerMemory)?, rights: StreamRights,
    logger: Logger
) async -> Result<[UInt8], Failure> {
    do {
        if method.mutates, let remembered = try await memory?.answer(to: context.peer, id: context.id) { return .success(remembered) }
        return .success(try await method.run(body, context, rights))
    } catch let failure as Failure {
        return .failure(failure)
    } catch is CancellationError {
        return .failure(Failure(.unavailable, "stopping"))
    } catch {
        logger.error(
            "a handler failed",
            metadata: ["method": "\(context.method)", "trace": "\(context.trace)", "error": "\(error.logReason)"])
        return .failure(Failure(.internal, "a fault of the server; its log has trace \(context.trace)"))
    }
}
