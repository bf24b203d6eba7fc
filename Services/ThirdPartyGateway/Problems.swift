// Everything that the gateway can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

enum GatewayProblem: String, CaseIterable, Sendable {
    case paymentOutstanding = "payment-outstanding"
    case paymentDeclined = "payment-declined"
    case paymentNotDue = "payment-not-due"
    case paymentOver = "payment-over"
    case paymentUnderWay = "payment-under-way"
    case paymentMethodUnavailable = "payment-method-unavailable"
    case paymentHandlerUnreachable = "payment-handler-unreachable"
    case priceChanged = "price-changed"
    case signatureRefused = "signature-refused"
    case organisationNotConfirmed = "organisation-not-confirmed"
    case organisationNotApproved = "organisation-not-approved"
    case organisationSuspended = "organisation-suspended"
    case missingRight = "missing-right"
    case rightsBeyondOwn = "rights-beyond-own"
    case invalidOrganisation = "invalid-organisation"
    case conditionsNotAccepted = "conditions-not-accepted"
    case fixedField = "fixed-field"
    case emailInUse = "email-in-use"
    case businessNameInUse = "business-name-in-use"
    case vatNumberInUse = "vat-number-in-use"
    case linkNotValid = "link-not-valid"
    case notConfirmed = "closing-not-confirmed"
    case memberStays = "member-stays"
    case tooManyClients = "too-many-clients"
    case tooManyMembers = "too-many-members"
    case openRequestCovers = "open-request-covers-this"
    case noSuchPerson = "no-such-person"
    case tooManyUnknownCodes = "too-many-unknown-codes"
    case requestRefused = "request-refused"
    case requestNotApproved = "request-not-approved"
    case notEntitled = "not-entitled"
    case dataInPreparation = "data-in-preparation"
    case fileNotReady = "file-not-ready"
    case tooManyFiles = "too-many-files"

    case subscriptionOver = "subscription-over"
    case consentNotHeard = "consent-not-heard"
    case itemsReleased = "items-released"
    case tooManyStreams = "too-many-streams"
    case invalidEndpoint = "invalid-endpoint"
    case tooManyEndpoints = "too-many-endpoints"
    case endpointNotVerified = "endpoint-not-verified"
    case endpointNotActive = "endpoint-not-active"

