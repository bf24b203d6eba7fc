// What the gateway says over HTTP of requests for one person's data.

import Contracts
import Foundation
import HTTPKit
import Sealing

/// How far a request's data are (PAY-04, SHR-10).
enum DataAvailability: String, Codable, CaseIterable, Hashable, Sendable {
    /// The person has not answered, or nobody has judged the group.
    case waiting
    case paymentOutstanding = "payment-outstanding"
    /// It was paid, and the payer's bank contests that: nothing leaves until it has decided.
    case paymentContested = "payment-contested"
    /// It was paid, and the amount went back: nothing is owed, and nothing leaves.
    case givenBack = "given-back"
    /// To be displayed, downloaded, subscribed to.
    case ready
    /// Not allowed, or not any more.
    case closed

    init(_ request: MadeRequest) {
        switch request.status {
        case .pending: self = .waiting
        case .approved:
            switch request.hold {
            case _ where request.paidAt != nil: self = .ready
            case nil: self = .paymentOutstanding
            case .contested: self = .paymentContested
            case .givenBack: self = .givenBack
            }
        case .declined, .expired, .revoked, .ended: self = .closed
        }
    }
}

/// The form for one person.
struct NewRequestBody: Codable, Sendable {
    var fiscalCode: String
    var types: [String]
    var from: String
    var to: String?
    var length: String?
    var granularity: String
    var purpose: String
    var priceListVersion: Int?

    var form: TypedForm {
        TypedForm(types: types, from: from, to: to, length: length, granularity: granularity, purpose: purpose)
    }
}

/// The same form for several people.
struct NewRequestsBody: Codable, Sendable {
    var fiscalCodes: [String]
    var types: [String]
    var from: String
    var to: String?
    var length: String?
    var granularity: String
    var purpose: String
    var priceListVersion: Int?

    var form: TypedForm {
        TypedForm(types: types, from: from, to: to, length: length, granularity: granularity, purpose: purpose)
    }
}

/// One request as its organisation sees it (ORG-17).
struct MadeRequestItem: Codable, Sendable {
    var request: RequestID
    /// The target; absent where the person is erased.
    var fiscalCode: String?
    /// Of the asking.
    var month: String
    var status: RequestStatus
    var delivery: DataAvailability
    var types: [Metric]
    var sharedTypes: [Metric]
    var from: String
    var to: String
    var granularity: GrantGranularity
    var isSubscription: Bool
    var purpose: String?
    var askedBy: String?
    var createdAt: String
    var answerBy: String
    var changedAt: String
    var paidAt: String?
    var grant: GrantID?

    init(_ shown: ShownRequest) {
        let made = shown.request
        (request, fiscalCode, purpose, askedBy) = (
            made.id, shown.particulars?.fiscalCode, shown.particulars?.purpose, shown.particulars?.askedBy
        )
        month = String(made.createdAt.rfc3339.prefix(7))
        (status, delivery) = (made.status, DataAvailability(made))
        types = made.asked
        sharedTypes = made.grantInForce == nil ? [] : made.types
        (from, to, granularity, isSubscription) = (made.from.rfc3339, made.to.rfc3339, made.granularity, made.isSubscription)
        (createdAt, answerBy) = (made.createdAt.rfc3339, made.answerBy.rfc3339)
        // Being paid makes it `ready`, which is a change too.
        changedAt = max(made.changedAt, made.paidAt ?? made.changedAt).rfc3339
        (paidAt, grant) = (made.paidAt?.rfc3339, made.grant)
    }
}

/// What came of one form of a list.
struct ListedFormItem: Codable, Sendable {
    /// In the list, from 0.
    var place: Int
    /// `sending` until consent has answered.
    var outcome: String
    /// The request that was opened, or the one that covers it.
    var request: RequestID?
    var detail: String?

    static let sending = "sending"

    init(_ entry: PendingRequest) {
        (place, request) = (entry.place, entry.request)
        outcome = entry.outcome?.rawValue ?? Self.sending
        detail = entry.detail ?? entry.outcome?.detail
    }
}

extension PendingRequestOutcome {
    /// What can be done, for people; nil where it went well.
    var detail: String? {
        switch self {
        case .opened: nil
        case .noSuchPerson: "No such person. Check the fiscal code and send this one again; nobody was notified."
        case .tooManyUnknown: "Too many fiscal codes of nobody were asked for today. Check the list and send the rest tomorrow."
        case .covered: "An open request already covers this; see the one that is named."
        case .refused: "This cannot be asked now."
        }
    }
}

/// A list that was sent.
struct RequestListItem: Codable, Sendable {
    var list: JobID
    var persons: Int
    /// Forms that are on their way still.
    var sending: Int
    var createdAt: String
    var items: [ListedFormItem]
    var next: String?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(list, forKey: .list)
        try container.encode(persons, forKey: .persons)
        try container.encode(sending, forKey: .sending)
        try container.encode(createdAt, forKey: .createdAt)
        try container.encode(items, forKey: .items)
        try container.encode(next, forKey: .next)
    }
}

