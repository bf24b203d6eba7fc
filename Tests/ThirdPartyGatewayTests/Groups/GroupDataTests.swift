// What was released of a group: paid before it leaves, cut down on read, safe to open.

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Data of groups")
struct GroupDataTests {
    private static let prices = PriceList(
        currency: "EUR", perRequest: 1200, usual: PriceList.free.usual, taxBasisPoints: 2200,
        groups: .init(perRequest: 5000, perThousandEntries: 100))

    @Test("ANO-12: an accepted group request is billed; nothing leaves before it is paid, everything after, nothing once it went back")
    func paid() async throws {
        try await GroupHarness.run(prices: Self.prices) { harness in
            harness.world.release((0..<1500).map { .at(hour: $0 % 24) })
            let answer = try await harness.call("POST", "/group-requests", GroupHarness.form()).expect(status: 201)
            let id = try #require((answer.json["id"] as? String).flatMap { GroupRequestID($0) })
            // 50 euro and two thousands begun, with 22 % tax.
            #expect((answer.json["price"] as? [String: Any])?["decimal"] as? String == "63.44")
            #expect(answer.json["delivery"] as? String == "payment-outstanding")
            #expect((answer.json["payment"] as? String)?.hasPrefix("pay_") == true)
            for form in ["application/json", "application/x-ndjson", "text/csv"] {
                let refused = try await harness.call("GET", "/group-requests/\(id)/entries", headers: ["Accept": form])
                #expect(refused.status == 402 && refused.problem == "payment-outstanding", "\(refused.text)")
            }
            #expect(harness.world.reads.isEmpty)
            try await harness.pay(id)
            #expect(try await harness.call("GET", "/group-requests/\(id)").json["delivery"] as? String == "ready")
            #expect(try await harness.call("GET", "/group-requests/\(id)/entries?limit=7").items.count == 7)
            let stored = try await harness.opened.store.read { [stores = harness.stores] db in
                try stores.bills.find(db, of: id.billed)
            }
            #expect(stored?.bill.isDelivered == true && stored?.requestName == "\(id)")
            try await harness.giveBack(id)
            #expect(try await harness.call("GET", "/group-requests/\(id)").json["delivery"] as? String == "given-back")
            #expect(try await harness.call("GET", "/group-requests/\(id)/entries").status == 403)
        }
    }

    @Test("A refused group request costs nothing, and there is nothing to fetch")
    func refusedIsFree() async throws {
        try await GroupHarness.run(prices: Self.prices) { harness in
            harness.world.refuse(.tooSimilar)
            let refused = try await harness.call("POST", "/group-requests", GroupHarness.form()).expect(status: 422)
            let path = try #require(refused.header("location")).replacing("/thirdparty/v1", with: "")
            #expect(try await harness.call("GET", path).json["payment"] == nil)
            #expect(try await harness.call("GET", path + "/entries").problem == "group-not-released")
            let (bills, organisation) = (harness.stores.bills, harness.organisation)
            #expect(try await harness.opened.store.read { db in try bills.outstanding(db, organisation) }.isEmpty)
        }
    }

    @Test("ANO-17: a delivered set is cut down on read by type and by hours of the day, also over midnight")
    func cutDown() async throws {
        try await GroupHarness.run { harness in
            harness.world.release((0..<24).flatMap { [GroupEntry.at(hour: $0), GroupEntry.at(hour: $0, type: "glucose")] })
            let path = "/group-requests/\(try await harness.accepted())/entries"
            func hours(_ query: String) async throws -> [String] {
                try await harness.call("GET", path + query).items.compactMap { ($0["from"] as? String)?.dropFirst(11).prefix(2) }
                    .map { String($0) }
            }
            #expect(try await hours("?type=glucose&hourFrom=7&hourTo=9") == ["07", "08"])
            #expect(try await hours("?type=glucose&hourFrom=22&hourTo=2") == ["00", "01", "22", "23"])
            #expect(try await hours("?type=glucose&hourFrom=23") == ["23"])
            #expect(try await hours("?type=glucose&hourTo=1") == ["00"])
            let lines = try await harness.call("GET", path + "?hourFrom=7&hourTo=9", headers: ["Accept": "application/x-ndjson"])
            #expect(lines.text.split(separator: "\n").count == 4)
            #expect(try await harness.call("GET", path + "?hourFrom=25").status == 400)
        }
    }

