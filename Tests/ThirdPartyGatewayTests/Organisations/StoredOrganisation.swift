// Organisations and requests put straight into a gateway's store, and the mails that wait there, for tests of other subjects.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

@testable import ThirdPartyGateway

extension OrganisationRepository {
    /// Puts it there unless it is.
    func put(
        _ db: Database, _ id: OrganisationID, _ state: OrganisationState = .active, name: String? = nil
    ) throws {
        guard try table.find(db, id) == nil, let email = EmailAddress("office@cardiolab.example") else { return }
        let address = PostalAddress(street: "Via Larga 1", city: "Milano", postalCode: "20122", country: "IT")
        let details = OrganisationDetails(
            businessName: name ?? "\(id)", vatNumber: "\(id)", legalAddress: address, billingAddress: address, email: email,
            sector: "research", description: "Hearts at rest.", website: nil, researchInterests: nil, representative: nil,
            paymentMethod: .card, language: .italian, accepted: AcceptedConditions(version: "1", at: .now))
        try table.add(db, id, details, at: .now)
        try table.setState(db, id, state, founder: .random(), at: .now)
    }

    /// What waits in an outbox that nobody empties, oldest first.
    static func waitingMails(_ db: Database, sealedUnder key: SymmetricKey) throws -> [SendMessage] {
        try Row.fetchAll(db, sql: "SELECT id, body FROM jobs WHERE kind = 'message' ORDER BY number").map { row in
            let plain = try Seal.open(row[1] as Data, key: key, context: Array("message_outbox|\(row[0] as String)".utf8))
            return try JSONDecoder().decode(SendMessage.self, from: Data(plain))
        }
    }
}

extension BillStore {
    /// A bill of this amount for an accepted request: what costs nothing is paid.
    func put(
        _ db: Database, of request: RequestID, _ organisation: OrganisationID, _ amount: Amount = Amount(minor: 0, currency: "EUR")
    ) throws {
        let scope = RequestScope(types: [.heartRate], from: .now - .seconds(86_400), to: .now, granularity: .minutes)
        let prices = PriceList(currency: amount.currency, perRequest: amount.minor, usual: PriceList.free.usual)
        var bill = Bill(
            payment: .random(), request: request, organisation: organisation, amount: amount, priceListVersion: 0, at: .now)
        _ = bill.accepted(at: .now)
        try add(db, bill, Quote(scope, persons: 1, by: prices, version: 0), scope, at: .now)
    }
}

extension MadeRequest {
    /// One that was accepted.
    init(approved scope: FeedScope, at now: Timestamp) {
        self.init(
            id: scope.request, organisation: scope.organisation, person: scope.person, asked: scope.types, types: scope.types,
            from: scope.from, to: scope.to, granularity: scope.granularity, isSubscription: scope.isSubscription, status: .approved,
            grant: scope.grant, answerBy: now, createdAt: now, changedAt: now, paidAt: nil, deliveredAt: nil)
    }
}
