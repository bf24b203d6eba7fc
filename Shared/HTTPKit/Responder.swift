// One request from its head to its answer. The hot path: no middleware, one task, no dictionary.

import Contracts
import Logging
import NIOCore

struct Responder: Sendable {
    let table: RouteTable
    let limits: HTTPLimits
    let authenticate: Authenticate
    let load: ServerLoad
    let logger: Logger
    let publicOrigin: String?
    let recognise: Recognise?
    private let unrouted = RouteMeter(path: "none", method: "none")
    private let healthPaths: Set<Substring> = ["/health/live", "/health/ready", "/metrics"]

    init(
        table: RouteTable, limits: HTTPLimits, authenticate: @escaping Authenticate, load: ServerLoad, logger: Logger,
        publicOrigin: String?, recognise: Recognise?
    ) {
        (self.table, self.limits, self.authenticate, self.load, self.logger) = (table, limits, authenticate, load, logger)
        (self.publicOrigin, self.recognise) = (publicOrigin, recognise)
    }

    /// Begins to answer; tells `connection` when it has something to say, which is never before this returns.
    /// - Returns: the task that does it; nil for a brief request.
    func begin(_ head: RequestHead, _ body: RequestBody, on connection: Connection) -> Task<Void, Never>? {
        let start = Beginning(time: .now, receivedAt: .now(), requestID: head.requestID ?? RequestID.next())
        let finding = table.find(method: head.method, path: head.path)
        if case .whole = body, respondBriefly(head, body, finding, start, connection) { return nil }
        return Task { await respond(head, body, finding, start, connection) }
    }

    private struct Beginning {
        let time: ContinuousClock.Instant
        let receivedAt: Timestamp
        let requestID: String
    }

    private func respond(
        _ head: RequestHead, _ body: RequestBody, _ finding: RouteTable.Finding, _ start: Beginning, _ connection: Connection
    ) async {
        let hasRoom = load.enter(most: limits.concurrentRequests)
        defer { if hasRoom { load.leave() } }
        var exchange: Exchange?
        let answer: HTTPAnswer
        do {
            guard hasRoom || healthPaths.contains(head.path) else { throw Refusal(.unavailable, retryAfter: .seconds(1)) }
            let (entry, values) = try Self.entry(finding)
            let caller = try await prove(head, entry.route.access)
            let made = try self.exchange(head, body, entry, values, caller, start, connection)
            exchange = made
            answer = try await entry.route.handler(made)
        } catch {
            if exchange?.bodyOutcome == .broken { return connection.cut() }
            guard let said = refused(error, head, finding, start) else { return connection.cut() }
            answer = said
        }
        meter(finding).record(status: answer.status, from: start.time)
        await write(outgoing(answer, head, start), connection)
    }

    /// False where the request has to go the long way; then nothing has been done.
    private func respondBriefly(
        _ head: RequestHead, _ body: RequestBody, _ finding: RouteTable.Finding, _ start: Beginning, _ connection: Connection
    ) -> Bool {
        guard case .found(let entry, let values) = finding, let brief = entry.route.brief, let recognise,
            load.enter(most: limits.concurrentRequests)
        else { return false }
        let answer = BriefAnswer(connection) { result in
            load.leave()
            let answer: HTTPAnswer
            do {
                answer = try result.get()
            } catch {
                guard let said = refused(error, head, finding, start) else { return nil }
                answer = said
            }
            entry.meter.record(status: answer.status, from: start.time)
            return outgoing(answer, head, start)
        }
        do {
            let credentials = try Credentials.shown(by: head, method: head.method, for: entry.route.access, publicOrigin: publicOrigin)
            if let caller = try recognise(credentials, entry.route.access),
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
        _ head: RequestHead, _ body: RequestBody, _ entry: RouteTable.Entry, _ values: [Substring], _ caller: Caller, _ start: Beginning,
        _ connection: Connection
    ) throws(Problem) -> Exchange {
        Exchange(
            caller: caller, requestID: start.requestID, receivedAt: start.receivedAt,
            mediaType: try Self.mediaType(head, entry.route.body), shape: entry.route.body, head: head, requestBody: body,
            bodyDeadline: start.time + limits.bodyArrival, limits: limits, names: entry.parameterNames, values: values,
            publicOrigin: publicOrigin, peerAddress: connection.peerAddress,
            proof: Proof(access: entry.route.access, authenticate: authenticate))
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

    private func prove(_ head: RequestHead, _ access: Access) async throws -> Caller {
        try await Proof(access: access, authenticate: authenticate).caller(of: head, publicOrigin: publicOrigin)
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

// MARK: Refusing

extension Responder {
    /// Nil where not even that can be said.
    private func refused(_ error: any Error, _ head: RequestHead, _ finding: RouteTable.Finding, _ start: Beginning) -> HTTPAnswer? {
        let refusal = refusal(of: error, requestID: start.requestID)
        note(refusal.problem, head: head, finding: finding, requestID: start.requestID)
        return try? HTTPAnswer.refusal(refusal, requestID: start.requestID, asPage: finding.hasPages ? head : nil)
    }

    private func refusal(of error: any Error, requestID: String) -> Refusal {
        switch error {
        case let refusal as Refusal: refusal
        case let problem as Problem: Refusal(problem)
        case is CancellationError: Refusal(.unavailable, retryAfter: .seconds(1))
        default: failure(error, requestID)
        }
    }

    /// The error's text stays here: it may hold what was sent. The log gets its type.
    private func failure(_ error: any Error, _ requestID: String) -> Refusal {
        logger.error(
            "a handler failed", metadata: ["requestId": .string(requestID), "error": .string(String(reflecting: type(of: error)))])
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
    func refusal(_ problem: Problem) -> OutgoingAnswer? {
        let requestID = RequestID.next()
        unrouted.record(status: problem.status, from: .now)
        return (try? HTTPAnswer.refusal(Refusal(problem), requestID: requestID)).map {
            OutgoingAnswer(answer: $0, isHead: false, requestID: requestID, receivedAt: .now())
        }
    }
}