    @Test("A type that nobody had asked for gave empty pages, and format=csv gave JSON: the one is refused, the other is CSV")
    func typesAndFormats() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8), .at(hour: 9, type: "glucose")])
            let path = "/group-requests/\(try await harness.accepted())/entries"
            let strange = try await harness.call("GET", path + "?type=steps")
            #expect(strange.status == 400 && strange.problem == "invalid-parameter")
            #expect(strange.text.contains("query:type") && strange.text.contains("glucose"), "\(strange.text)")
            let table = try await harness.call("GET", path + "?format=csv&type=glucose")
            #expect(table.header("content-type")?.hasPrefix("text/csv") == true)
            #expect(table.text.split(whereSeparator: \.isNewline).count == 2, "\(table.text)")
            let lines = try await harness.call("GET", path + "?format=ndjson", headers: ["Accept": "text/csv"])
            #expect(lines.header("content-type") == "application/x-ndjson" && lines.text.split(separator: "\n").count == 2)
            #expect(try await harness.call("GET", path + "?format=fhir").status == 400)
        }
    }

    @Test("What was released after a copy that was put back answered 503 for ever: it is gone, and says what to do")
    func lost() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            let history = try await harness.accepted()
            harness.world.subscribe()
            let subscription = try await harness.accepted(GroupHarness.form(to: "2026-12-01T00:00:00Z"))
            try await harness.closes(subscription, 1, .released)
            harness.world.forget()
            for path in ["\(history)/entries", "\(history)/entries?format=csv", "\(subscription)/entries?window=1"] {
                let gone = try await harness.call("GET", "/group-requests/" + path)
                #expect(gone.status == 410 && gone.problem == "group-release-lost", "\(gone.text)")
                #expect(gone.text.contains("money back"))
            }
        }
    }

    @Test("What a restore lost before it was paid asked for payment first, and was told as lost only after it: nobody pays for it")
    func lostUnpaid() async throws {
        try await GroupHarness.run(prices: Self.prices) { harness in
            harness.world.release([.at(hour: 8)])
            let (unpaid, asked, paid) = (try await harness.accepted(), try await harness.accepted(), try await harness.accepted())
            #expect(try await harness.call("GET", "/group-requests/\(asked)/entries").status == 402)
            try await harness.pay(paid)
            let found = try await harness.opened.store.read { [table = harness.stores.payments.paymentStore.table] db in
                try table.find(db, of: unpaid.billed)
            }
            let bill = try #require(found)
            try await harness.parts.service.review(bill)
            harness.world.forget()
            await #expect(throws: Problem.groupReleaseLost) { try await harness.parts.service.review(bill) }
            for (id, status) in [(unpaid, PaymentStatus.void), (asked, .void), (paid, .refunding)] {
                for _ in 0..<2 {
                    let gone = try await harness.call("GET", "/group-requests/\(id)/entries")
                    #expect(gone.status == 410 && gone.problem == "group-release-lost", "\(gone.text)")
                }
                #expect(try await harness.status(of: id) == status)
            }
        }
    }

    @Test("Words in a table that a spreadsheet would take for a formula stay words")
    func spreadsheets() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8, age: "=cmd|' /C calc'!A0", values: [-500])])
            let path = "/group-requests/\(try await harness.accepted())/entries"
            let table = try await harness.call("GET", path, headers: ["Accept": "text/csv"])
            #expect(table.text.contains(",'=cmd|' /C calc'!A0,female,-0.5,"), "\(table.text)")
            for words in ["=1", "+1", "-1", "@a", "\tb", "\rc", "＝1"] { #expect(SpreadsheetCell.text(words) == "'" + words) }
            for words in ["30-39", "", "IT-25", "a=b"] { #expect(SpreadsheetCell.text(words) == words) }
        }
    }

    @Test(
        "Thousandths are written as exact decimals",
        arguments: [
            (0, "0"), (67_500, "67.5"), (67_000, "67"), (50, "0.05"), (-50, "-0.05"), (-1_234, "-1.234"), (7, "0.007"),
            (Int.min, "-9223372036854775.808"),
        ])
    func decimals(thousandths: Int, text: String) {
        #expect(Thousandths.text(thousandths) == text)
    }

    @Test("Every code of the anonymiser has a row of its own, also without its numbers")
    func codes() {
        let codes = [
            "nothing-chosen": "nothing-chosen", "named-twice": "named-twice", "unknown": "not-in-catalogue", "too-many": "wrong-count",
            "reversed": "reversed", "outside": "out-of-range", "not-a-multiple": "not-a-multiple", "not-after": "not-after",
            "outside-period": "outside-period", "nothing-closed": "nothing-closed", "too-long": "period-too-long", "at-least": "at-least",
            "at-most": "at-most", "not-offered": "not-offered", "closed-days-only": "closed-days-only",
        ]
        for (code, told) in codes {
            #expect(GroupFormFault(pointer: "/to", code: code, numbers: [5, 60, 65]).fieldError.code == told)
            #expect(!GroupFormFault(pointer: "/to", code: code, numbers: []).fieldError.code.isEmpty)
        }
    }

    @Test("PAY-01: the data of groups are free unless the list has a price for them; rebates for persons do not count")
    func quotes() {
        let scope = RequestScope(
            types: [], from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 1), granularity: .hours,
            group: GroupScope(request: .random(), entries: 2001))
        var list = Self.prices
        list.rebates = [.init(fromPersons: 2, percent: 50)]
        let quote = Quote(scope, persons: 1, by: list, version: 1)
        #expect((quote.net, quote.tax, quote.rebatePercent) == (5300, 1166, 0))
        list.groups = nil
        #expect(Quote(scope, persons: 1, by: list, version: 1).perPerson.isNothing)
        list.groups = .init(perRequest: -1, perThousandEntries: PriceList.highestPrice + 1)
        #expect(list.faults.count == 2)
        list.groups = .init(perRequest: PriceList.highestPrice, perThousandEntries: PriceList.highestPrice)
        var dear = scope
        dear.group = GroupScope(request: .random(), entries: .max)
        list.taxBasisPoints = 10_000
        #expect(Quote(dear, persons: 1, by: list, version: 1).total.minor > 0)
    }
}
