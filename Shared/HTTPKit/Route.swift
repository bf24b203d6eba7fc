// One way into a service as one value: the router, the OpenAPI document and the authorisation matrix are made from it.

import Contracts

/// Who may come in by a route. There is no default: whoever writes a route decides.
package enum Access: String, Sendable, CaseIterable {
    /// No credentials are asked for, and none are looked at.
    case anyone
    /// A person's device, by its Bearer token.
    case device
    /// Software of an organisation that works with the suite, by its Bearer token.
    case integrator
    /// Whoever has an account of their own, logged in.
    case person
    /// Who works for an organisation, logged in.
    case member
    /// Who runs the suite, logged in.
    case `operator`
    /// Any of these three.
    case account
    /// Any of these three, also with a token that is good for choosing a new password and nothing else.
    case passwordChange = "account choosing a password"
    /// A person who has proved lately who they are; see `freshness`.
    case personAnew = "person, authenticated lately"
    /// Any account that has.
    case accountAnew = "account, authenticated lately"
    /// Any account that has, also with a token that is good for enrolling a second factor and nothing else.
    case enrolment = "account enrolling a second factor, authenticated lately"
    /// A person, logged in, or one of the person's devices, by its own token.
    case owner
    /// Who works for an organisation, logged in, or the organisation's own software, by the token of its API client.
    case organisation

    /// Whether accounts come in here, so that a browser's cookie counts.
    package var admitsAccounts: Bool {
        switch self {
        case .anyone, .device, .integrator: false
        case .person, .member, .operator, .account, .passwordChange, .personAnew, .accountAnew, .enrolment, .owner, .organisation: true
        }
    }

    /// How long ago, at most, whoever comes in by a route of those that ask for it has shown password or second factor: a token that was
    /// stolen, or a browser left open, must not be enough.
    package static let freshness = Duration.seconds(300)

    /// Whether a token whose `auth_time` is older than `freshness` is refused.
    package var asksForFreshness: Bool {
        switch self {
        case .personAnew, .accountAnew, .enrolment: true
        case .anyone, .device, .integrator, .person, .member, .operator, .account, .passwordChange, .owner, .organisation: false
        }
    }
}

/// Method and path are unique in a service: two of the same stop it at its start.
package struct Route: Sendable {
    /// HEAD comes with `get`; any other method is 405.
    package enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// Throws `Problem` or `Refusal` to refuse; any other error is 500 `internal`. It goes on when the caller is gone, unless it streams;
    /// the end of `HTTPLimits.drain` cancels it.
    package typealias Handler = @Sendable (Exchange) async throws -> HTTPAnswer

    package let method: Method
    /// Whole segments in braces are parameters: `/ingest/v1/devices/{device}`.
    package let path: String
    package let access: Access
    /// What `access` is not enough for: the client of an organisation needs all of these scopes as well. Described only: the handler asks
    /// for them.
    package let scopes: [String]
    /// Of the OpenAPI document: what a client's method is called. Unique in a service.
    package let operationID: String
    /// One line for the OpenAPI document.
    package let summary: String
    /// CommonMark for the OpenAPI document; empty for none.
    package let description: String
    /// Described only: the handler reads and checks them. Those of the path need not be named here.
    package let parameters: [Parameter]
    /// What the request carries; nil for a route that reads no body.
    package let body: BodyShape?
    package let answers: [Answer]
    /// What any answer may send besides, refusals included; described only. What HTTPKit sends by itself need not be named.
    package let headers: [AnswerHeader]
    /// Whether the service limits how often a caller comes; 429 is then documented.
    package let isRateLimited: Bool
    /// Whether the service honours `Idempotency-Key`; the header and its conflicts are then documented.
    package let takesIdempotencyKey: Bool
    /// For the machine's own supervisor; the edge does not route it.
    package let isInternal: Bool
    /// Whether it may use the server's reserve (`HTTPLimits.reserve`) when everything else is full: uploads of devices, acknowledgements of
    /// integrators, answers to the prompt, and nothing else. Counts for callers who are proved.
    package let usesReserve: Bool
    /// When it gives way to others in a server that has too much to do.
    package let yields: Yielding
    /// Tried first; see `BriefHandler`.
    package let brief: BriefHandler?
    package let handler: Handler

    /// - Parameters:
    ///   - name: the operation's, where `OperationName` makes no good one.
    ///   - answers: those of success and the service's own problems. HTTPKit documents by itself what it answers by itself.
    package init(
        _ method: Method, _ path: String, as name: String? = nil, access: Access, scopes: [String] = [], summary: String,
        description: String = "", parameters: [Parameter] = [],
        body: BodyShape? = nil, answers: [Answer], headers: [AnswerHeader] = [], isRateLimited: Bool = false,
        takesIdempotencyKey: Bool = false, isInternal: Bool = false, usesReserve: Bool = false, yields: Yielding = .last,
        brief: BriefHandler? = nil, handler: @escaping Handler
    ) {
        (self.method, self.path, self.access, self.scopes) = (method, path, access, scopes)
        (operationID, self.summary, self.description) = (name ?? OperationName.derived(method, path), summary, description)
        (self.parameters, self.body, self.answers, self.headers) = (parameters, body, answers, headers)
        (self.isRateLimited, self.takesIdempotencyKey, self.isInternal) = (isRateLimited, takesIdempotencyKey, isInternal)
        (self.usesReserve, self.yields, self.brief, self.handler) = (usesReserve, yields, brief, handler)
    }
}

