// A price list as an operator writes it into a file.

import ArgumentParser
import Contracts
import Foundation
import Testing

@testable import Operator

@Suite("Price files")
struct PriceFileTests {
    private static let text = """
        {"currency":"EUR","perRequest":500,"usual":{"seconds":20,"minutes":10,"hours":5},
        "types":{"position":{"seconds":40,"minutes":20,"hours":10}},"rebates":[{"fromPersons":10,"percent":15}],"taxBasisPoints":2200}
        """

    @Test("PAY-01: what `prices show` writes is what `prices set` reads, and the example of the help is a list")
    func roundTrip() throws {
        let list = try PriceFile.list(Data(Self.text.utf8))
        #expect(list.types["position"]?.seconds == 40 && list.faults.isEmpty)
        #expect(try PriceFile.list(Data(try PriceFile.text(of: list).utf8)) == list)
        #expect(try PriceFile.list(Data(try PriceFile.text(of: .free).utf8)) == .free)
        let groups = #""taxBasisPoints":2200,"groups":{"perRequest":5000,"perThousandEntries":100}}"#
        let priced = try PriceFile.list(Data(Self.text.replacing(#""taxBasisPoints":2200}"#, with: groups).utf8))
        #expect(priced.groups?.perRequest == 5000 && priced.faults.isEmpty)
        #expect(try PriceFile.list(Data(try PriceFile.text(of: priced).utf8)) == priced)
        let example = SetPricesCommand.configuration.discussion.replacing("\n", with: " ")
        #expect(example.contains(#""currency":"EUR","perRequest":500"#))
    }

    @Test("PAY-01: a file that is no list, or a list that cannot be used, is refused before the suite is asked")
    func refused() {
        for text in ["", "{}", "[]", Self.text.replacing("\"EUR\"", with: "7")] {
            #expect(throws: OperatorError.self) { try PriceFile.list(Data(text.utf8)) }
        }
        for (part, other) in [("EUR", "Euro"), ("500", "-1"), ("position", "telepathy"), ("2200", "20000"), ("15}", "150}")] {
            do {
                _ = try PriceFile.list(Data(Self.text.replacing(part, with: other).utf8))
                Issue.record("\(other) was taken")
            } catch {
                #expect("\(error)".contains("expected") || "\(error)".contains("there is no such data type"))
            }
        }
        #expect(throws: OperatorError.self) { try PriceFile.read("/nowhere/prices.json") }
    }

    @Test(
        "a price list without types or rebates was refused without a word of what is missing: the member is named",
        arguments: [
            (#""rebates":[{"fromPersons":10,"percent":15}],"#, "", "rebates is missing"),
            (#""types":{"position":{"seconds":40,"minutes":20,"hours":10}},"#, "", "types is missing"),
            (#","hours":10"#, "", "types.position.hours is missing"), (#""EUR""#, "7", "currency is of the wrong form"),
            (#""percent":15"#, #""percent":"15""#, "rebates.0.percent is of the wrong form"), ("}", "", "it is no JSON object"),
        ])
    func named(_ part: String, _ other: String, _ fault: String) {
        do {
            _ = try PriceFile.list(Data(Self.text.replacing(part, with: other).utf8))
            Issue.record("it was taken")
        } catch {
            #expect("\(error)".contains(fault), "\(error)")
        }
    }

    @Test("payments are named by their ids")
    func arguments() throws {
        let payment = PaymentID.random()
        #expect(try MarkPaidCommand.parse(["\(payment)"]).payment == payment)
        #expect(try RefundPaymentCommand.parse(["\(payment)"]).request.payment == payment)
        #expect(try ListPaymentsCommand.parse(["--status", "due"]).status == .due)
        #expect(throws: (any Error).self) { try MarkPaidCommand.parse(["pay_x"]) }
        #expect(throws: (any Error).self) { try ListPaymentsCommand.parse(["--status", "unpaid"]) }
    }
}
