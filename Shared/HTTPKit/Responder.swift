// One request from its head to its answer. The hot path: no middleware, one task at most, no dictionary.

import Contracts
import Logging
import NIOCore

struct Responder: Sendable {
    let table: RouteTable
    let state: ServerState
    let authenticate: Authenticate
    let logger: Logger
    let recognise: Recognise?
    private let unrouted = RouteMeter(path: "none", method: "none")
    private let healthPaths: Set<Substring> = ["/health/live", "/health/ready", "/metrics"]

    init(
        table: RouteTable, state: ServerState, authenticate: @escaping Authenticate, logger: Logger, recognise: Recognise?
    ) {
        (self.table, self.state, self.authenticate) = (table, state, authenticate)
        (self.logger, self.recognise) = (logger, recognise)
    }

    var limits: HTTPLimits { state.limits }
    var load: ServerLoad { state.load }

    /// Begins to answer; tells `connection` when it has something to say, which is never before this returns.
    /// - Returns: the task that does it; nil for a brief request, and for one that its head alone refuses.
    func begin(_ head: RequestHead, _ body: RequestBody, on connection: Connection) -> Task<Void, Never>? {
        let start = Beginning(time: .now, receivedAt: .now(), requestID: head.requestID ?? RequestID.next())
        let finding = table.find(method: head.method, path: head.path)
        switch judge(head, body, finding, connection) {
        case .refused(let error, let payer):
            refuse(error, payer, head, finding, start, connection)
            return nil
        case .open(let credentials):
            let executor = MeteredExecutor()
            var isFit = false
            if case .whole(let bytes) = body {
                if respondBriefly(head, body, finding, credentials, start, connection) { return nil }
                switch look(at: bytes, head, finding, credentials, connection, executor) {
                case .refused(let problem, let payer):
                    refuse(problem, payer, head, finding, start, connection, executor)
                    return nil
                case .fit: isFit = true
                case .unknown: break
                }
            }
            return Task(executorPreference: executor) { [isFit] in
                await respond(head, body, isFit: isFit, finding, credentials, start, connection, executor)
            }
        }
    }

    private struct Beginning {
        let time: ContinuousClock.Instant
        let receivedAt: Timestamp
        let requestID: String
    }

    private func respond(
        _ head: RequestHead, _ body: RequestBody, isFit: Bool, _ finding: RouteTable.Finding, _ credentials: Credentials?,
        _ start: Beginning, _ connection: Connection, _ executor: MeteredExecutor
    ) async {
        let hasRoom = load.enter(most: finding.room(limits))
        var permit: BudgetPermit?
        defer {
            if hasRoom { load.leave() }
            permit?.release()
        }
        var exchange: Exchange?
        let answer: HTTPAnswer
        do {
            guard hasRoom || healthPaths.contains(head.path) else { throw Refusal(.unavailable, retryAfter: .seconds(1)) }
            let (entry, values) = try Self.entry(finding)
            let caller = try await prove(credentials, head, entry.route.access, connection)
            if !entry.route.isInternal {
                let admitted = try admit(caller, head, body, entry.route, connection)
                executor.charge(to: admitted)
                permit = admitted
            }
            let made = try self.exchange(head, body, isFit: isFit, entry, values, caller, start, connection, permit, executor)
            exchange = made
            answer = try await entry.route.handler(made)
        } catch {
            if exchange?.bodyOutcome == .broken { return connection.cut() }
            answer = refused(error, head, finding, start)
        }
        meter(finding).record(status: answer.status, from: start.time)
        await write(outgoing(answer, head, start), connection)
    }

