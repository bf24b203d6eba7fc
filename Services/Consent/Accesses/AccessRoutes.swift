// The door to the record of accesses over HTTP: who read what of me, and when (SHR-24).

import Contracts
import HTTPKit

/// One page of data that left the suite under a grant.
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

    init(_ access: StoredAccess, _ details: RequestDetails?) {
        (organisation, grant, type, count) = (access.read.organisation, access.read.grant, access.read.metric, access.read.count)
        (name, purpose) = (details?.organisationName, details?.purpose)
        (from, to, at) = (access.read.from.rfc3339, access.read.to.rfc3339, access.at.rfc3339)
    }
}

struct AccessRoutes: Sendable {
    let record: AccessRecord

    var all: [Route] { [accesses] }

    private var accesses: Route {
        Route(
            .get, "/consent/v1/accesses", access: .person, summary: "Who read which of one's data, and when", description: "Newest first.",
            parameters: [.limit, .after], answers: [.json(200, "Every access of a third party", Page<AccessItem>.schema)]
        ) { exchange in
            let (found, next) = try await record.page(
                of: exchange.person, before: exchange.cursor(Int64.init), limit: exchange.pageLimit)
            return try .json(Page(items: found.map { AccessItem($0.0, $0.1) }, next: next.map(String.init)))
        }
    }
}

extension AccessItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("organisation", .identifier(Organisation.self)), .optional("name", .string()), .optional("purpose", .string()),
            .required("grant", .identifier(Grant.self)), .required("type", SharingSchemas.metricCode), .required("from", .time),
            .required("to", .time, "Not included."), .required("count", .integer(in: 1...1_000_000), "Values that were handed out."),
            .required("at", .time, "When.")
        ).named("DataAccess")
    }
}