/// One kind of data that can be asked for.
struct DataTypeItem: Codable, Sendable {
    var type: Metric
    var name: String
    var unit: String
    var loinc: String?

    init(_ metric: Metric, _ language: Language) {
        let definition = metric.definition
        (type, unit, loinc) = (metric, definition.unit, definition.loinc)
        name = language == .italian ? definition.italian : definition.english
    }
}

// MARK: Their shapes

enum RequestSchemas {
    static let metricCode = JSONSchema.oneOf(Metric.all.map(\.code))
    static let granularity = JSONSchema.oneOf(GrantGranularity.allCases.map(\.rawValue))
    static let status = JSONSchema.oneOf(RequestStatus.allCases.map(\.rawValue))

    fileprivate static let types = JSONSchema.Property.required(
        "types", .array(of: .string(length: 1...64), count: 1...Metric.all.count), "Codes of `GET /thirdparty/v1/data-types`.")
    fileprivate static let fiscalCode = JSONSchema.string(length: 1...64)
    fileprivate static let length = JSONSchema.string(pattern: PeriodLength.pattern)
    fileprivate static let purpose = JSONSchema.string(length: 1...RequestForm.longestPurpose)
}

extension NewRequestBody: Documented {
    static var schema: JSONSchema {
        .object(
            .required("fiscalCode", RequestSchemas.fiscalCode), RequestSchemas.types, .required("from", .time),
            .optional("to", .time.nullable(), "Not included. After now: a subscription."),
            .optional("length", RequestSchemas.length.nullable(), "Instead of `to`: P7D, P2W, P3M, P1Y."),
            .required("granularity", .string(length: 1...16), "`seconds`, `minutes` or `hours`: the finest step that is handed out."),
            .required("purpose", RequestSchemas.purpose, "The person reads it."),
            .optional("priceListVersion", .integer(in: 0...Int(Int32.max)).nullable(), "Of the quote that you agree to.")
        ).named("NewRequest")
    }
}

extension NewRequestsBody: Documented {
    static var schema: JSONSchema {
        .object(
            .required("fiscalCodes", .array(of: RequestSchemas.fiscalCode, count: 1...PersonList.most)), RequestSchemas.types,
            .required("from", .time), .optional("to", .time.nullable(), "Not included. After now: subscriptions."),
            .optional("length", RequestSchemas.length.nullable(), "Instead of `to`: P7D, P2W, P3M, P1Y."),
            .required("granularity", .string(length: 1...16)), .required("purpose", RequestSchemas.purpose, "Each person reads it."),
            .optional("priceListVersion", .integer(in: 0...Int(Int32.max)).nullable(), "Of the quote that you agree to.")
        ).named("NewRequests")
    }
}

extension MadeRequestItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("request", .identifier(DataRequest.self)), .optional("fiscalCode", .string(), "Absent where the person is gone."),
            .required("month", .string(pattern: "^[0-9]{4}-[0-9]{2}$"), "Of the asking."), .required("status", RequestSchemas.status),
            .required("delivery", .oneOf(DataAvailability.allCases.map(\.rawValue)), "How far its data are."),
            .required("types", .array(of: RequestSchemas.metricCode), "What was asked for."),
            .required("sharedTypes", .array(of: RequestSchemas.metricCode), "What is allowed now."), .required("from", .time),
            .required("to", .time, "Not included."), .required("granularity", RequestSchemas.granularity),
            .required("isSubscription", .boolean, "Whether new data keep flowing until `to`."), .optional("purpose", .string()),
            .optional("askedBy", .string(), "Member or API client."), .required("createdAt", .time),
            .required("answerBy", .time, "Counts as refused from here on."), .required("changedAt", .time),
            .optional("paidAt", .time), .optional("grant", .identifier(Grant.self))
        ).named("Request")
    }
}

extension ListedFormItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("place", .integer(in: 0...PersonList.most), "In the list, from 0; in a table without its header."),
            .required("outcome", .oneOf([sending] + PendingRequestOutcome.allCases.map(\.rawValue))),
            .optional("request", .identifier(DataRequest.self), "The one that was opened, or that covers it."),
            .optional("detail", .string(), "What can be done.")
        ).named("ListedForm")
    }
}

extension RequestListItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("list", .identifier(Job.self)), .required("persons", .integer(in: 1...PersonList.most)),
            .required("sending", .integer(in: 0...PersonList.most), "How many are on their way still."), .required("createdAt", .time),
            .required("items", .array(of: ListedFormItem.schema)), .required("next", .string().nullable())
        ).named("RequestList")
    }
}

extension DataTypeItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("type", RequestSchemas.metricCode), .required("name", .string()), .required("unit", .string(), "UCUM."),
            .optional("loinc", .string())
        ).named("DataType")
    }
}
