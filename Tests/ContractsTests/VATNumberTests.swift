// VAT numbers as each country of VIES writes them: tables of cases, and check digits over made numbers.

import Contracts
import TestKit
import Testing

@Suite("VAT numbers")
struct VATNumberTests {
    @Test(
        "ORG-07: a right number is taken in its country's form, whatever its case, spaces and marks",
        arguments: [
            ("00743110157", "IT00743110157"), ("it 00743110157", "IT00743110157"), ("IT-007.431.101-57", "IT00743110157"),
            ("12345678903", "IT12345678903"), ("ATU12345678", "ATU12345678"), ("BE0123456789", "BE0123456789"),
            ("BG123456789", "BG123456789"),
            ("CY12345678X", "CY12345678X"), ("CZ12345678", "CZ12345678"), ("DE 136 695 976", "DE136695976"), ("DK12345678", "DK12345678"),
            ("EE123456789", "EE123456789"), ("EL123456789", "EL123456789"), ("ESX1234567X", "ESX1234567X"), ("ES12345678Z", "ES12345678Z"),
            ("FI12345678", "FI12345678"), ("FRXX123456789", "FRXX123456789"), ("HR12345678901", "HR12345678901"),
            ("HU12345678", "HU12345678"),
            ("IE1234567WA", "IE1234567WA"), ("IE1A23456W", "IE1A23456W"), ("LT123456789", "LT123456789"), ("LU12345678", "LU12345678"),
            ("LV12345678901", "LV12345678901"), ("MT12345678", "MT12345678"), ("NL123456789B01", "NL123456789B01"),
            ("PL1234567890", "PL1234567890"), ("PT123456789", "PT123456789"), ("RO12", "RO12"), ("SE123456789001", "SE123456789001"),
            ("SI12345678", "SI12345678"), ("SK1234567890", "SK1234567890"), ("XI123456789", "XI123456789"),
        ])
    func right(typed: String, text: String) {
        #expect(VATNumber(typed, in: .italy)?.text == text)
    }

    @Test(
        "ORG-07: a wrong one is refused for what is wrong with it",
        arguments: [
            ("", VATNumber.Fault.country), ("0074311015", .country), ("US123456789", .country), ("GR123456789", .country),
            ("00743110158", .checkDigit), ("DE136695977", .checkDigit), ("IT00743110150", .checkDigit), ("00000000000", .checkDigit),
            ("IT0074311015", .form(country: "IT")),
            ("IT0074311015A", .form(country: "IT")), ("DE12345678", .form(country: "DE")), ("FRX123456789", .form(country: "FR")),
            ("NL123456789C01", .form(country: "NL")), ("SE123456789002", .form(country: "SE")), ("RO1", .form(country: "RO")),
            ("IT" + String(repeating: "1", count: 100), .country), ("٠٠٧٤٣١١٠١٥٧", .country),
        ])
    func wrong(typed: String, fault: VATNumber.Fault) {
        #expect(throws: fault) { try VATNumber(checking: typed, in: .italy) }
        #expect(!fault.fieldFault.english.isEmpty && !fault.fieldFault.english.contains(typed) || typed.isEmpty)
    }

    @Test("ORG-07: of ten last digits exactly one is right, and every single slip of a digit is found")
    func checkDigit() {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<300 {
            let ten = (0..<10).map { _ in Int.random(in: 0...9, using: &random) }
            guard ten.contains(where: { $0 != 0 }) else { continue }
            let prefix = ten.map(String.init).joined()
            let right = (0...9).filter { VATNumber("\(prefix)\($0)", in: .italy) != nil }
            #expect(right.count == 1)
            var digits = Array("\(prefix)\(right[0])".utf8)
            let place = Int.random(in: 0..<11, using: &random)
            digits[place] = UInt8(ascii: "0") + (digits[place] - UInt8(ascii: "0") + UInt8.random(in: 1...9, using: &random)) % 10
            #expect(VATNumber(String(decoding: digits, as: UTF8.self), in: .italy) == nil)
        }
    }

    @Test("a VAT number is never printed")
    func description() {
        #expect(VATNumber("00743110157", in: .italy).map { "\($0)" }?.contains("743") == false)
    }
}
