// Objects of another organisation, by the name of the path parameter that names them: what the matrix asks for in vain.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage

@testable import ThirdPartyGateway

struct ForeignObjects: Sendable {
    /// By path parameter. A parameter without an object of its own is tried with a random id, which must be refused alike.
    private var ids: [String: String] = [:]

    /// Makes one of each kind for `other`.
    init(_ parts: GatewayModule, of other: MatrixOrganisation) async throws {
        ids["member"] = "\(other.members[.analyst]?.id ?? .random())"
        ids["client"] = "\(other.client.id)"
        let (request, file, list) = try await Self.requests(parts, of: other)
        (ids["request"], ids["file"], ids["list"]) = ("\(request)", "\(file)", "\(list)")
        let paid = try await PaidRequest.make(parts, of: other.id)
        (ids["payment"], ids["invoice"]) = ("\(paid.payment)", "\(paid.invoice)")
        let subscribed = try await ForeignSubscription.make(parts, of: other.id)
        (ids["subscription"], ids["endpoint"]) = ("\(subscribed.subscription)", "\(subscribed.endpoint)")
        ids["message"] = "\(subscribed.message)"
        ids["token"] = String(repeating: "A", count: OrganisationLinkStore.tokenCharacters)
    }

    /// An approved and paid request with a file, and a list.
    private static func requests(_ parts: GatewayModule, of other: MatrixOrganisation) async throws -> (RequestID, JobID, JobID) {
        let (request, file, list, now) = (RequestID.random(), JobID.random(), JobID.random(), Timestamp(milliseconds: 1))
        let made = MadeRequest(
            id: request, organisation: other.id, person: .random(), asked: [.heartRate], types: [.heartRate],
            from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 10), granularity: .hours, isSubscription: false,
            status: .approved, grant: .random(), answerBy: now, createdAt: now, changedAt: now, paidAt: nil, deliveredAt: nil)
        try await parts.opened.store.write { db in
            try RequestStore().add(db, made)
            try RequestStore().paid(db, request, at: now)
            let order = DataFileOrder(format: .csv, types: [.heartRate], from: made.from, to: made.to)
            try DataFileStore().add(
                db,
                DataFileJob(
                    job: file, request: request, organisation: other.id, person: made.person ?? .random(), state: .open, order: order,
                    createdAt: now, endedAt: nil, parts: [], fault: nil))
            try PendingRequestStore().add(
                db,
                RequestBatch(id: list, organisation: other.id, organisationName: "Other", persons: 1, priceListVersion: nil, createdAt: now)
            )
        }
        return (request, file, list)
    }

    /// The path with every parameter filled in.
    func path(_ route: Route) -> String {
        route.path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard segment.hasPrefix("{") else { return String(segment) }
            let name = String(segment.dropFirst().dropLast())
            return ids[name] ?? Self.random(name)
        }.joined(separator: "/")
    }

    private static func random(_ name: String) -> String {
        switch name {
        case "request": "\(RequestID.random())"
        case "payment", "invoice": "\(PaymentID.random())"
        case "endpoint": "\(WebhookEndpointID.random())"
        case "subscription", "grant": "\(GrantID.random())"
        case "job", "file": "\(JobID.random())"
        default: "unknown"
        }
    }
}
