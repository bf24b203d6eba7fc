// What the gateway says over HTTP of organisations: their registration, their profile, their end.

import Contracts
import HTTPKit

extension Exchange {
    /// Names the request in facts and messages.
    var trace: String { String(requestID.prefix(32)) }
}

/// Turns what the domain and the store refuse into what is said over HTTP.
enum OrganisationRefusal {
    static func answering<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let fault as OrganisationFormFault {
            throw fault.problem
        } catch let conflict as OrganisationConflict {
            throw conflict.problem
        }
    }
}

extension OrganisationFormFault {
    var problem: Problem {
        switch self {
        case .fields(let errors):
            Problem.invalidOrganisation.saying(
                "Nothing was stored. Fill in the named fields again; the others are right.",
                italian: "Nulla è stato salvato. Compili di nuovo i campi indicati; gli altri sono corretti.", errors: errors)
        case .conditionsNotAccepted(let errors):
            Problem.conditionsNotAccepted.saying(
                "Nothing was stored. Everything else is right: go back to the conditions and accept what is named.",
                italian: "Nulla è stato salvato. Il resto è corretto: torni alle condizioni e accetti quelle indicate.", errors: errors)
        case .fixed(let errors):
            Problem.fixedField.saying(
                "Nothing was changed. Leave the named fields out.", italian: "Nulla è stato cambiato. Tolga i campi indicati.",
                errors: errors)
        }
    }
}

extension OrganisationConflict {
    var problem: Problem {
        switch self {
        case .email:
            Problem.emailInUse.saying(
                "Another account uses this address. Give another one, or log in with it.",
                italian: "Un altro account usa questo indirizzo. Ne dia un altro, o acceda con quello.",
                errors: [.init(pointer: "/email", .taken)])
        case .businessName:
            Problem.businessNameInUse.saying(
                "Another organisation has this name. If it is yours, ask a colleague to invite you.",
                italian: "Un'altra organizzazione ha questo nome. Se è la sua, chieda a un collega di invitarla.",
                errors: [.init(pointer: "/businessName", .taken)])
        case .vatNumber:
            Problem.vatNumberInUse.saying(
                "There is an organisation with this VAT number. If it is yours, ask a colleague to invite you.",
                italian: "C'è un'organizzazione con questa partita IVA. Se è la sua, chieda a un collega di invitarla.",
                errors: [.init(pointer: "/vatNumber", .registeredAlready)])
        }
    }
}

// MARK: Registration

struct ConditionsItem: Codable, Sendable, Documented {
    struct Document: Codable, Sendable {
        var kind: OrganisationConditions.Kind
        var field: String
        var title: String
        var text: String
    }

    var version: String
    var documents: [Document]

    init(_ language: Language) {
        version = OrganisationConditions.version
        documents = OrganisationConditions.Kind.allCases.map { kind in
            Document(
                kind: kind, field: kind.field, title: OrganisationConditions.title(kind, language),
                text: OrganisationConditions.text(kind, language))
        }
    }

    static let schema = JSONSchema.object(
        .required("version", .string(), "What the form sends to accept."),
        .required(
            "documents",
            .array(
                of: .object(
                    .required("kind", .oneOf(OrganisationConditions.Kind.allCases.map(\.rawValue))),
                    .required("field", .string(), "The form's field that accepts it."), .required("title", .string()),
                    .required("text", .string()))))
    ).named("OrganisationConditions")
}

struct RegistrationItem: Codable, Sendable, Documented {
    var organisation: OrganisationID
    var state: OrganisationState
    var notice: String

    init(_ receipt: RegistrationReceipt, _ language: Language) {
        (organisation, state) = (receipt.organisation, receipt.state)
        notice =
            switch (language, receipt.isPasswordMailed) {
            case (.italian, false): "La registrazione è ricevuta. Segua il link nella nostra e-mail per completarla."
            case (.italian, true):
                """
                La registrazione è ricevuta. Segua il link nella nostra e-mail per completarla; la password temporanea è nella \
                stessa e-mail.
                """
            case (.english, false): "The registration was received. Follow the link in our e-mail to complete it."
            case (.english, true):
                "The registration was received. Follow the link in our e-mail to complete it; the temporary password is in the same mail."
            }
    }

    static let schema = JSONSchema.object(
        .required("organisation", .identifier(Organisation.self)), .required("state", OrganisationSchemas.state),
        .required("notice", .string(), "For the person at the form.")
    ).named("OrganisationRegistration")
}

struct MailOrder: Codable, Sendable, Documented {
    var email: String

    static let schema = JSONSchema.object(.required("email", OrganisationSchemas.email)).named("MailOrder")

    /// - Throws: `invalid-body` at `/email`.
    var address: EmailAddress {
        get throws(Problem) {
            guard let address = EmailAddress(email) else {
                throw .invalidBody([.init(pointer: "/email", .notAnEmail)])
            }
            return address
        }
    }
}

