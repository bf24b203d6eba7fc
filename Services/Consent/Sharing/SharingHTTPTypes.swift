// What consent says over HTTP of requests, grants and the data policy.

import Contracts
import HTTPKit

/// Who asks.
struct RequesterItem: Codable, Sendable {
    var organisation: OrganisationID
    var name: String
}

/// One request as the person sees it before and after answering (ACC-20, SHR-05).
struct RequestItem: Codable, Sendable {
    var request: RequestID
    var requester: RequesterItem
    var purpose: String
    var types: [Metric]
    var from: String
    var to: String
    var granularity: GrantGranularity
    /// New data will keep flowing.
    var isSubscription: Bool
    var status: RequestStatus
    var receivedAt: String
    var answerBy: String
    /// When the person answered; absent where nobody did.
    var answeredAt: String?
    var changedAt: String
    /// Absent where nobody accepted.
    var grant: GrantID?
    /// What is still shared of it; empty where nothing is.
    var sharedTypes: [Metric]

    init(_ request: SharingRequest, _ details: RequestDetails) {
        self.request = request.id
        requester = RequesterItem(organisation: request.organisation, name: details.organisationName)
        purpose = details.purpose
        types = request.scope.listedTypes
        (from, to) = (request.scope.window.lowerBound.rfc3339, request.scope.window.upperBound.rfc3339)
        granularity = request.granularity
        isSubscription = request.scope.isSubscription(at: request.openedAt)
        status = request.status
        (receivedAt, answerBy) = (request.openedAt.rfc3339, request.answerBy.rfc3339)
        answeredAt = request.answeredAt?.rfc3339
        changedAt = request.changedAt.rfc3339
        grant = request.grant?.id
        sharedTypes = request.grantInForce?.scope.listedTypes ?? []
    }
}

/// The answer to a request.
struct AnswerBody: Codable, Sendable {
    enum Decision: String, Codable, Sendable, CaseIterable {
        case accept, refuse
    }

    var answer: Decision
}

/// What is left of a grant after a withdrawal, and what cannot be taken back (CON-21).
struct WithdrawalItem: Codable, Sendable {
    static let note = "Nothing more is delivered from now on. What was delivered before stays with the recipient."

    var request: RequestItem
    var note = WithdrawalItem.note
}

/// One type of the registry and whether it is shared anonymously.
struct AnonymousItem: Codable, Sendable {
    var type: Metric
    var shared: Bool
    /// Absent where the person never chose: not shared.
    var changedAt: String?

    init(_ metric: Metric, _ choice: AnonymousChoice?) {
        (type, shared, changedAt) = (metric, choice?.isShared ?? false, choice?.changedAt.rfc3339)
    }
}

struct AnonymousBody: Codable, Sendable {
    var shared: Bool
}

/// Who may see what (ACC-21).
struct PolicyItem: Codable, Sendable {
    /// Requests whose grants are in force.
    var grants: [RequestItem]
    var anonymous: [AnonymousItem]
}

// MARK: Their shapes

enum SharingSchemas {
    static let metricCode = JSONSchema.oneOf(Metric.all.map(\.code))
}

extension RequesterItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("organisation", .identifier(Organisation.self)), .required("name", .string(length: 1...RequestForm.longestName))
        ).named("Requester")
    }
}

extension RequestItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("request", .identifier(DataRequest.self)), .required("requester", RequesterItem.schema),
            .required("purpose", .string(length: 1...RequestForm.longestPurpose), "What for, in the requester's words."),
            .required("types", .array(of: SharingSchemas.metricCode), "What was asked for."),
            .required("from", .time), .required("to", .time, "Not included."),
            .required("granularity", .oneOf(GrantGranularity.allCases.map(\.rawValue)), "The finest step that is handed out."),
            .required("isSubscription", .boolean, "Whether new data keep flowing until `to`."),
            .required("status", .oneOf(RequestStatus.allCases.map(\.rawValue))), .required("receivedAt", .time),
            .required("answerBy", .time, "Counts as refused from here on."), .optional("answeredAt", .time),
            .required("changedAt", .time), .optional("grant", .identifier(Grant.self)),
            .required("sharedTypes", .array(of: SharingSchemas.metricCode), "What is shared under it now.")
        ).named("DataRequest")
    }
}

extension AnswerBody: Documented {
    static var schema: JSONSchema {
        .object(.required("answer", .oneOf(Decision.allCases.map(\.rawValue)))).named("RequestAnswer")
    }
}

extension WithdrawalItem: Documented {
    static var schema: JSONSchema {
        .object(.required("request", RequestItem.schema), .required("note", .string(), "What cannot be taken back.")).named("Withdrawal")
    }
}

extension AnonymousItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("type", SharingSchemas.metricCode), .required("shared", .boolean),
            .optional("changedAt", .time, "Absent where nothing was ever chosen: not shared.")
        ).named("AnonymousSharingStore")
    }
}

extension AnonymousBody: Documented {
    static var schema: JSONSchema {
        .object(.required("shared", .boolean)).named("AnonymousChoice")
    }
}

extension PolicyItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("grants", .array(of: RequestItem.schema), "Requests whose grants are in force."),
            .required("anonymous", .array(of: AnonymousItem.schema), "Every data type.")
        ).named("DataPolicy")
    }
}
