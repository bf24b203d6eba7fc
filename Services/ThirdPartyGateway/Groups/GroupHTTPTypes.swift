// What the gateway says over HTTP of group requests and of what can be asked for.

import Contracts
import Foundation
import HTTPKit

/// What was released, without its entries.
struct GroupReleaseItem: Codable, Sendable {
    var product: String
    var types: [String]
    var from: String
    var to: String
    var granularity: String
    var attributes: [String]
    var individuals: Int
    var tables: Int
    var entries: Int

    init(_ release: GroupRelease) {
        (product, types, granularity, attributes) = (release.product, release.types, release.granularity, release.attributes)
        (from, to) = (release.from.rfc3339, release.to.rfc3339)
        (individuals, tables, entries) = (release.individuals, release.tables, release.entries)
    }
}

/// What was opened.
struct GroupSubscriptionItem: Codable, Sendable {
    enum State: String, Codable, CaseIterable, Sendable {
        /// Windows come as they close.
        case running
        /// By its organisation, or since its period is over; the last windows may come some minutes later.
        case ended

        init(isEnded: Bool) { self = isEnded ? .ended : .running }
    }

    var state: State
    var product: String
    var types: [String]
    var from: String
    var to: String
    var granularity: String
    var attributes: [String]

    init(_ opened: GroupSubscription, _ shown: ShownGroupRequest) {
        state = State(isEnded: shown.isEnded)
        (product, types, granularity, attributes) = (opened.product, opened.types, opened.granularity, opened.attributes)
        (from, to) = (opened.from.rfc3339, opened.to.rfc3339)
    }
}

/// One window of a subscription.
struct GroupWindowItem: Codable, Sendable {
    var window: Int
    var status: GroupWindowStatus
    var from: String
    var to: String
    var toldAt: String

    init(_ window: GroupWindow) {
        (self.window, status, toldAt) = (window.sequence, window.status, window.toldAt.rfc3339)
        (from, to) = (window.from.rfc3339, window.to.rfc3339)
    }
}

/// What a listener is told where there is no new window.
struct GroupHeartbeat: Codable, Sendable {
    /// The number of the last window.
    var head: Int
    var state: GroupSubscriptionItem.State
}

/// One group request as its organisation sees it.
struct GroupRequestItem: Codable, Sendable {
    var id: GroupRequestID
    var status: GroupRequestStatus
    var delivery: DataAvailability
    /// As it was typed, so that it can be changed and sent again.
    var form: TypedGroupForm
    var release: GroupReleaseItem?
    var subscription: GroupSubscriptionItem?
    var reason: GroupRefusal?
    var errors: [Problem.FieldError]?
    var price: AmountItem?
    var payment: PaymentID?
    var askedBy: String
    var createdAt: String
    var answeredAt: String?

    init(_ shown: ShownGroupRequest, _ language: Language) {
        let stored = shown.stored
        (id, status, form, askedBy) = (stored.id, stored.status, shown.draft.form, shown.draft.askedBy)
        delivery = DataAvailability(shown)
        release = shown.outcome?.release.map(GroupReleaseItem.init)
        subscription = shown.outcome?.subscription.map { GroupSubscriptionItem($0, shown) }
        reason = shown.outcome?.refusal
        errors = shown.faults.flatMap { Problem.invalidBody($0).said(in: language).errors }
        price = shown.bill.map { AmountItem($0.amount) }
        payment = shown.bill?.payment
        (createdAt, answeredAt) = (stored.createdAt.rfc3339, stored.answeredAt?.rfc3339)
    }
}

extension ShownGroupRequest {
    /// What was wrong with the form; nil where nothing was.
    var faults: [Problem.FieldError]? { outcome?.faults.map { $0.map(\.fieldError) } }
}

extension DataAvailability {
    init(_ shown: ShownGroupRequest) {
        switch (shown.stored.status, shown.bill?.status) {
        case (.sending, _): self = .waiting
        case (.accepted, .paid?): self = .ready
        case (.accepted, .disputed?): self = .paymentContested
        case (.accepted, .refunding?), (.accepted, .refunded?), (.accepted, .refundRefused?): self = .givenBack
        case (.accepted, .notDue?), (.accepted, .due?): self = .paymentOutstanding
        case (.accepted, .void?), (.accepted, nil), (.refused, _), (.invalid, _): self = .closed
        }
    }
}