/// A value beside the body.
package struct Parameter: Sendable {
    package enum Place: String, Sendable {
        case query
        case path
        case header
    }

    package let name: String
    package let place: Place
    /// Described only: the handler reads the value and refuses what does not fit.
    package let schema: JSONSchema
    /// Described only: the handler reads it as required or optional.
    package let isRequired: Bool
    package let description: String

    /// Optional unless told; read it with `Exchange.query`.
    package static func query(_ name: String, _ schema: JSONSchema, required: Bool = false, _ description: String) -> Parameter {
        Parameter(name: name, place: .query, schema: schema, isRequired: required, description: description)
    }

    /// Always required, as OpenAPI wants it.
    package static func path(_ name: String, _ schema: JSONSchema, _ description: String) -> Parameter {
        Parameter(name: name, place: .path, schema: schema, isRequired: true, description: description)
    }

    /// Optional unless told; read it with `Exchange.header`.
    package static func header(_ name: String, _ schema: JSONSchema, required: Bool = false, _ description: String) -> Parameter {
        Parameter(name: name, place: .header, schema: schema, isRequired: required, description: description)
    }

    /// `limit` of every list, 1 to 1000; read it with `Exchange.pageLimit`.
    package static let limit = query("limit", .integer(in: 1...PageLimits.most), "How many items at most; \(PageLimits.usual) unless told.")
    /// `after` of every list.
    package static let after = query("after", .string(length: 1...PageLimits.cursor), "The `next` of the page before.")
}

/// Bounds of every list over HTTP.
package enum PageLimits {
    /// What a page holds at most.
    package static let most = 1000
    /// Where the caller names no limit.
    package static let usual = 100
    /// Characters of a cursor.
    package static let cursor = 512
}

