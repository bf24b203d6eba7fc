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
        case .paymentOutstanding: Problem("payment-outstanding", status: 402, title: "The amount due has not been paid")
        case .paymentDeclined: Problem("payment-declined", status: 402, title: "The payment was declined")
        case .paymentNotDue: Problem("payment-not-due", status: 409, title: "There is nothing to be paid yet")
        case .paymentOver: Problem("payment-over", status: 409, title: "There is nothing to be paid any more")
        case .paymentUnderWay: Problem("payment-under-way", status: 409, title: "Another way of paying is under way")
        case .paymentMethodUnavailable:
            Problem("payment-method-unavailable", status: 409, title: "This way of paying is not offered")
        case .paymentHandlerUnreachable:
            Problem("payment-handler-unreachable", status: 503, title: "The payment handler does not answer")
        case .signatureRefused: Problem("signature-refused", status: 400, title: "The notification is not signed as agreed")
        case .priceChanged: Problem("price-changed", status: 409, title: "The prices have changed")
        case .organisationNotConfirmed: Problem("organisation-not-confirmed", status: 403, title: "The registration is not complete")
        case .organisationNotApproved: Problem("organisation-not-approved", status: 403, title: "The registration is being looked at")
        case .organisationSuspended: Problem("organisation-suspended", status: 403, title: "The organisation is suspended")
        case .rightsBeyondOwn: Problem("rights-beyond-own", status: 403, title: "Nobody gives rights that they have not")
        case .missingRight: Problem("missing-right", status: 403, title: "The caller has not the right for that")
        case .invalidOrganisation: Problem("invalid-organisation", status: 422, title: "The form is not complete and right")
        case .conditionsNotAccepted: Problem("conditions-not-accepted", status: 422, title: "The conditions are not accepted")
        case .fixedField: Problem("fixed-field", status: 422, title: "The field does not change here")
        case .emailInUse: Problem("email-in-use", status: 409, title: "E-mail in use")
        case .businessNameInUse: Problem("business-name-in-use", status: 409, title: "Business name in use")
        case .vatNumberInUse: Problem("vat-number-in-use", status: 409, title: "VAT number already registered")
        case .linkNotValid: Problem("link-not-valid", status: 404, title: "The link does not hold any more")
        case .notConfirmed: Problem("closing-not-confirmed", status: 422, title: "The deletion is not confirmed")
        case .memberStays: Problem("member-stays", status: 409, title: "This member cannot be removed or changed")
        case .tooManyClients: Problem("too-many-clients", status: 409, title: "There are as many API clients as an organisation may have")
        case .tooManyMembers: Problem("too-many-members", status: 409, title: "There are as many members as an organisation may have")
        case .openRequestCovers: Problem("open-request-covers-this", status: 409, title: "An open request already covers this")
        case .noSuchPerson: Problem("no-such-person", status: 422, title: "No such person")
        case .tooManyUnknownCodes:
            Problem("too-many-unknown-codes", status: 429, title: "Too many unknown fiscal codes were asked for today")
        case .requestRefused: Problem("request-refused", status: 409, title: "This cannot be asked now")
        case .requestNotApproved: Problem("request-not-approved", status: 409, title: "The request is not approved")
        case .notEntitled: Problem("not-entitled", status: 403, title: "The organisation may not have this")
        case .dataInPreparation: Problem("data-in-preparation", status: 503, title: "The data are in preparation")
        case .fileNotReady: Problem("file-not-ready", status: 409, title: "The file is not ready")
        case .tooManyFiles: Problem("too-many-files", status: 429, title: "Too many files were asked for")
        case .subscriptionOver: Problem("subscription-over", status: 410, title: "The subscription is over")
        case .consentNotHeard: Problem("consent-not-heard", status: 503, title: "Nothing can be handed out at the moment")
        case .itemsReleased: Problem("items-released", status: 410, title: "These items are not kept any more")
        case .tooManyStreams: Problem("too-many-streams", status: 429, title: "Too many event streams are open")
        case .invalidEndpoint: Problem("invalid-endpoint", status: 422, title: "The address cannot be registered")
        case .tooManyEndpoints: Problem("too-many-endpoints", status: 409, title: "There are as many endpoints as an organisation may have")
        case .endpointNotVerified: Problem("endpoint-not-verified", status: 422, title: "The endpoint did not pass verification")
        case .endpointNotActive: Problem("endpoint-not-active", status: 409, title: "The endpoint is not active")
        }
    }

    var status: Int { plain.status }

    func problem(_ detail: String, errors: [Problem.FieldError]? = nil) -> Problem {
        var problem = plain
        (problem.detail, problem.errors) = (detail, errors)
        return problem
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
            "Your organisation has no subscription of this id. One begins when its request, whose period ends after now, is accepted and paid."
        return problem
    }()
}
