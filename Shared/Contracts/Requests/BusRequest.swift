// Questions on the bus: an imperative, one server, always an answer, always a deadline.

/// A question's type names who answers it, who may ask, and whether asking changes something. Coded as the envelope's `body`.
package protocol BusRequest: Codable, Sendable {
    associatedtype Reply: Codable & Sendable
    /// The imperative on the wire, kebab-case, unique per owner.
    static var method: String { get }
    static var owner: Peer { get }
    static var clients: Set<Peer> { get }
    /// Whether a repeated id must get the first answer again.
    static var mutates: Bool { get }
}

/// The envelope of a question. `id` is the client's: 128 random bits in hex; a retry repeats it.
package struct RequestEnvelope<Body: Codable & Sendable>: Codable, Sendable {
    /// Version of the envelope; another one is `invalid`.
    package var v = 1
    package var id: String
    package var method: String
    /// After this instant the client no longer listens and the server need not begin.
    package var deadline: Timestamp
    /// Follows one piece of work through services, streams and logs; may be empty.
    package var trace: String
    package var body: Body

    package init(id: String, method: String, deadline: Timestamp, trace: String, body: Body) {
        (self.id, self.method, self.deadline, self.trace, self.body) = (id, method, deadline, trace, body)
    }
}

/// The envelope of an answer: exactly one of `ok` and `failure`.
package struct ReplyEnvelope<Body: Codable & Sendable>: Codable, Sendable {
    package var v = 1
    /// The question's.
    package var id: String
    package var ok: Body?
    package var failure: Failure?

    package init(id: String, ok: Body) {
        (self.id, self.ok) = (id, ok)
    }

    package init(id: String, failure: Failure) {
        (self.id, self.failure) = (id, failure)
    }
}

/// Why a question was not granted. The codes are a closed list; the reason says what to do and never holds personal data.
package struct Failure: Error, Hashable, Codable, Sendable {
    package enum Code: String, Codable, Sendable {
        /// The question cannot be read or a value is out of range.
        case invalid
        /// The thing asked about does not exist, or not for this client.
        case notFound = "not-found"
        /// It contradicts what is already so; asking again will not help.
        case conflict
        /// This peer may not ask this.
        case forbidden
        /// No such method here.
        case unknownMethod = "unknown-method"
        /// Full, starting, stopping or out of disk: the same question later may succeed.
        case unavailable
        /// The deadline passed before there was an answer.
        case deadline
        /// A fault of the server; its log has the trace.
        case `internal`
    }

    package var code: Code
    /// For logs and operators, and for people where the service says so; never personal.
    package var reason: String

    package init(_ code: Code, _ reason: String) {
        (self.code, self.reason) = (code, reason)
    }

    /// Whether asking again later may succeed.
    package var isRetriable: Bool {
        code == .unavailable || code == .deadline
    }
}

/// The answer of a request that has nothing to tell.
package struct Nothing: Codable, Sendable {
    package init() {}
}