/// What a request's body may be. Another content type is 415, a larger body is 413.
package struct BodyShape: Sendable {
    package struct Content: Sendable {
        /// In lower case; of a request's body without parameters.
        package let mediaType: String
        /// What `Exchange.json` holds the body against; for other readers it describes only.
        package let schema: JSONSchema
        /// What is read into or written from; tests hold it against the schema. Nil where a reader or writer of the service's own does it.
        package let type: (any (Decodable & Sendable).Type)?
        /// Values that fit the schema, for the OpenAPI document alone.
        package let examples: [JSONValue]

        package init(
            _ mediaType: String, _ schema: JSONSchema, of type: (any (Decodable & Sendable).Type)? = nil, examples: [JSONValue] = []
        ) {
            (self.mediaType, self.schema, self.type, self.examples) = (mediaType.lowercased(), schema, type, examples)
        }
    }

    package static let mebibyte = 1 << 20

    package let contents: [Content]
    /// Bytes as they come over the wire.
    package let limit: Int
    /// Bytes after inflating a `gzip` or `deflate` body.
    package let inflatedLimit: Int
    /// Whether what does not fit the schema is refused, members that it does not name included: by `Exchange.json`, `Exchange.form`, or a
    /// `FormReader` that knows the same fields.
    let isChecked: Bool
    /// Of a body that is read with `Exchange.json` and in no other way; nil for all else.
    private(set) var decodedSchema: JSONSchema?

    /// For bodies of other forms than `json` and `form`. Limits are in bytes.
    package init(_ contents: [Content], limit: Int = mebibyte, inflatedLimit: Int = mebibyte, isChecked: Bool = false) {
        (self.contents, self.limit, self.inflatedLimit, self.isChecked) = (contents, limit, inflatedLimit, isChecked)
    }

    /// Read it with `Exchange.json`, as this type.
    package static func json<Body: Documented & Decodable & Sendable>(
        _: Body.Type, examples: [JSONValue] = [], limit: Int = mebibyte, inflatedLimit: Int = mebibyte
    ) -> BodyShape {
        let content = Content(MediaType.json, Body.schema, of: Body.self, examples: examples)
        var shape = BodyShape([content], limit: limit, inflatedLimit: inflatedLimit, isChecked: true)
        shape.decodedSchema = Body.schema
        return shape
    }

    /// What a page's form sends; read it with `Exchange.form`.
    package static func form(_ schema: JSONSchema) -> BodyShape {
        BodyShape([Content(MediaType.form, schema)], limit: 1 << 16, inflatedLimit: 1 << 16, isChecked: true)
    }
}

/// What may come back.
package struct Answer: Sendable {
    package let status: Int
    /// CommonMark; those of several answers with one status are joined.
    package let description: String
    /// One per media type; none for an answer without a body.
    package let contents: [BodyShape.Content]
    /// Described only: the handler sends them.
    package private(set) var headers: [AnswerHeader] = []

    package init(_ status: Int, _ description: String, contents: [BodyShape.Content] = []) {
        (self.status, self.description, self.contents) = (status, description, contents)
    }

    /// The same answer, which sends these headers besides; what HTTPKit sends by itself need not be named.
    package func sending(_ headers: AnswerHeader...) -> Answer {
        var copy = self
        copy.headers += headers
        return copy
    }

    /// A value of this type, sent with `HTTPAnswer.json`.
    package static func json<Body: Documented & Decodable & Sendable>(
        _ status: Int, _ description: String, _: Body.Type, example: JSONValue? = nil
    ) -> Answer {
        .json(status, description, Body.schema, of: Body.self, example: example)
    }

    /// JSON that the service writes by hand, or whose schema is not the type's own.
    package static func json(
        _ status: Int, _ description: String, _ schema: JSONSchema, of type: (any (Decodable & Sendable).Type)? = nil,
        example: JSONValue? = nil
    ) -> Answer {
        Answer(status, description, contents: [.init(MediaType.json, schema, of: type, examples: example.map { [$0] } ?? [])])
    }

    /// A page for people, made with `HTTPAnswer.page`. A route with one refuses as a page too where the caller likes that better.
    package static func page(_ status: Int, _ description: String) -> Answer {
        Answer(status, description, contents: [.init(MediaType.html, .string())])
    }

    /// Events for as long as the caller listens, of `Route.events`.
    static func events(_ description: String) -> Answer {
        let event = JSONSchema.object(
            .optional("id", .string()), .optional("event", .string()), .optional("data", .string(), "JSON, as the description says."))
        return Answer(200, description, contents: [.init(MediaType.events, event.described("Each event."))])
    }

    /// A refusal of the service's own, by the names of its problems.
    package static func problem(_ status: Int, _ names: String...) -> Answer {
        let content = BodyShape.Content(MediaType.problem, Problem.schema, of: Problem.self)
        return Answer(status, names.map { "`\($0)`" }.joined(separator: ", "), contents: [content])
    }
}
