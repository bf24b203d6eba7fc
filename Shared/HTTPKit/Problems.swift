// The refusals that HTTPKit itself gives. Services add their own, as one enum per service.

package import Contracts

extension Problem {
    /// For a token that is missing, malformed, unknown, expired or withdrawn alike: which of these is not told.
    package static let unauthorised = Problem(
        "unauthorised", status: 401, title: "Who is asking is not known", italianTitle: "Non si sa chi chiede",
        detail: "Send `Authorization: Bearer` with a valid token of this suite.",
        italianDetail: "Invii `Authorization: Bearer` con un token valido di questa suite.")

    /// For a caller of the right kind who lacks the right.
    package static let forbidden = Problem(
        "forbidden", status: 403, title: "This caller may not do that", italianTitle: "Chi chiede non può farlo",
        detail: "The token is valid, but not for this operation.",
        italianDetail: "Il token è valido, ma non per questa operazione.")

    /// ACC-14: the functions of another kind of account.
    package static let notForThisAccount = Problem(
        "not-for-this-account", status: 403, title: "Not available for this account",
        italianTitle: "Non disponibile per questo account",
        detail: "This belongs to another kind of account; log in with such a one.",
        italianDetail: "È di un altro tipo di account: acceda con uno di quelli.")

    /// ACC-08: what a temporary password is good for.
    package static let passwordChangeRequired = Problem(
        "password-change-required", status: 403, title: "A new password must be chosen first",
        italianTitle: "Prima va scelta una nuova password",
        detail: "The password was a temporary one. Choose your own; then everything is open.",
        italianDetail: "La password era temporanea. Ne scelga una sua; poi tutto è accessibile.")

    /// What an operator's or member's first log-in is good for.
    package static let secondFactorRequired = Problem(
        "second-factor-required", status: 403, title: "A second factor must be enrolled first",
        italianTitle: "Prima va attivato un secondo fattore",
        detail: "Ask POST /consent/v1/second-factor for a secret, and confirm it with a code; then everything is open.",
        italianDetail: """
            Chieda un segreto con POST /consent/v1/second-factor e lo confermi con un codice; poi tutto è accessibile.
            """)

    /// RFC 9470: the token is good, but whoever holds it proved too long ago who they are.
    package static let insufficientUserAuthentication = Problem(
        "insufficient-user-authentication", status: 401, title: "Prove once more who you are", italianTitle: "Dimostri di nuovo chi è",
        detail: "Send password or code to POST /consent/v1/sessions/current/authentication, and ask again with the token of the answer.",
        italianDetail: """
            Invii password o codice a POST /consent/v1/sessions/current/authentication e chieda di nuovo con il token della risposta.
            """)

    static let wrongOrigin = Problem(
        "wrong-origin", status: 403, title: "The request does not come from the suite's own pages",
        italianTitle: "La richiesta non viene dalle pagine di questa suite",
        detail: "With a cookie, `Origin` must be the suite's address. Programs send `Authorization: Bearer` instead.",
        italianDetail: "Con un cookie, `Origin` deve essere l'indirizzo della suite. I programmi inviano invece `Authorization: Bearer`.",
        errors: [.init(pointer: "header:Origin", .foreignOrigin)])

    /// What `Exchange.json` and `Exchange.form` refuse; further checks of the service's own may use it too.
    package static func invalidBody(_ errors: [Problem.FieldError]) -> Problem {
        Problem(
            "invalid-body", status: 422, title: "The body does not have the right form",
            italianTitle: "I dati inviati non hanno la forma giusta", detail: "Correct the named fields and send it again.",
            italianDetail: "Corregga i campi indicati e invii di nuovo.", errors: errors)
    }

    /// For what does not exist and for what is somebody else's.
    package static let notFound = Problem(
        "not-found", status: 404, title: "There is no such thing here", italianTitle: "Qui non c'è nulla di simile",
        detail: "Check the path; the API is described in openapi.json.",
        italianDetail: "Controlli il percorso; l'API è descritta in openapi.json.")

    static let methodNotAllowed = Problem(
        "method-not-allowed", status: 405, title: "The path does not take this method",
        italianTitle: "Il percorso non accetta questo metodo", detail: "The header `Allow` names those it takes.",
        italianDetail: "L'intestazione `Allow` elenca quelli accettati.")

    static func notAcceptable(offered: [String]) -> Problem {
        let list = offered.joined(separator: ", ")
        return Problem(
            "not-acceptable", status: 406, title: "No form of the answer is acceptable to the caller",
            italianTitle: "Nessuna forma della risposta è accettata da chi chiede",
            detail: "Ask with an `Accept` that includes one of \(list).",
            italianDetail: "Chieda con un `Accept` che contenga uno di \(list).")
    }

    static let requestTimeout = Problem(
        "request-timeout", status: 408, title: "The body did not arrive in time", italianTitle: "I dati non sono arrivati in tempo",
        detail: "Send it faster, or in smaller parts.", italianDetail: "Li invii più in fretta, o in parti più piccole.")