struct ConfirmationBody: Codable, Sendable, Documented {
    var token: String

    static let schema = JSONSchema.object(.required("token", .string(length: 1...200), "The end of the mailed link."))
        .named("OrganisationConfirmation")
}

struct ConfirmedItem: Codable, Sendable, Documented {
    var state: OrganisationState

    static let schema = JSONSchema.object(.required("state", OrganisationSchemas.state)).named("OrganisationConfirmed")
}

struct NeutralNotice: Codable, Sendable, Documented {
    var notice: String

    init(_ language: Language) {
        notice =
            language == .italian
            ? "Se un'organizzazione aspetta la conferma a questo indirizzo, un nuovo link è in arrivo."
            : "If an organisation waits for its confirmation at this address, a new link is on its way."
    }

    static let schema = JSONSchema.object(.required("notice", .string())).named("NeutralNotice")
}

// MARK: Profile

struct OrganisationItem: Codable, Sendable, Documented {
    var organisation: OrganisationID
    var state: OrganisationState
    var businessName: String
    var vatNumber: String
    var legalAddress: PostalAddress
    var billingAddress: PostalAddress
    var email: String
    var sector: String
    var description: String
    var website: String?
    var researchInterests: String?
    var representative: LegalRepresentative?
    var paymentMethod: PaymentMethod
    var language: Language
    var acceptedConditions: String
    var acceptedAt: String
    var registeredAt: String
    /// Where its requests are.
    var links: [String: String]

    init(_ row: OrganisationRow) {
        let details = row.details
        (organisation, state, businessName, vatNumber) = (row.id, row.state, details.businessName, details.vatNumber)
        (legalAddress, billingAddress, email) = (details.legalAddress, details.billingAddress, details.email.text)
        (sector, description, website) = (details.sector, details.description, details.website)
        (researchInterests, representative) = (details.researchInterests, details.representative)
        (paymentMethod, language) = (details.paymentMethod, details.language)
        (acceptedConditions, acceptedAt) = (details.accepted.version, details.accepted.at.rfc3339)
        registeredAt = row.createdAt.rfc3339
        links = [
            "edit": "/thirdparty/v1/organisation", "requests": "/thirdparty/v1/requests",
            "pendingRequests": "/thirdparty/v1/requests?status=PENDING", "payments": "/thirdparty/v1/payments",
            "members": "/thirdparty/v1/members", "clients": "/thirdparty/v1/clients", "support": "/thirdparty/v1/support",
        ]
    }

    static let schema = JSONSchema.object(
        .required("organisation", .identifier(Organisation.self)), .required("state", OrganisationSchemas.state),
        .required("businessName", .string()), .required("vatNumber", .string()), .required("legalAddress", OrganisationSchemas.keptAddress),
        .required("billingAddress", OrganisationSchemas.keptAddress), .required("email", .string()), .required("sector", .string()),
        .required("description", .string()), .optional("website", .string()), .optional("researchInterests", .string()),
        .optional("representative", OrganisationSchemas.representative), .required("paymentMethod", OrganisationSchemas.method),
        .required("language", OrganisationSchemas.language), .required("acceptedConditions", .string(), "Their version."),
        .required("acceptedAt", .time), .required("registeredAt", .time),
        .required("links", .map(of: .string()), "Where the profile leads to.")
    ).named("Organisation")
}

struct ClosingItem: Codable, Sendable, Documented {
    var businessName: String
    var pendingRequests: Int
    var approvedRequests: Int
    var members: Int
    var debts: [Amount]
    var notice: String

    init(_ preview: ClosingPreview, _ language: Language) {
        (businessName, pendingRequests, approvedRequests) = (preview.businessName, preview.pendingRequests, preview.approvedRequests)
        (members, debts) = (preview.members, preview.debts)
        notice =
            language == .italian
            ? "L'eliminazione termina tutte le richieste e gli abbonamenti, di cui le persone sono informate, e tutti gli accessi; "
                + "gli importi non pagati restano dovuti."
            : "Deleting ends all requests and subscriptions, of which the people are told, and all log-ins; unpaid amounts remain due."
    }

    static let schema = JSONSchema.object(
        .required("businessName", .string(), "To be sent as `confirmation`."), .required("pendingRequests", .integer()),
        .required("approvedRequests", .integer(), "Subscriptions and data not fetched yet."), .required("members", .integer()),
        .required(
            "debts",
            .array(
                of: .object(.required("minor", .integer(), "In the currency's minor units."), .required("currency", .string(length: 3...3)))
            ),
            "What is unpaid and remains due."), .required("notice", .string())
    ).named("OrganisationClosing")
}

struct ClosingBody: Codable, Sendable, Documented {
    var confirmation: String

    static let schema = JSONSchema.object(
        .required("confirmation", .string(length: 0...BusinessName.longest), "The business name, typed to confirm.")
    ).named("ClosingConfirmation")
}