/// Why a group cannot be anonymised: the same bytes for the same reason and language, whatever was asked (ANO-08).
struct GroupRefusalBody: Codable, Sendable {
    var type: String
    var title: String
    var status: Int
    var detail: String?
    var reason: GroupRefusal
    /// The same for every reason (ANO-08); `detail` says what helps against this one.
    var message: String?

    init(_ reason: GroupRefusal, in language: Language) {
        let problem = Problem.groupNotAnonymisable.said(in: language)
        (type, title, status) = (problem.type, problem.title, problem.status)
        (detail, self.reason, message) = (Problem.groupRefused(for: reason).said(in: language).detail, reason, problem.detail)
    }

    /// It holds no request's id either.
    func answer() throws -> HTTPAnswer {
        try .bytes(TaggedAnswer.bytes(self), contentType: MediaType.problem, status: status)
    }
}

/// What can be asked for.
struct GroupCatalogueItem: Codable, Sendable {
    struct DataType: Codable, Sendable {
        var type: String
        var unit: String
        var components: Int
    }

    struct Domain: Codable, Sendable {
        var attribute: String
        var least: Int
        var most: Int
        var step: Int
    }

    var types: [DataType]
    var granularities: [String]
    var products: [String]
    var attributes: [String]
    var domains: [Domain]
    var sexes: [String]
    var occupations: [String]
    var minIndividuals: Int
    var closedThrough: String?

    init(_ reply: ReadGroupCatalogue.Reply) {
        types = reply.types.map { DataType(type: $0.code, unit: $0.unit, components: $0.components) }
        (granularities, products, attributes) = (reply.granularities, reply.products, reply.attributes)
        domains = reply.domains.map { Domain(attribute: $0.attribute, least: $0.least, most: $0.most, step: $0.step) }
        (sexes, occupations, minIndividuals) = (reply.sexes, reply.occupations, reply.minIndividuals)
        closedThrough = reply.closedThrough?.rfc3339
    }
}

struct GroupPlaceItem: Codable, Sendable {
    var code: String
    var name: String
    var level: String

    init(_ place: FindGroupPlaces.Place) {
        (code, name, level) = (place.code, place.name, place.level)
    }
}

struct GroupPlacesItem: Codable, Sendable {
    var items: [GroupPlaceItem]
}

// MARK: Their shapes

private let codes = JSONSchema.array(of: .string())

extension TypedGroupForm: Documented {
    /// Of one list in a form; places alone may be so many.
    private static let mostItems = 1000

    private static func list(_ most: Int) -> JSONSchema { .array(of: .string(length: 1...64), count: 0...most).nullable() }

    private static let interval = JSONSchema.object(
        .optional("from", .integer(in: 0...1000).nullable(), "Included; the least that the catalogue names unless told."),
        .optional("to", .integer(in: 0...1000).nullable(), "Included; the most unless told.")
    ).named("GroupInterval")

    static var schema: JSONSchema {
        let area = JSONSchema.object(
            .required("latitude", .number(in: -90...90)), .required("longitude", .number(in: -180...180))
        ).named("GroupArea")
        let filters = JSONSchema.object(
            .optional("age", interval.nullable(), "In whole years."),
            .optional("weight", interval.nullable(), "In kg, multiples of the catalogue's step."),
            .optional("height", interval.nullable(), "In cm, likewise."), .optional("sex", list(16)), .optional("occupation", list(16)),
            .optional("residence", list(mostItems), "Codes of places of any level."), .optional("birth", list(mostItems), "Likewise."),
            .optional(
                "area", area.nullable(),
                """
                Where the data were collected: the square of about 1 km that holds this place. Of days that are over alone: a subscription \
                has none.
                """)
        ).named("GroupFilters")
        return .object(
            .required("filters", filters, "At least one that chooses people; `area` chooses none."),
            .required("types", .array(of: .string(length: 1...64), count: 0...64), "Of the catalogue, each once."),
            .required("from", .time, "Whole days of UTC are released: that day's beginning."),
            .required("to", .time, "Not included. After now: a subscription, whose windows of `granularity` are judged as they close."),
            .required("granularity", .string(length: 1...16), "Of the catalogue; what is released may be coarser."),
            .optional("product", .string(length: 1...16).nullable(), "`records` unless told, or `statistics`."),
            .optional("attributes", list(16), "By which people are classed; the product's own unless told."),
            .optional("minIndividuals", .integer(in: 0...Int(Int32.max)).nullable(), "The wanted size, a floor.")
        ).named("NewGroupRequest")
    }

