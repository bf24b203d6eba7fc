// One request from its head to its answer. The hot path: no middleware, no task of its own, no dictionary.

import Contracts
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

struct Responder: Sendable {
    let table: RouteTable
    let limits: HTTPLimits
    let authenticate: Authenticate
    let load: ServerLoad
    let logger: Logger
    private let unrouted = RouteMeter(path: "none", method: "none")
    private let healthPaths: Set<Substring> = ["/health/live", "/health/ready", "/metrics"]

    init(table: RouteTable, limits: HTTPLimits, authenticate: @escaping Authenticate, load: ServerLoad, logger: Logger) {
        (self.table, self.limits, self.authenticate, self.load, self.logger) = (table, limits, authenticate, load, logger)
    }

    func respond(_ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
        let start = ContinuousClock.now
        let receivedAt = Timestamp.now()
        let head = RequestHead(request.head)
        let requestID = head.requestID ?? RequestID.next()
        let hasRoom = load.enter(most: limits.concurrentRequests)
        defer { if hasRoom { load.leave() } }
        if head.expectsContinue { try await writer.writeInformationalHead(HTTPResponse(status: .continue)) }

        let finding = table.find(method: request.method.rawValue, path: head.path)
        var exchange: Exchange?
        let answer: HTTPAnswer
        do {
            guard hasRoom || healthPaths.contains(head.path) else { throw Refusal(.unavailable, retryAfter: .seconds(1)) }
            let (entry, values) = try Self.entry(finding)
            let caller = try await prove(head, entry.route.access)
            let mediaType = try Self.mediaType(head, entry.route.body)
            let made = Exchange(
                caller: caller, requestID: requestID, receivedAt: receivedAt, mediaType: mediaType, shape: entry.route.body, head: head,
                fields: request.headers, requestBody: request.body, bodyDeadline: start + limits.bodyArrival, names: entry.parameterNames,
                values: values)
            exchange = made
            answer = try await entry.route.handler(made)
        } catch {
            if exchange?.bodyOutcome == .broken { throw error }
            let refusal = refusal(of: error, requestID: requestID)
            note(refusal.problem, head: head, finding: finding, requestID: requestID)
            answer = try HTTPAnswer.refusal(refusal, requestID: requestID)
        }
        let closes = load.isDraining || leavesTooMuch(head, exchange)
        try await write(answer, request.method == .head, requestID, receivedAt, closes: closes, writer)
        meter(finding).record(status: answer.status, from: start)
        if closes, !load.isDraining { lingerThenClose(channel) }
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
        guard access != .anyone else { return .anyone }
        guard let header = head.authorization, let credentials = Credentials(authorization: header) else { throw Problem.unauthorised }
        return try await authenticate(credentials, access)
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
    private func write(
        _ answer: HTTPAnswer, _ isHead: Bool, _ requestID: String, _ receivedAt: Timestamp, closes: Bool, _ writer: consuming ResponseWriter
    ) async throws {
        var response = HTTPResponse(status: .init(code: answer.status), headerFields: answer.headers)
        if !answer.headers.contains(.cacheControl) { response.headerFields.append(HTTPField(name: .cacheControl, value: "no-store")) }
        if let type = answer.contentType { response.headerFields.append(HTTPField(name: .contentType, value: type)) }
        response.headerFields.append(HTTPField(name: .xContentTypeOptions, value: "nosniff"))
        response.headerFields.append(HTTPField(name: .date, value: AnswerDate.text(at: receivedAt)))
        response.headerFields.append(HTTPField(name: .requestID, value: requestID))
        if closes { response.headerFields.append(HTTPField(name: .connection, value: "close")) }
        switch answer.body {
        case .whole(let bytes):
            response.headerFields.append(HTTPField(name: .contentLength, value: String(bytes.readableBytes)))
            try await writer.write(response: response, body: isHead ? ResponseBody() : ResponseBody(byteBuffer: bytes))
        case .empty:
            if answer.status != 204, answer.status != 304 { response.headerFields.append(HTTPField(name: .contentLength, value: "0")) }
            try await writer.writeResponse(response)
        case .stream(let write):
            guard !isHead else { return try await writer.writeResponse(response) }
            let body = ResponseBody { base in
                var stream = StreamWriter(base: base)
                try await write(&stream)
                try await base.finish(nil)
            }
            do {
                try await writer.write(response: response, body: body)
            } catch {
                logger.debug("a stream was cut", metadata: ["requestId": .string(requestID)])
                throw error
            }
        }
    }

    /// Whether more of the body is still to come than it is worth reading away.
    private func leavesTooMuch(_ head: RequestHead, _ exchange: Exchange?) -> Bool {
        guard head.hasBody, exchange?.bodyOutcome != .ended else { return false }
        return head.isChunked || (head.contentLength ?? 0) > limits.discardedBody
    }

    /// Gives the sender time to read the answer; what it still sends meanwhile is read away.
    private func lingerThenClose(_ channel: any Channel) {
        channel.eventLoop.scheduleTask(in: .init(limits.linger)) { channel.close(promise: nil) }
    }
}