    /// False where the request has to go the long way; then nothing has been done.
    private func respondBriefly(
        _ head: RequestHead, _ body: RequestBody, _ finding: RouteTable.Finding, _ credentials: Credentials?, _ start: Beginning,
        _ connection: Connection
    ) -> Bool {
        guard case .found(let entry, let values) = finding, let brief = entry.route.brief, let recognise, let credentials,
            load.enter(most: finding.room(limits))
        else { return false }
        let answer = BriefAnswer(connection) { result in
            load.leave()
            let answer: HTTPAnswer
            do {
                answer = try result.get()
            } catch {
                answer = refused(error, head, finding, start)
            }
            entry.meter.record(status: answer.status, from: start.time)
            return outgoing(answer, head, start)
        }
        do {
            if let caller = try counted(head, connection, { () throws in try recognise(credentials, entry.route.access) }),
                try brief(exchange(head, body, entry, values, caller, start, connection), answer)
            {
                return true
            }
        } catch {
            answer { throw error }
            return true
        }
        load.leave()
        return false
    }

    private func exchange(
        _ head: RequestHead, _ body: RequestBody, isFit: Bool = false, _ entry: RouteTable.Entry, _ values: [Substring],
        _ caller: Caller, _ start: Beginning, _ connection: Connection, _ permit: BudgetPermit? = nil, _ executor: MeteredExecutor? = nil
    ) throws(Problem) -> Exchange {
        Exchange(
            caller: caller, requestID: start.requestID, receivedAt: start.receivedAt,
            mediaType: try Self.mediaType(head, entry.route.body), shape: entry.route.body, head: head, requestBody: body, isFit: isFit,
            beganAt: start.time, server: state, permit: permit, executor: executor, names: entry.parameterNames, values: values,
            peerAddress: connection.peerAddress, proof: Proof(access: entry.route.access, authenticate: authenticate))
    }

    private func outgoing(_ answer: HTTPAnswer, _ head: RequestHead, _ start: Beginning) -> OutgoingAnswer {
        OutgoingAnswer(answer: answer, isHead: head.method == "HEAD", requestID: start.requestID, receivedAt: start.receivedAt)
    }

    private static func entry(_ finding: RouteTable.Finding) throws -> (RouteTable.Entry, [Substring]) {
        switch finding {
        case .found(let entry, let values):
            return (entry, values)
        case .otherMethods(let allow):
            var refusal = Refusal(.methodNotAllowed)
            refusal.allow = allow
            throw refusal
        case .nothing:
            throw Problem.notFound
        }
    }

    private func meter(_ finding: RouteTable.Finding) -> RouteMeter {
        if case .found(let entry, _) = finding { entry.meter } else { unrouted }
    }

    private func prove(
        _ credentials: Credentials?, _ head: RequestHead, _ access: Access, _ connection: Connection
    ) async throws -> Caller {
        guard access != .anyone else { return .anyone }
        guard let credentials else { throw Problem.unauthorised }
        do {
            return try await authenticate(credentials, access)
        } catch let problem as Problem where problem.type == Problem.unauthorised.type {
            return try counted(head, connection) { throw problem }
        }
    }

    /// Counts what proved nobody.
    private func counted<Proved>(_ head: RequestHead, _ connection: Connection, _ prove: () throws -> Proved) throws -> Proved {
        do {
            return try prove()
        } catch let problem as Problem where problem.type == Problem.unauthorised.type {
            try state.countWrongCredentials(of: RemoteAddress.of(head, from: connection.peerAddress, edge: state.edge))
            throw problem
        }
    }

    /// Before anything of the body is read.
    private func admit(
        _ caller: Caller, _ head: RequestHead, _ body: RequestBody, _ route: Route, _ connection: Connection
    ) throws(Refusal) -> BudgetPermit {
        let holder = BudgetHolder(caller, address: RemoteAddress.of(head, from: connection.peerAddress, edge: state.edge))
        var (isStranger, isComing) = (false, false)
        if case .anyone = caller { isStranger = true }
        if case .coming = body { isComing = true }
        return try state.budget.admit(holder, isReserved: route.usesReserve && !isStranger, hasBodyUnderWay: isComing)
    }

