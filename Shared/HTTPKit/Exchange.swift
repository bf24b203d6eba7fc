// One request on its way through a handler: who asks, what the path and query say, how to get the body.

package import Contracts
import NIOHTTP1
import Synchronization

/// What a handler is given. It holds nothing of the answer: that is the handler's return value.
package final class Exchange: Sendable {
    /// Proved for the route's access; `anyone` where it asks for nobody.
    package let caller: Caller
    /// The caller's `X-Request-Id` where that was well formed, else one of ours; also in the answer and in logs.
    package let requestID: String
    /// The service's clock when the request's head had been read.
    package let receivedAt: Timestamp
    /// The body's media type in lower case, one of the route's; nil where the route reads no body.
    package let mediaType: String?
    /// What the route says of its body.
    package let shape: BodyShape?
    /// Where browsers find the suite, `https://host:port`, for links and cookies; nil where nobody told the server.
    package var publicOrigin: String? { server.publicOrigin }
    var limits: HTTPLimits { server.limits }

    /// Of the socket's other end, without its port; behind the edge that is the edge.
    package let peerAddress: String

    private let proof: Proof
    let server: ServerState
    /// What the request holds of its caller's budget; nil for brief handlers, who hold nothing for long.
    let permit: BudgetPermit?
    /// Where its task runs.
    let executor: MeteredExecutor?
    let head: RequestHead
    let requestBody: RequestBody
    /// Whether the body has been held against the route's schema and fits.
    let isFit: Bool
    /// When the head had been read.
    let beganAt: ContinuousClock.Instant
    private let names: [String]
    private let values: [Substring]
    private let bodyState = Mutex(BodyState.unread)

    enum BodyState {
        case unread
        case reading
        case ended
        /// The connection broke or said nonsense: no answer can be sent.
        case broken
    }

    init(
        caller: Caller, requestID: String, receivedAt: Timestamp, mediaType: String?, shape: BodyShape?, head: RequestHead,
        requestBody: RequestBody, isFit: Bool, beganAt: ContinuousClock.Instant, server: ServerState, permit: BudgetPermit?,
        executor: MeteredExecutor?, names: [String], values: [Substring], peerAddress: String, proof: Proof
    ) {
        (self.caller, self.requestID, self.receivedAt, self.mediaType) = (caller, requestID, receivedAt, mediaType)
        (self.shape, self.head, self.requestBody, self.isFit, self.beganAt) = (shape, head, requestBody, isFit, beganAt)
        (self.server, self.permit, self.executor) = (server, permit, executor)
        (self.names, self.values, self.peerAddress, self.proof) = (names, values, peerAddress, proof)
    }

    /// The same request with its caller proved once more by what it showed: a token that has ended or was withdrawn since proves nobody.
    /// For answers that go on for long, whose body has been read.
    /// - Throws: as the service's `authenticate`.
    package func provedAnew() async throws -> Exchange {
        Exchange(
            caller: try await proof.caller(of: head, publicOrigin: publicOrigin), requestID: requestID, receivedAt: receivedAt,
            mediaType: mediaType, shape: shape, head: head, requestBody: requestBody, isFit: isFit, beganAt: beganAt,
            server: server, permit: permit, executor: executor, names: names, values: values, peerAddress: peerAddress, proof: proof)
    }

    /// For what only some requests or callers of a route do that anybody may use who is logged in: refused as by a route of `access` where
    /// the proof is older than `Access.freshness`.
    /// - Throws: `insufficient-user-authentication`; else as the service's `authenticate`.
    package func requireFreshProof(as access: Access = .personAnew) async throws {
        _ = try await Proof(access: access, authenticate: proof.authenticate).caller(of: head, publicOrigin: publicOrigin)
    }

    func enterBody() {
        bodyState.withLock { state in
            precondition(state == .unread, "a body is read once")
            state = .reading
        }
    }

    func leaveBody(_ last: BodyState) {
        bodyState.withLock { $0 = last }
        permit?.endBody()
    }

    var bodyOutcome: BodyState {
        bodyState.withLock { $0 }
    }
}

// MARK: Path

extension Exchange {
    /// The text that stands for a parameter of the path, percent-decoded; empty where it cannot be decoded.
    package func path(_ name: String) -> String {
        guard let index = names.firstIndex(of: name) else { preconditionFailure("the route has no parameter \(name)") }
        return PercentCoding.decode(values[index]) ?? ""
    }