    /// The problem without its details; written out so that docs/problems.md can be made from it.
    private var plain: Problem {
        switch self {
        case .paymentOutstanding:
            Problem(
                "payment-outstanding", status: 402, title: "The amount due has not been paid",
                italianTitle: "L'importo dovuto non è stato pagato")
        case .paymentDeclined:
            Problem("payment-declined", status: 402, title: "The payment was declined", italianTitle: "Il pagamento è stato rifiutato")
        case .paymentNotDue:
            Problem(
                "payment-not-due", status: 409, title: "There is nothing to be paid yet", italianTitle: "Non c'è ancora nulla da pagare")
        case .paymentOver:
            Problem("payment-over", status: 409, title: "There is nothing to be paid any more", italianTitle: "Non c'è più nulla da pagare")
        case .paymentUnderWay:
            Problem(
                "payment-under-way", status: 409, title: "Another way of paying is under way",
                italianTitle: "È in corso un altro modo di pagare")
        case .paymentMethodUnavailable:
            Problem(
                "payment-method-unavailable", status: 409, title: "This way of paying is not offered",
                italianTitle: "Questo modo di pagare non è offerto")
        case .paymentHandlerUnreachable:
            Problem(
                "payment-handler-unreachable", status: 503, title: "The payment handler does not answer",
                italianTitle: "Il gestore dei pagamenti non risponde")
        case .signatureRefused:
            Problem(
                "signature-refused", status: 400, title: "The notification is not signed as agreed",
                italianTitle: "La notifica non è firmata come convenuto")
        case .priceChanged: Problem("price-changed", status: 409, title: "The prices have changed", italianTitle: "I prezzi sono cambiati")
        case .organisationNotConfirmed:
            Problem(
                "organisation-not-confirmed", status: 403, title: "The registration is not complete",
                italianTitle: "La registrazione non è completa")
        case .organisationNotApproved:
            Problem(
                "organisation-not-approved", status: 403, title: "The registration is being looked at",
                italianTitle: "La registrazione è in esame")
        case .organisationSuspended:
            Problem(
                "organisation-suspended", status: 403, title: "The organisation is suspended", italianTitle: "L'organizzazione è sospesa")
        case .rightsBeyondOwn:
            Problem(
                "rights-beyond-own", status: 403, title: "Nobody gives rights that they have not",
                italianTitle: "Nessuno dà diritti che non ha")
        case .missingRight:
            Problem(
                "missing-right", status: 403, title: "The caller has not the right for that",
                italianTitle: "Chi chiede non ne ha il diritto")
        case .invalidOrganisation:
            Problem(
                "invalid-organisation", status: 422, title: "The form is not complete and right",
                italianTitle: "Il modulo non è completo o corretto")
        case .conditionsNotAccepted:
            Problem(
                "conditions-not-accepted", status: 422, title: "The conditions are not accepted",
                italianTitle: "Le condizioni non sono accettate")
        case .fixedField:
            Problem("fixed-field", status: 422, title: "The field does not change here", italianTitle: "Il campo non si cambia qui")
        case .emailInUse: Problem("email-in-use", status: 409, title: "E-mail in use", italianTitle: "Indirizzo e-mail già in uso")
        case .businessNameInUse:
            Problem("business-name-in-use", status: 409, title: "Business name in use", italianTitle: "Ragione sociale già in uso")
        case .vatNumberInUse:
            Problem("vat-number-in-use", status: 409, title: "VAT number already registered", italianTitle: "Partita IVA già registrata")
        case .linkNotValid:
            Problem("link-not-valid", status: 404, title: "The link does not hold any more", italianTitle: "Il collegamento non vale più")
        case .notConfirmed:
            Problem(
                "closing-not-confirmed", status: 422, title: "The deletion is not confirmed",
                italianTitle: "L'eliminazione non è confermata")
        case .memberStays:
            Problem(
                "member-stays", status: 409, title: "This member cannot be removed or changed",
                italianTitle: "Questo membro non si può togliere o cambiare")
        case .tooManyClients:
            Problem(
                "too-many-clients", status: 409, title: "There are as many API clients as an organisation may have",
                italianTitle: "I client API sono già quanti un'organizzazione può averne")
        case .tooManyMembers:
            Problem(
                "too-many-members", status: 409, title: "There are as many members as an organisation may have",
                italianTitle: "I membri sono già quanti un'organizzazione può averne")
        case .openRequestCovers:
            Problem(
                "open-request-covers-this", status: 409, title: "An open request already covers this",
                italianTitle: "Una richiesta aperta lo comprende già")
        case .noSuchPerson: Problem("no-such-person", status: 422, title: "No such person", italianTitle: "Persona inesistente")
        case .tooManyUnknownCodes:
            Problem(
                "too-many-unknown-codes", status: 429, title: "Too many unknown fiscal codes were asked for today",
                italianTitle: "Oggi sono stati chiesti troppi codici fiscali sconosciuti")
        case .requestRefused:
            Problem("request-refused", status: 409, title: "This cannot be asked now", italianTitle: "Ora non si può chiedere")
        case .requestNotApproved:
            Problem("request-not-approved", status: 409, title: "The request is not approved", italianTitle: "La richiesta non è approvata")
        case .notEntitled:
            Problem(
                "not-entitled", status: 403, title: "The organisation may not have this", italianTitle: "L'organizzazione non può averlo")
        case .dataInPreparation:
            Problem("data-in-preparation", status: 503, title: "The data are in preparation", italianTitle: "I dati sono in preparazione")
        case .fileNotReady: Problem("file-not-ready", status: 409, title: "The file is not ready", italianTitle: "Il file non è pronto")
        case .tooManyFiles:
            Problem("too-many-files", status: 429, title: "Too many files were asked for", italianTitle: "Sono stati chiesti troppi file")
        case .subscriptionOver:
            Problem("subscription-over", status: 410, title: "The subscription is over", italianTitle: "L'abbonamento è finito")
        case .consentNotHeard:
            Problem(
                "consent-not-heard", status: 503, title: "Nothing can be handed out at the moment",
                italianTitle: "Al momento non si può consegnare nulla")
        case .itemsReleased:
            Problem(
                "items-released", status: 410, title: "These items are not kept any more",
                italianTitle: "Questi elementi non sono più conservati")
        case .tooManyStreams:
            Problem(
                "too-many-streams", status: 429, title: "Too many event streams are open",
                italianTitle: "Troppi flussi di eventi sono aperti")
        case .invalidEndpoint:
            Problem(
                "invalid-endpoint", status: 422, title: "The address cannot be registered",
                italianTitle: "L'indirizzo non si può registrare")
        case .tooManyEndpoints:
            Problem(
                "too-many-endpoints", status: 409, title: "There are as many endpoints as an organisation may have",
                italianTitle: "Gli indirizzi sono già quanti un'organizzazione può averne")
        case .endpointNotVerified:
            Problem(
                "endpoint-not-verified", status: 422, title: "The endpoint did not pass verification",
                italianTitle: "L'indirizzo non ha superato la verifica")
        case .endpointNotActive:
            Problem("endpoint-not-active", status: 409, title: "The endpoint is not active", italianTitle: "L'indirizzo non è attivo")
        }
    }

    var status: Int { plain.status }

    func problem(_ detail: String, italian: String? = nil, errors: [Problem.FieldError]? = nil) -> Problem {
        plain.saying(detail, italian: italian, errors: errors)
    }
}

extension Problem {
    /// Nothing of this id that is the caller's. Whether it is somebody else's is not told.
    static let absent: Problem = {
        var problem = Problem.notFound
        problem.detail = "Your organisation has nothing of this id. Check it; the lists name what there is."
        return problem
    }()
    /// Likewise, of subscriptions, which have the id of their request.
    static let noSubscription: Problem = {
        var problem = Problem.notFound
        problem.detail =
            """
            Your organisation has no subscription of this id. One begins when its request, whose period ends after now, is accepted \
            and paid.
            """
        return problem
    }()
}
