// What differs by country, as tables: identifiers, telephone numbers, emergency numbers. Numbers of people are published examples.

import Contracts
import Testing

struct CountryTests {
    @Test(
        "NFR-21: an identifier is read as its country's: the fiscal code in Italy, the tax identification number in Germany",
        arguments: [
            (Country.Code.italy, "rssmra80a01 h501u", "RSSMRA80A01H501U"), (.italy, "86095742719", nil), (.italy, "RSSMRA80A01H501V", nil),
            (.germany, "86 095 742 719", "86095742719"), (.germany, "47036892816", "47036892816"), (.germany, "65929970489", "65929970489"),
            (.germany, "57549285017", "57549285017"), (.germany, "25768131411", "25768131411"), (.germany, "36574261809", "36574261809"),
            (.germany, "RSSMRA80A01H501U", nil), (.germany, "٨٦٠٩٥٧٤٢٧١٩", nil), (.germany, "", nil),
        ] as [(Country.Code, String, String?)])
    func identifiers(_ code: Country.Code, _ typed: String, _ text: String?) {
        let country = Country(code)
        let read = try? PersonIdentifier(checking: typed, as: country.identifier)
        #expect(read?.text == text)
        guard let read else { return }
        // Whatever the installation's country is now, what is stored is still known for what it is.
        #expect(PersonIdentifier(read.text) == read && country.identifier.hasForm(typed))
        #expect(!"\(read)".contains(read.text))
    }

    @Test(
        "NFR-21: a wrong tax identification number is refused for what is wrong with it, and never said back",
        arguments: [
            ("8609574271", TaxIdentificationNumber.Fault.length), ("860957427190", .length), ("8609574271a", .digits),
            // A zero in front; no digit twice; two digits twice; one four times; one three times in a row.
            ("06095742718", .digits), ("12345678903", .digits), ("11223456789", .digits), ("11213141568", .digits),
            ("11123456789", .digits),
            ("86095742718", .checkDigit), ("36574261890", .checkDigit),
        ])
    func wrongTaxNumbers(_ typed: String, _ fault: TaxIdentificationNumber.Fault) {
        #expect(throws: fault) { try TaxIdentificationNumber(checking: typed) }
        #expect(!fault.fieldFault.english.contains(typed))
    }

    @Test("NFR-21: one check digit of ten fits, and no slip of a single digit passes")
    func checkDigits() {
        let number = Array("86095742719".utf8)
        for place in number.indices {
            let fitting = (UInt8(ascii: "0")...UInt8(ascii: "9")).filter { digit in
                var other = number
                other[place] = digit
                return CheckDigit.fitsMod11And10(other)
            }
            #expect(fitting == [number[place]])
        }
    }

    @Test(
        "NFR-21: a telephone number without a country is the installation's, and its trunk prefix is left out where there is one",
        arguments: [
            (Country.Code.italy, "055 1234567", "+390551234567"), (.italy, "333 1234567", "+393331234567"),
            (.italy, "+49 30 1234567", "+49301234567"), (.germany, "030 1234567", "+49301234567"),
            (.germany, "+49 (0)30 1234567", "+49301234567"), (.germany, "0049 30 1234567", "+49301234567"),
            (.germany, "0171/1234567", "+491711234567"), (.germany, "+39 055 1234567", "+390551234567"),
            (.germany, "0039 055 1234567", "+390551234567"), (.germany, "110", nil),
        ] as [(Country.Code, String, String?)])
    func telephones(_ code: Country.Code, _ typed: String, _ text: String?) {
        #expect(TelephoneNumber(typed, in: Country(code))?.text == text)
    }

    @Test("NFR-21: every country that is known has all that the suite asks of one", arguments: Country.Code.allCases)
    func complete(_ code: Country.Code) {
        let country = Country(code)
        #expect(code.rawValue.count == 2 && code.rawValue.utf8.allSatisfy { (65...90).contains($0) })
        #expect(!country.name.isEmpty && country.vatPrefix.count == 2)
        #expect(TelephoneNumber(country.exampleNumber, in: country)?.text.hasPrefix("+" + country.callingCode) == true)
        #expect(Country.emergencyNumbers(country.emergencyNumbers.joined(separator: ",")) == country.emergencyNumbers)
    }

    @Test(
        "NFR-21: an operator names one to three emergency numbers that can be dialled",
        arguments: [
            ("112", ["112"]), ("144, 112", ["144", "112"]), ("999,112,101", ["999", "112", "101"]), ("", nil), ("112,", nil), ("1", nil),
            ("+112", nil), ("help", nil), ("1,2,3", nil), ("11,22,33,44", nil), ("123456789", nil), ("<b>112", nil),
        ] as [(String, [String]?)])
    func emergencyNumbers(_ text: String, _ numbers: [String]?) {
        #expect(Country.emergencyNumbers(text) == numbers)
    }
}
