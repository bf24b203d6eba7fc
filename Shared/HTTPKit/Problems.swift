// The refusals that HTTPKit itself gives. Services add their own, as one enum per service.

package import Contracts

extension Problem {
    /// For a token that is missing, malformed, unknown, expired or withdrawn alike: which of these is not told.
    package static let unauthorised = Problem(
        "unauthorised", status: 401, title: "Who is asking is not known",
        detail: "Send `Authorization: Bearer` with a valid token of this suite.")

    /// For a caller of the right kind who lacks the right.
    package static let forbidden = Problem(
        "forbidden", status: 403, title: "This caller may not do that", detail: "The token is valid, but not for this operation.")

    /// ACC-14: the functions of another kind of account.
    package static let notForThisAccount = Problem(
        "not-for-this-account", status: 403, title: "Not available for this account",
        detail: "This belongs to another kind of account; log in with such a one.")

    /// ACC-08: what a temporary password is good for.
    package static let passwordChangeRequired = Problem(
        "password-change-required", status: 403, title: "A new password must be chosen first",
        detail: "The password was a temporary one. Choose your own; then everything is open.")

    /// What an operator's or member's first log-in is good for.
    package static let secondFactorRequired = Problem(
        "second-factor-required", status: 403, title: "A second factor must be enrolled first",
        detail: "Ask POST /consent/v1/second-factor for a secret, and confirm it with a code; then everything is open.")

    /// RFC 9470: the token is good, but whoever holds it proved too long ago who they are.
    package static let insufficientUserAuthentication = Problem(
        "insufficient-user-authentication", status: 401, title: "Prove once more who you are",
        detail: "Send password or code to POST /consent/v1/sessions/current/authentication, and ask again with the token of the answer.")

    static let wrongOrigin = Problem(
        "wrong-origin", status: 403, title: "The request does not come from the suite's own pages",
        detail: "With a cookie, `Origin` must be the suite's address. Programs send `Authorization: Bearer` instead.",
        errors: [.init(pointer: "header:Origin", detail: "not the suite's own address")])

    /// What `Exchange.json` and `Exchange.form` refuse; further checks of the service's own may use it too.
    package static func invalidBody(_ errors: [Problem.FieldError]) -> Problem {
        Problem(
            "invalid-body", status: 422, title: "The body does not have the right form",
            detail: "Correct the named fields and send it again.",
            errors: errors)
    }

    /// For what does not exist and for what is somebody else's.
    package static let notFound = Problem(
        "not-found", status: 404, title: "There is no such thing here", detail: "Check the path; the API is described in openapi.json.")

    static let methodNotAllowed = Problem(
        "method-not-allowed", status: 405, title: "The path does not take this method", detail: "The header `Allow` names those it takes.")

    static func notAcceptable(offered: [String]) -> Problem {
        Problem(
            "not-acceptable", status: 406, title: "No form of the answer is acceptable to the caller",
            detail: "Ask with an `Accept` that includes one of \(offered.joined(separator: ", ")).")
    }

    static let requestTimeout = Problem(
        "request-timeout", status: 408, title: "The body did not arrive in time", detail: "Send it faster, or in smaller parts.")

    static func bodyTooLarge(limit: Int, inflated: Bool) -> Problem {
        Problem(
            "body-too-large", status: 413, title: "The body is too large",
            detail: "At most \(limit) bytes \(inflated ? "after inflating" : "as sent"); send it in smaller parts.")
    }

    static func unsupportedMediaType(_ types: [String]) -> Problem {
        Problem(
            "unsupported-media-type", status: 415, title: "The body's type is not understood",
            detail: "Send `Content-Type: " + types.joined(separator: "` or `") + "`.",
            errors: [.init(pointer: "header:Content-Type", detail: "not one of those that this operation reads")])
    }

    static let unsupportedEncoding = Problem(
        "unsupported-encoding", status: 415, title: "The body's encoding is not understood",
        detail: "Send it plain, or with `Content-Encoding: gzip` or `deflate`.",
        errors: [.init(pointer: "header:Content-Encoding", detail: "not gzip, deflate or identity")])

    static let badEncoding = Problem(
        "bad-encoding", status: 400, title: "The body cannot be inflated",
        detail: "It is damaged, cut off, or not what Content-Encoding says. Compress and send it again.")

    /// `pointer` is `query:name` or `header:name`; `detail` says what is expected, never what was sent.
    package static func invalidParameter(_ pointer: String, _ detail: String) -> Problem {
        Problem(
            "invalid-parameter", status: 400, title: "A parameter cannot be understood", detail: "Correct the named parameter.",
            errors: [.init(pointer: pointer, detail: detail)])
    }

    static let malformedRequest = Problem(
        "malformed-request", status: 400, title: "That is no request of HTTP/1.1",
        detail: "Check what the client sends; the connection is closed.")

    static func headTooLarge(_ limits: HTTPLimits) -> Problem {
        Problem(
            "head-too-large", status: 431, title: "The request's head is too large",
            detail: "At most \(limits.headerFields) header fields of \(limits.headerBytes) bytes together.")
    }

    /// Answered with `Retry-After` through `Refusal`.
    package static let tooManyRequests = Problem(
        "too-many-requests", status: 429, title: "Too many requests", detail: "Wait as long as `Retry-After` says.")

    /// See `IdempotencyVerdict.conflict`.
    package static let idempotencyConflict = Problem(
        "idempotency-conflict", status: 422, title: "The idempotency key was used for another request",
        detail: "Use a new key for a new request.",
        errors: [.init(pointer: "header:Idempotency-Key", detail: "used within 24 hours with another body")])

    /// For every error that is no problem, refusal or cancellation; what it was stays in the log, by its type alone.
    package static let `internal` = Problem(
        "internal", status: 500, title: "The service failed",
        detail: "It is not the request's fault; quote requestId to whoever runs the suite.")

    /// Full, starting, stopping: answered with `Retry-After` through `Refusal`.
    package static let unavailable = Problem(
        "unavailable", status: 503, title: "The service cannot take this now", detail: "Try again after as long as `Retry-After` says.")

    /// The disk is full.
    package static let insufficientStorage = Problem(
        "insufficient-storage", status: 507, title: "There is no room to store it",
        detail: "Nothing was stored; whoever runs the suite must make room. Keep what you sent and try later.")
}