    private static func mediaType(_ head: RequestHead, _ shape: BodyShape?) throws(Problem) -> String? {
        guard let shape else { return nil }
        if let sent = head.contentType {
            // Most callers write it as the route does: no new string for them.
            if let content = shape.contents.first(where: { $0.mediaType == sent }) { return content.mediaType }
            let essence = MediaType.essence(of: sent)
            if let content = shape.contents.first(where: { $0.mediaType == essence }) { return content.mediaType }
        }
        throw .unsupportedMediaType(shape.contents.map(\.mediaType))
    }
}

// MARK: By the head alone

extension Responder {
    private enum Judgement {
        /// `payer` where the caller's budget had to be asked before.
        case refused(any Error, payer: BudgetPermit?)
        /// Who is asking, or what the body says, has to be judged. Credentials where the route asks for any.
        case open(Credentials?)
    }

    /// What can be refused on the connection's own thread, in the order in which `respond` would. Where credentials are shown, the caller's
    /// budget and the body's type come after their proof, which may take a signature. A body's length is not looked at: handlers count who
    /// comes, and look at the path, before they read.
    private func judge(
        _ head: RequestHead, _ body: RequestBody, _ finding: RouteTable.Finding, _ connection: Connection
    ) -> Judgement {
        do {
            // Who may use the reserve is not refused for a moment without room: there may be some when a thread is free.
            guard load.hasRoom(most: finding.room(limits)) || finding.usesReserve || healthPaths.contains(head.path) else {
                throw Refusal(.unavailable, retryAfter: .seconds(1))
            }
            let route = try Self.entry(finding).0.route
            guard route.access == .anyone else {
                return .open(
                    try Credentials.shown(by: head, method: head.method, for: route.access, publicOrigin: state.publicOrigin))
            }
            // Who has used up their budget is told that first.
            let payer = try route.isInternal ? nil : admit(.anyone, head, body, route, connection)
            do {
                _ = try Self.mediaType(head, route.body)
            } catch {
                return .refused(error, payer: payer)
            }
            // Work is counted while it is done: what waits for a thread holds nothing, and is admitted again there.
            payer?.release()
            return .open(nil)
        } catch {
            return .refused(error, payer: nil)
        }
    }

    /// Without a task, and without a thread that work is waiting for.
    private func refuse(
        _ error: any Error, _ payer: BudgetPermit?, _ head: RequestHead, _ finding: RouteTable.Finding, _ start: Beginning,
        _ connection: Connection, _ executor: MeteredExecutor = MeteredExecutor()
    ) {
        func made() -> OutgoingAnswer {
            let answer = refused(error, head, finding, start)
            meter(finding).record(status: answer.status, from: start.time)
            return outgoing(answer, head, start)
        }
        let answer: OutgoingAnswer
        if let payer {
            executor.charge(to: payer)
            answer = executor.metering { made() }
            payer.release()
        } else {
            answer = made()
        }
        connection.soonOnLoop { $0.finish(answer) }
    }
}

// MARK: By a body that is there

extension Responder {
    /// A longer one is judged where that disturbs nobody.
    private static let shortBody = 2 << 10

    private enum Look {
        case refused(Problem, payer: BudgetPermit?)
        case fit
        /// The handler judges it, or whoever asks has to be proved first.
        case unknown
    }

