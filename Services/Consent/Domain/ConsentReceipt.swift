// What a consent receipt says: the fields of ISO/IEC TS 27560:2023, filled from one transition of a request.

import Contracts

/// What became of the consent, in the words of ISO/IEC TS 27560's event section.
enum ConsentEvent: String, Codable, Sendable, CaseIterable {
    case requested, given, refused, expired, withdrawn, terminated

    /// Of a request that has just come to this status.
    init(_ status: RequestStatus) {
        switch status {
        case .pending: self = .requested
        case .approved: self = .given
        case .declined: self = .refused
        case .expired: self = .expired
        case .revoked: self = .withdrawn
        case .ended: self = .terminated
        }
    }
}

/// Who made the transition happen.
enum ConsentActor: String, Codable, Sendable, CaseIterable {
    case person, guardian, organisation
    /// Time passed, or an account ended.
    case suite
}

/// What the person is shown of a request, and nobody else.
struct RequestDetails: Hashable, Codable, Sendable {
    var organisationName: String
    var purpose: String
}

/// One receipt as it is signed. Written in the standard's own spelling (`pii_principal_id`). It goes to the organisation as well,
/// so the person is named in it by the request's id alone, a pseudonym that both sides know.
struct ConsentReceipt: Encodable, Sendable {
    let schemaVersion = "ISO/IEC TS 27560:2023"
    let receiptID: ReceiptID
    let recordID: RequestID
    let piiPrincipalID: RequestID
    let language: Language
    let piiProcessing: Processing
    let partyIdentification: [Party]
    let event: Event

    struct Processing: Encodable, Sendable {
        let privacyNotice: String
        let purposes: [Purpose]
    }

    struct Purpose: Encodable, Sendable {
        let purpose: String
        let purposeType = "as described by the recipient"
        let lawfulBasis = "explicit consent"
        let piiInformation: [Information]
        let piiControllers: [String]
        let recipientThirdParties: [String]
        let collectionMethod = "measured by the person's devices or entered by the person"
        let processingMethod: String
        let jurisdiction = "EU"
        let withdrawalMethod: String
        let privacyRights = ["access", "rectification", "erasure", "restriction", "portability", "withdrawal of consent"]
    }

    struct Information: Encodable, Sendable {
        let piiType: String
        let piiOptional = false
        let sensitivePiiCategory = true
        let specialPiiCategory: String
        /// `allowed` while the recipient may read it.
        let status: String
        let from: String
        let to: String
    }

    struct Party: Encodable, Sendable {
        let partyID: String
        let partyName: String
        let partyRole: String
        let partyType: String
    }

    struct Event: Encodable, Sendable {
        let eventTime: String
        let eventType = "explicit"
        let eventState: ConsentEvent
        let entityID: String
        /// Until when it holds; nil where nothing is allowed.
        let validUntil: String?
    }
}

extension ConsentReceipt {
    static let suiteName = "TrackMe"

    /// - Parameters:
    ///   - request: after the transition.
    ///   - event: where it is not what the status says: single types were withdrawn.
    init(
        _ id: ReceiptID, of request: SharingRequest, _ details: RequestDetails, event: ConsentEvent? = nil, by actor: ConsentActor,
        language: Language
    ) {
        let organisation = request.organisation.description
        let allowed = request.grantInForce?.scope.types ?? []
        let information = request.scope.listedTypes.map { type in
            Information(
                piiType: type.code, specialPiiCategory: type == .position ? "location" : "health",
                status: allowed.contains(type) ? "allowed" : "not allowed", from: request.scope.window.lowerBound.rfc3339,
                to: request.scope.window.upperBound.rfc3339)
        }
        let purpose = Purpose(
            purpose: details.purpose, piiInformation: information, piiControllers: [Self.suiteName],
            recipientThirdParties: [organisation],
            processingMethod: "disclosure to the recipient, not finer than \(request.granularity.rawValue)",
            withdrawalMethod: "at any time, wholly or for single data types, on the page of the data policy")
        let entity =
            switch actor {
            case .person: request.id.description
            case .guardian: "guardian of \(request.id)"
            case .organisation: organisation
            case .suite: Self.suiteName
            }
        receiptID = id
        (recordID, piiPrincipalID, self.language) = (request.id, request.id, language)
        piiProcessing = Processing(privacyNotice: "the conditions accepted with the account", purposes: [purpose])
        partyIdentification = [
            Party(partyID: Self.suiteName, partyName: Self.suiteName, partyRole: "PII controller", partyType: "organisation"),
            Party(
                partyID: organisation, partyName: details.organisationName, partyRole: "recipient third party", partyType: "organisation"),
        ]
        self.event = Event(
            eventTime: request.changedAt.rfc3339, eventState: event ?? ConsentEvent(request.status), entityID: entity,
            validUntil: request.grantInForce.map { _ in request.scope.window.upperBound.rfc3339 })
    }
}
