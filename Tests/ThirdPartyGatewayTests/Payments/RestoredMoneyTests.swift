// Money and invoices of a store that was restored from a copy: nothing is charged again, and no number is given again.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Payments: after a restore")
struct RestoredMoneyTests {
    /// A copy of the store as it is; a start after it, as a backup is older than the last mark.
    private static func copy(_ harness: PaymentHarness) async throws -> URL {
        let copy = harness.folder.appendingPathComponent("copy.db")
        try await harness.store.copy(to: copy)
        try await harness.restart()
        return copy
    }

    @Test("PAY-06: after a restore numbers of invoices were given again, to others: a series of its own begins, at each restore of a copy")
    func invoices() async throws {
        try await PaymentHarness.playWithPrices { harness in
            try await harness.pay(harness.accepted())
            let copy = try await Self.copy(harness)
            try await harness.pay(harness.accepted())
            var given = Set(try await harness.invoices().map(\.number))
            #expect(given == [InvoiceNumber(year: 2026, number: 1), InvoiceNumber(year: 2026, number: 2)])
            for _ in 0..<2 {
                harness.pass(.seconds(60))
                try await harness.restart(from: copy)
                for _ in 0..<2 { try await harness.pay(harness.accepted()) }
                let numbers = try await harness.invoices().map(\.number)
                #expect(numbers.map(\.number) == [2, 1, 1] && Set(numbers.map(\.series)).count == 2, "without gaps in the new series")
                #expect(given.isDisjoint(with: numbers.prefix(2)))
                given.formUnion(numbers)
            }
            harness.pass(.seconds(366 * 86_400))
            try await harness.pay(harness.accepted())
            #expect(try await harness.invoices().first?.number == InvoiceNumber(year: 2027, number: 1), "nothing was given in that year")
        }
    }

    @Test(
        "PAY-06: a restore under a clock behind the copy gave numbers again: a series that had been, or none once the clock was right",
        arguments: [3600, 400 * 86_400])
    func clockBehind(seconds: Int) async throws {
        try await PaymentHarness.playWithPrices { harness in
            harness.pass(.seconds(30 * 86_400))
            try await harness.pay(harness.accepted())
            let copy = try await Self.copy(harness)
            let copied = Set(try await harness.invoices().map(\.number))
            try await harness.pay(harness.accepted())
            var given = Set(try await harness.invoices().map(\.number))
            // The same copy twice, at one instant of the wrong clock.
            for _ in 0..<2 {
                harness.pass(.seconds(-seconds))
                try await harness.restart(from: copy)
                try await harness.pay(harness.accepted())
                harness.pass(.seconds(seconds))
                try await harness.pay(harness.accepted())
                let new = Set(try await harness.invoices().map(\.number)).subtracting(copied)
                #expect(new.count == 2 && given.isDisjoint(with: new), "\(given) and \(new)")
                let series = Set(new.map(\.series))
                #expect(series.count == 1 && !series.contains(0), "of the wrong year and of the right one")
                given.formUnion(new)
            }
        }
    }

    @Test("PAY-09: what was paid after the copy was charged once more after a restore: the handler is asked first, whoever was told of it")
    func paidSince() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            let copy = try await Self.copy(harness)
            let payment = try await harness.bill(request).payment
            _ = try await harness.parts.service.abandon(payment, of: request.organisation)
            try await harness.pay(request)
            let other = try await harness.accepted()
            try await harness.pay(other)
            #expect(harness.card.charges == 2)
            try await harness.restart(from: copy)
            #expect(try await harness.bill(request).status == .due)
            // Of another handler's money the payer is told.
            #expect(await problemName { try await harness.pay(request, by: .paypal) } == "payment-declined")
            #expect(try await harness.messages().last?.values["reason"] == "paid-by-scripted-before")
            #expect(try await harness.pay(request).stored.bill.status == .paid)
            // Consent tells again of a request that the copy has not.
            _ = try await harness.accepted(other.id)
            #expect(try await harness.pay(other).stored.bill.status == .paid)
            #expect(harness.card.charges == 2 && harness.payPal.charges == 0)
            #expect(harness.card.money(payment).charges == 1)
        }
    }

    @Test("PAY-06: invoices of an earlier version keep their numbers")
    func migrated() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("gateway.db")
            func open(_ steps: Int) throws -> Store {
                try Store.open(
                    file, applicationID: 1, migrations: Array(GatewaySchema.migrations.prefix(steps)), logger: PaymentHarness.quiet)
            }
            let old = try open(12)
            let bills = BillStore(key: try SymmetricKey(bytes: [UInt8](repeating: 9, count: 32)))
            let (request, organisation) = (RequestID.random(), OrganisationID.random())
            try await old.write { db in
                try bills.put(db, of: request, organisation, Amount(minor: 500, currency: "EUR"))
                let payment = try bills.find(db, of: request)?.bill.payment
                try db.execute(
                    sql: """
                        INSERT INTO invoices (year, number, kind, payment, organisation, issued_at, content)
                        VALUES (2026, 7, 'invoice', ?, ?, 0, x'00')
                        """, arguments: [payment, organisation])
            }
            await old.close()
            let new = try open(13)
            let numbers = try await new.read { db in
                try Row.fetchAll(db, sql: "SELECT year, series, number FROM invoices").map { [$0[0], $0[1], $0[2]] as [Int] }
            }
            #expect(numbers == [[2026, 0, 7]])
            await new.close()
        }
    }
}