    /// Holds a short JSON body against the schema of its route, so that refusing it takes neither a task nor another thread: waking one
    /// costs more than all the rest. What is refused so is refused before the handler looks at the path and counts who comes; nobody
    /// learns anything by it but what the route's description says.
    private func look(
        at bytes: ByteBuffer, _ head: RequestHead, _ finding: RouteTable.Finding, _ credentials: Credentials?, _ connection: Connection,
        _ executor: MeteredExecutor
    ) -> Look {
        guard case .found(let entry, _) = finding, let schema = entry.route.body?.decodedSchema, !entry.route.isInternal else {
            return .unknown
        }
        let caller: Caller
        do {
            guard let known = entry.route.access == .anyone ? .anyone : try known(credentials, entry.route.access) else { return .unknown }
            caller = known
        } catch {
            // Proved, and not admitted here: whatever the body says.
            return .refused(error, payer: nil)
        }
        guard bytes.readableBytes <= min(Self.shortBody, entry.route.body?.limit ?? 0), head.contentEncoding == nil,
            (try? Self.mediaType(head, entry.route.body)) != nil
        else { return .unknown }
        let problem = executor.metering { bytes.withUnsafeReadableBytes { schema.refusal(of: $0) } }
        guard let problem else { return .fit }
        // Who has used up their budget is told that, on the long way.
        guard let payer = try? admit(caller, head, .whole(bytes), entry.route, connection) else { return .unknown }
        return .refused(problem, payer: payer)
    }

    /// Nil for whoever has to be asked for: what proves nobody is counted there.
    private func known(_ credentials: Credentials?, _ access: Access) throws(Problem) -> Caller? {
        do {
            return try credentials.flatMap { try recognise?($0, access) }
        } catch let problem as Problem where problem.type != Problem.unauthorised.type {
            throw problem
        } catch {
            return nil
        }
    }
}

// MARK: Refusing

extension Responder {
    private func refused(_ error: any Error, _ head: RequestHead, _ finding: RouteTable.Finding, _ start: Beginning) -> HTTPAnswer {
        let refusal = refusal(of: error, requestID: start.requestID)
        note(refusal.problem, head: head, finding: finding, requestID: start.requestID)
        let language = Language.asked(by: head)
        return HTTPAnswer.refusal(refusal, requestID: start.requestID, in: language, asPage: finding.hasPages ? head : nil)
    }

    private func refusal(of error: any Error, requestID: String) -> Refusal {
        switch error {
        case let refusal as Refusal: refusal
        case let problem as Problem: Refusal(problem)
        case is CancellationError: Refusal(.unavailable, retryAfter: .seconds(1))
        case let error as any ErrorForCallers: error.refusal ?? failure(error, requestID)
        default: failure(error, requestID)
        }
    }

    /// The error's text stays here: it may hold what was sent. The log gets its type.
    private func failure(_ error: any Error, _ requestID: String) -> Refusal {
        logger.error(
            "a handler failed", metadata: ["requestId": .string(requestID), "error": .string(error.logReason)])
        return Refusal(.internal)
    }

    /// Refused callers are told of; a wrong token never is, nor a path as it was sent.
    private func note(_ problem: Problem, head: RequestHead, finding: RouteTable.Finding, requestID: String) {
        let level: Logger.Level = problem.status == 401 || problem.status == 403 ? .info : .debug
        guard logger.logLevel <= level, case .found(let entry, _) = finding else { return }
        logger.log(
            level: level, "refused",
            metadata: [
                "requestId": .string(requestID), "method": .string(entry.route.method.rawValue), "route": .string(entry.route.path),
                "status": .stringConvertible(problem.status), "problem": .string(problem.type),
            ])
    }
}

// MARK: Writing

extension Responder {
    private func write(_ outgoing: OutgoingAnswer, _ connection: Connection) async {
        guard case .stream(let write) = outgoing.answer.body, !outgoing.isHead else { return connection.finish(outgoing) }
        do {
            try await connection.begin(outgoing)
            var writer = StreamWriter(connection: connection)
            try await write(&writer)
            connection.end()
        } catch {
            logger.debug("a stream was cut", metadata: ["requestId": .string(outgoing.requestID)])
            connection.cut()
        }
    }

    /// What is said to bytes that are no request.
    func refusal(_ problem: Problem) -> OutgoingAnswer {
        let requestID = RequestID.next()
        unrouted.record(status: problem.status, from: .now)
        let answer = HTTPAnswer.refusal(Refusal(problem), requestID: requestID)
        return OutgoingAnswer(answer: answer, isHead: false, requestID: requestID, receivedAt: .now())
    }
}