// MARK: Shapes for the OpenAPI document

enum OrganisationSchemas {
    static let state = JSONSchema.oneOf(OrganisationState.allCases.filter { $0 != .registering }.map(\.rawValue))
    static let email = JSONSchema.string(length: 3...EmailAddress.longest, format: "email")
    static let language = JSONSchema.oneOf(Language.allCases.map(\.rawValue))
    static let method = JSONSchema.oneOf(PaymentMethod.allCases.map(\.rawValue))
    private static let text = JSONSchema.string(length: 1...FormReader.longestText)
    private static let long = JSONSchema.string(length: 1...OrganisationForm.longestDescription)

    static let address = JSONSchema.object(
        .required("street", text), .required("city", text), .required("postalCode", .string(length: 2...12)),
        .optional("country", .string(pattern: "^[A-Za-z]{2}$"), "ISO 3166-1; the installation's own unless told.")
    ).named("PostalAddress")

    /// Of an organisation that has registered: the country is there whether it was typed or not.
    static let keptAddress = JSONSchema.object(
        .required("street", .string()), .required("city", .string()), .required("postalCode", .string()),
        .required("country", .string(), "ISO 3166-1.")
    ).named("OrganisationAddress")

    static let representative = JSONSchema.object(
        .required("name", text), .required("surname", text), .required("officeAddress", text),
        .required("phone", .string(), "With its country: +390212345678."), .required("email", email),
        .required(
            "fiscalCode", .string(),
            "The person's identifier in the installation's country; in Italy the fiscal code. Spaces and case do not count.")
    ).named("LegalRepresentative")

    /// Bodies of forms are checked by the domain, which names every wrong field; these say what is expected.
    static let registration = JSONSchema.object(
        .required("businessName", text),
        .required("vatNumber", .string(), "As the installation's country writes it (Italy: eleven digits), or as VIES does."),
        .required("legalAddress", address), .required("billingAddress", address), .required("email", email),
        .required("emailAgain", email, "The same once more."), .required("sector", text), .required("description", long),
        .optional("website", .string()), .optional("researchInterests", long), .required("representative", representative),
        .required("paymentMethod", method), .optional("language", language, "In which the organisation is written to; it unless told."),
        .optional(
            "password", .string(length: PasswordLength.least...PasswordLength.longest, format: "password"),
            "Required unless passwords are mailed. At least 8 characters, more where the operator asks for them; none of the most used."),
        .optional("passwordAgain", .string(), "The same once more."),
        .required("acceptedTerms", .string(), "The version that was read, as the others below."), .required("acceptedPrivacy", .string()),
        .required("acceptedResponsibility", .string()), .required("acceptedJurisdiction", .string())
    ).named("OrganisationForm")

    static let registrationExample: JSONValue = [
        "businessName": "Istituto Ricerche Mediche S.p.A.", "vatNumber": "IT00743110157",
        "legalAddress": ["street": "Via Festa del Perdono 7", "city": "Milano", "postalCode": "20122"],
        "billingAddress": ["street": "Via Festa del Perdono 7", "city": "Milano", "postalCode": "20122"],
        "email": "office@example.org", "emailAgain": "office@example.org", "sector": "medical research",
        "description": "Studies of the heart rate at rest.",
        "representative": [
            "name": "Mario", "surname": "Rossi", "officeAddress": "Via Festa del Perdono 7, Milano", "phone": "+390250311",
            "email": "mario.rossi@example.org", "fiscalCode": "RSSMRA80A01H501U",
        ],
        "paymentMethod": "bank-transfer", "password": "corretto cavallo batteria", "passwordAgain": "corretto cavallo batteria",
        "acceptedTerms": .string(OrganisationConditions.version), "acceptedPrivacy": .string(OrganisationConditions.version),
        "acceptedResponsibility": .string(OrganisationConditions.version),
        "acceptedJurisdiction": .string(OrganisationConditions.version),
    ]

    static let change = JSONSchema.object(
        .optional("legalAddress", changedAddress), .optional("billingAddress", changedAddress), .optional("sector", text),
        .optional("description", long), .optional("website", .string().nullable(), "Null takes it away."),
        .optional("researchInterests", long.nullable()), .optional("representative", changedRepresentative),
        .optional("paymentMethod", method), .optional("language", language)
    ).named("OrganisationChange")

    private static let changedAddress = JSONSchema.object(
        .optional("street", text), .optional("city", text), .optional("postalCode", .string(length: 2...12)),
        .optional("country", .string())
    ).named("PostalAddressChange")

    private static let changedRepresentative = JSONSchema.object(
        .optional("name", text), .optional("surname", text), .optional("officeAddress", text), .optional("phone", .string()),
        .optional("email", email), .optional("fiscalCode", .string())
    ).named("LegalRepresentativeChange")
}