    /// An identifier in the path; what is none names nothing, so it is 404.
    package func identifier<Kind: Identified>(_ name: String, of kind: Kind.Type = Kind.self) throws(Problem) -> Identifier<Kind> {
        guard let read = Identifier<Kind>(path(name)) else { throw .notFound }
        return read
    }
}

// MARK: Query

extension Exchange {
    /// The first value of that name, percent-decoded (`+` is a plus); nil where it is absent. A broken escape is 400.
    package func query(_ name: String) throws(Problem) -> String? {
        try queryValues(name).first
    }

    /// All values of that name, in order.
    package func queryValues(_ name: String) throws(Problem) -> [String] {
        guard let query = head.query else { return [] }
        var found: [String] = []
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard pair[..<mark].elementsEqual(name.utf8) else { continue }
            let raw = mark == pair.endIndex ? "" : Substring(pair[pair.index(after: mark)...])
            guard let value = PercentCoding.decode(raw) else {
                throw .invalidParameter("query:\(name)", .brokenEscape)
            }
            found.append(value)
        }
        return found
    }

    /// Reads a parameter with `read`; nil from it is 400 and says `fault`.
    package func query<Value>(
        _ name: String, orElse fault: @autoclosure () -> FieldFault, _ read: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = try query(name) else { return nil }
        guard let value = read(text) else { throw .invalidParameter("query:\(name)", fault()) }
        return value
    }

    /// Nil where it was not sent.
    /// - Throws: `invalid-parameter`, which names the range.
    package func queryInteger(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        try query(name, orElse: .outOfRange(range)) { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// RFC 3339; nil where it was not sent.
    /// - Throws: `invalid-parameter`.
    package func queryTime(_ name: String) throws(Problem) -> Timestamp? {
        try query(name, orElse: .notATime) { Timestamp(rfc3339: $0) }
    }

    /// Nil where it was not sent.
    /// - Throws: `invalid-parameter`.
    package func queryIdentifier<Kind: Identified>(_ name: String, of kind: Kind.Type = Kind.self) throws(Problem) -> Identifier<Kind>? {
        try query(name, orElse: .notAnIdentifier(prefix: Kind.prefix)) { Identifier<Kind>($0) }
    }

    /// `true` or `false`; nil where it was not sent.
    /// - Throws: `invalid-parameter`.
    package func queryFlag(_ name: String) throws(Problem) -> Bool? {
        try query(name, orElse: .wrongType(.flag)) { ["true": true, "false": false][$0] }
    }

    /// Nil where it was not sent.
    /// - Throws: `invalid-parameter`, which names the choices.
    package func queryChoice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, of kind: Choice.Type = Choice.self
    ) throws(Problem) -> Choice? where Choice.RawValue == String {
        try query(name, orElse: .notAnOption(Choice.allCases.map(\.rawValue))) { Choice(rawValue: $0) }
    }

    /// `limit` of a list.
    package var pageLimit: Int {
        get throws(Problem) { try queryInteger("limit", in: 1...PageLimits.most) ?? PageLimits.usual }
    }

    /// `after` of a list, for `read` to make sense of.
    package func cursor<Value>(_ read: (String) -> Value?) throws(Problem) -> Value? {
        try query("after", orElse: .notACursor) { $0.utf8.count <= PageLimits.cursor ? read($0) : nil }
    }

    /// Any value that is required: `try exchange.required("from", exchange.queryTime("from"))`.
    package func required<Value>(_ name: String, _ value: Value?) throws(Problem) -> Value {
        guard let value else { throw .invalidParameter("query:\(name)", .required) }
        return value
    }
}

// MARK: Headers

extension Exchange {
    /// `Idempotency-Key`, 1 to 255 printable ASCII characters; another one is 400.
    package var idempotencyKey: String? {
        get throws(Problem) {
            guard let key = head.idempotencyKey else { return nil }
            guard IdempotencyRule.isKey(key) else {
                throw .invalidParameter("header:Idempotency-Key", .notAnIdempotencyKey)
            }
            return key
        }
    }

    /// The value of a header, its name in any case; several of one name are joined by commas. nil where there is none.
    package func header(_ name: String) -> String? {
        let values = head.fields[name]
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Chooses among the media types that the operation can answer with by `Accept`; 406 where none is acceptable.
    package func preferred(of offered: [String]) throws(Problem) -> String {
        guard let chosen = MediaType.preferred(of: offered, accept: head.accept) else { throw .notAcceptable(offered: offered) }
        return chosen
    }
}