    static func bodyTooLarge(limit: Int, inflated: Bool) -> Problem {
        Problem(
            "body-too-large", status: 413, title: "The body is too large", italianTitle: "I dati inviati sono troppi",
            detail: "At most \(limit) bytes \(inflated ? "after inflating" : "as sent"); send it in smaller parts.",
            italianDetail:
                "Al massimo \(limit) byte \(inflated ? "dopo la decompressione" : "come inviati"); li invii in parti più piccole.")
    }

    static func unsupportedMediaType(_ types: [String]) -> Problem {
        let list = types.joined(separator: "` or `")
        return Problem(
            "unsupported-media-type", status: 415, title: "The body's type is not understood",
            italianTitle: "Il tipo dei dati inviati non è compreso", detail: "Send `Content-Type: " + list + "`.",
            italianDetail: "Invii `Content-Type: " + types.joined(separator: "` o `") + "`.",
            errors: [.init(pointer: "header:Content-Type", .mediaTypeNotRead)])
    }

    static let unsupportedEncoding = Problem(
        "unsupported-encoding", status: 415, title: "The body's encoding is not understood",
        italianTitle: "La codifica dei dati inviati non è compresa",
        detail: "Send it plain, or with `Content-Encoding: gzip` or `deflate`.",
        italianDetail: "Li invii senza codifica, o con `Content-Encoding: gzip` o `deflate`.",
        errors: [.init(pointer: "header:Content-Encoding", .encodingNotRead)])

    static let badEncoding = Problem(
        "bad-encoding", status: 400, title: "The body cannot be inflated", italianTitle: "I dati inviati non si possono decomprimere",
        detail: "It is damaged, cut off, or not what Content-Encoding says. Compress and send it again.",
        italianDetail: "Sono danneggiati, incompleti o non come dice Content-Encoding. Li comprima e li invii di nuovo.")

    /// `pointer` is `query:name` or `header:name`.
    package static func invalidParameter(_ pointer: String, _ fault: FieldFault) -> Problem {
        invalidParameters([.init(pointer: pointer, fault)])
    }

    package static func invalidParameters(_ errors: [Problem.FieldError]) -> Problem {
        Problem(
            "invalid-parameter", status: 400, title: "A parameter cannot be understood",
            italianTitle: "Un parametro non si può comprendere", detail: "Correct the named parameter.",
            italianDetail: "Corregga il parametro indicato.", errors: errors)
    }

    static let malformedRequest = Problem(
        "malformed-request", status: 400, title: "That is no request of HTTP/1.1", italianTitle: "Non è una richiesta HTTP/1.1",
        detail: "Check what the client sends; the connection is closed.",
        italianDetail: "Controlli che cosa invia il programma; la connessione viene chiusa.")

    static func headTooLarge(_ limits: HTTPLimits) -> Problem {
        Problem(
            "head-too-large", status: 431, title: "The request's head is too large",
            italianTitle: "L'intestazione della richiesta è troppo grande",
            detail: "At most \(limits.headerFields) header fields of \(limits.headerBytes) bytes together.",
            italianDetail: "Al massimo \(limits.headerFields) campi, di \(limits.headerBytes) byte in tutto.")
    }

    /// Answered with `Retry-After` through `Refusal`.
    package static let tooManyRequests = Problem(
        "too-many-requests", status: 429, title: "Too many requests", italianTitle: "Troppe richieste",
        detail: "Wait as long as `Retry-After` says.", italianDetail: "Attenda quanto dice `Retry-After`.")

    /// See `IdempotencyVerdict.conflict`.
    package static let idempotencyConflict = Problem(
        "idempotency-conflict", status: 422, title: "The idempotency key was used for another request",
        italianTitle: "La chiave di idempotenza è stata usata per un'altra richiesta", detail: "Use a new key for a new request.",
        italianDetail: "Usi una nuova chiave per una nuova richiesta.",
        errors: [.init(pointer: "header:Idempotency-Key", .keyUsedAgain)])

    /// For every error that is no problem, refusal or cancellation; what it was stays in the log, by its type alone.
    package static let `internal` = Problem(
        "internal", status: 500, title: "The service failed", italianTitle: "Il servizio ha avuto un errore",
        detail: "It is not the request's fault; quote requestId to whoever runs the suite.",
        italianDetail: "Non dipende dalla richiesta; comunichi requestId a chi gestisce la suite.")

    /// Full, starting, stopping: answered with `Retry-After` through `Refusal`.
    package static let unavailable = Problem(
        "unavailable", status: 503, title: "The service cannot take this now", italianTitle: "Il servizio ora non può accettarla",
        detail: "Try again after as long as `Retry-After` says.", italianDetail: "Riprovi dopo il tempo indicato da `Retry-After`.")

    /// The disk is full.
    package static let insufficientStorage = Problem(
        "insufficient-storage", status: 507, title: "There is no room to store it", italianTitle: "Non c'è spazio per salvarlo",
        detail: "Nothing was stored; whoever runs the suite must make room. Keep what you sent and try later.",
        italianDetail: "Nulla è stato salvato; chi gestisce la suite deve fare spazio. Conservi quanto inviato e riprovi più tardi.")
}
