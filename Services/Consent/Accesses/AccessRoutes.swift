// The door to the record of accesses over HTTP: who read what of me, and when (SHR-24).

import Contracts
import HTTPKit

/// One page of data that left the suite under a grant, or all pages of an hour.
struct AccessItem: Codable, Sendable {
    var organisation: OrganisationID
    /// Absent where the request that allowed it is not known any more.
    var name: String?
    var purpose: String?
    var grant: GrantID
    var type: Metric
    /// The stretch that the values read lie in; `to` not included.
    var from: String
    var to: String
    var count: Int
    var at: String
    /// Absent for a single read.
    var reads: Int?

    init(_ access: RecordedAccess, _ details: RequestDetails?) {
        (organisation, grant, type, count) = (access.read.organisation, access.read.grant, access.read.metric, access.read.count)
        (name, purpose) = (details?.organisationName, details?.purpose)
        (from, to, at) = (access.read.from.rfc3339, access.read.to.rfc3339, access.at.rfc3339)
        reads = access.reads
    }
}

struct AccessRoutes: Sendable {
    let service: AccessService

    var all: [Route] { [accesses] }

    private var accesses: Route {
        Route(
            .get, "/consent/v1/accesses", access: .person, summary: "Who read which of one's data, and when",
            description: """
                Newest first. Single reads are kept for 24 hours; after that the reads of one hour under one grant and of one type are one \
                item, with `reads`, which is kept for as many days as the setting `shr.access_days` says.
                """,
            parameters: [.limit, .after], answers: [.json(200, "Every access of a third party", Page<AccessItem>.self)]
        ) { exchange in
            let (found, next) = try await service.page(
                of: exchange.person, after: exchange.cursor(AccessPlace.init), limit: exchange.pageLimit)
            return try .json(Page(items: found.map { AccessItem($0.0, $0.1) }, next: next.map(\.description)))
        }
    }
}

extension AccessItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("organisation", .identifier(Organisation.self)), .optional("name", .string()), .optional("purpose", .string()),
            .required("grant", .identifier(Grant.self)), .required("type", SharingSchemas.metricCode), .required("from", .time),
            .required("to", .time, "Not included."),
            .required("count", .integer(in: 1...1_000_000_000_000), "Values that were handed out, in all reads that the item stands for."),
            .required("at", .time, "When; with `reads`, the beginning of the hour."),
            .optional("reads", .integer(in: 1...1_000_000_000), "So many reads of one hour are this item; absent for a single read.")
        ).named("DataAccess")
    }
}