    static let example: JSONValue = [
        "filters": ["age": ["from": 30, "to": 50], "sex": ["female"], "residence": ["IT-25"]], "types": ["heart-rate"],
        "from": "2026-01-01T00:00:00Z", "to": "2026-01-08T00:00:00Z", "granularity": "hour", "product": "records",
        "attributes": ["age", "sex"], "minIndividuals": 2000,
    ]
}

extension GroupReleaseItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("product", .string()), .required("types", codes), .required("from", .time), .required("to", .time, "Not included."),
            .required("granularity", .string(), "Coarser than what was asked for where that had too few people."),
            .required("attributes", codes), .required("individuals", .integer(), "Distinct people, floored to 50."),
            .required("tables", .integer()), .required("entries", .integer())
        ).named("GroupRelease")
    }
}

extension GroupSubscriptionItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("state", .oneOf(State.allCases.map(\.rawValue))), .required("product", .string()), .required("types", codes),
            .required("from", .time, "The beginning of the first window."), .required("to", .time, "Not included."),
            .required("granularity", .string(), "The length of a window; those that were too small are joined with the next ones."),
            .required("attributes", codes)
        ).named("GroupSubscription")
    }
}

extension GroupWindowItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("window", .integer(in: 1...Int.max), "Its number, without gaps: `window` of the entries."),
            .required("status", .oneOf(GroupWindowStatus.allCases.map(\.rawValue))), .required("from", .time),
            .required("to", .time, "Not included."), .required("toldAt", .time)
        ).named("GroupWindow")
    }
}

extension GroupRequestItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("id", .identifier(GroupDataRequest.self)),
            .required("status", .oneOf(GroupRequestStatus.allCases.map(\.rawValue))),
            .required("delivery", .oneOf(DataAvailability.allCases.map(\.rawValue)), "How far its data are."),
            .required("form", TypedGroupForm.schema, "As it was sent."), .optional("release", GroupReleaseItem.schema, "Where accepted."),
            .optional("subscription", GroupSubscriptionItem.schema, "Where accepted, of a period that goes on: in place of `release`."),
            .optional("reason", .oneOf(GroupRefusal.allCases.map(\.rawValue)), "Where refused."),
            .optional("errors", .array(of: Problem.FieldError.schema), "Where the form is invalid."),
            .optional("price", AmountItem.schema, "Where accepted: with tax; 0 where it is free."),
            .optional("payment", .identifier(Payment.self), "Where accepted."), .required("askedBy", .string(), "Member or API client."),
            .required("createdAt", .time), .optional("answeredAt", .time)
        ).named("GroupRequest")
    }
}

extension GroupCatalogueItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required(
                "types",
                .array(
                    of: .object(
                        .required("type", .string()), .required("unit", .string(), "UCUM; empty for positions."),
                        .required("components", .integer(), "Values of an entry.")
                    ).named("GroupDataType"))),
            .required("granularities", codes), .required("products", codes), .required("attributes", codes),
            .required(
                "domains",
                .array(
                    of: .object(
                        .required("attribute", .string()), .required("least", .integer()), .required("most", .integer()),
                        .required("step", .integer(), "Bounds are multiples of it.")
                    ).named("GroupDomain"))),
            .required("sexes", codes), .required("occupations", codes),
            .required("minIndividuals", .integer(), "More distinct people than this are behind every table."),
            .optional("closedThrough", .time, "What was measured later is in no group's data yet.")
        ).named("GroupCatalogue")
    }
}

extension GroupPlacesItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required(
                "items",
                .array(
                    of: .object(
                        .required("code", .string(), "For `residence` and `birth`."), .required("name", .string()),
                        .required("level", .string(), "`world`, `continent`, `country`, `macro-area`, `region`, `province` or `city`.")
                    ).named("GroupPlace")))
        ).named("GroupPlaces")
    }
}
