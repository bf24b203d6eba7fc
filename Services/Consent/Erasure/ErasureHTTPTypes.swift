// What erasures look like over HTTP.

import Contracts
import HTTPKit
import Sealing

struct ErasureRequestBody: Codable, Sendable, Documented {
    var scope: ErasureScope

    static let schema = JSONSchema.object(
        .required("scope", .oneOf(ErasureScope.allCases.map(\.rawValue)), "`data`: everything collected; `account`: everything.")
    ).named("ErasureWish")
}

/// What the dialogue shows before anything happens.
struct ErasureRequestAnswer: Codable, Sendable, Documented {
    var confirmation: String
    var scope: ErasureScope
    /// In the language of the request.
    var explanation: String
    var withinHours: Int
    var expiresAt: String

    static let schema = JSONSchema.object(
        .required("confirmation", .string(), "To be sent back with the password; nothing is erased without it."),
        .required("scope", .oneOf(ErasureScope.allCases.map(\.rawValue))),
        .required("explanation", .string(), "What will be erased and what ends, to be shown to the person."),
        .required("withinHours", .integer(in: 1...720)), .required("expiresAt", .time)
    ).named("ErasureWished")

    init(_ request: ErasureRequests.Request, hours: Int, language: Language) {
        (confirmation, scope, withinHours, expiresAt) = (request.confirmation, request.scope, hours, request.expiresAt.rfc3339)
        explanation =
            switch (request.scope, language) {
            case (.data, .italian):
                "Tutti i dati raccolti saranno cancellati per sempre; i consensi dati finiscono. L'account resta."
            case (.data, .english):
                "Everything that was collected is erased for ever; what you allowed others to see ends. The account stays."
            case (.account, .italian):
                "L'account finisce per tutti e tre i servizi: Data4Help, AutomatedSOS e Track4Run. Tutti i dati sono cancellati per sempre."
            case (.account, .english):
                "The account ends for all three services: Data4Help, AutomatedSOS and Track4Run. All data are erased for ever."
            }
    }
}

struct ErasureOrderBody: Codable, Sendable, Documented {
    var confirmation: String
    var password: String

    static let schema = JSONSchema.object(
        .required("confirmation", .string(length: 1...64)),
        .required("password", .string(length: 1...LogInBody.longestPassword, format: "password"))
    ).named("ErasureOrder")
}

struct ErasureOrderAnswer: Codable, Sendable, Documented {
    var erasure: ErasureID
    var scope: ErasureScope
    /// Works without a log-in, since there may be no account any more.
    var certificate: String

    static let schema = JSONSchema.object(
        .required("erasure", .identifier(Erasure.self)), .required("scope", .oneOf(ErasureScope.allCases.map(\.rawValue))),
        .required("certificate", .string(), "Address of the certificate; keep it: whoever has it can read it, and nobody else.")
    ).named("ErasureOrdered")
}

/// How far an erasure is.
struct ErasureItem: Codable, Sendable, Documented {
    var erasure: ErasureID
    var scope: ErasureScope
    var orderedAt: String
    var completedAt: String?
    /// Services that have not confirmed.
    var waitingFor: [String]
    /// Not within the hour.
    var overdue: Bool
    /// A compact JWS; only for its person.
    var certificate: String?

    static let schema = JSONSchema.object(
        .required("erasure", .identifier(Erasure.self)), .required("scope", .oneOf(ErasureScope.allCases.map(\.rawValue))),
        .required("orderedAt", .time), .optional("completedAt", .time),
        .required("waitingFor", .array(of: .string()), "Services that have not confirmed."), .required("overdue", .boolean),
        .optional(
            "certificate", .string(),
            "Once it is completed: compact JWS (RFC 7515) with EdDSA, which names every store. `/consent/v1/erasure-keys` proves it.")
    ).named("Erasure")

    init(_ row: ErasureRow, withCertificate: Bool, at now: Timestamp) {
        (erasure, scope, orderedAt) = (row.erased.erasure, row.erased.scope, row.erased.orderedAt.rfc3339)
        (completedAt, waitingFor) = (row.erased.completedAt?.rfc3339, row.erased.waitingFor.map(\.name))
        (overdue, certificate) = (row.erased.isOverdue(at: now), withCertificate ? row.certificate : nil)
    }
}

extension Problem {
    static let erasureNotConfirmed = Problem(
        "erasure-not-confirmed", status: 422, title: "The erasure was not confirmed", italianTitle: "La cancellazione non è confermata",
        detail: "Nothing was erased. The dialogue is too old or was another one: begin again.",
        italianDetail: "Nulla è stato cancellato. La richiesta di conferma è scaduta o era un'altra: ricominci.",
        errors: [.init(pointer: "/confirmation", .otherConfirmation)])

    static let erasureWrongPassword = Problem(
        "erasure-wrong-password", status: 422, title: "The password is wrong", italianTitle: "La password non è giusta",
        detail: "Nothing was erased. Type the password again.", italianDetail: "Nulla è stato cancellato. Scriva di nuovo la password.",
        errors: [.init(pointer: "/password", .wrongPassword)])

    static let erasureUnderWay = Problem(
        "erasure-under-way", status: 409, title: "An erasure is under way already", italianTitle: "Una cancellazione è già in corso",
        detail: "It was ordered before and is being carried out; its certificate is coming by mail.",
        italianDetail: "È stata ordinata prima e si sta eseguendo; il certificato arriverà per e-mail.")
}
