// The Italian fiscal code against its decree: tables of cases, and properties over made codes.

import Contracts
import TestKit
import Testing

@testable import Consent

struct FiscalCodeTests {
    @Test(
        "ACC-03: a valid code is read, whatever its case and spaces",
        arguments: [
            ("RSSMRA80A01H501U", 80, 1, 1, FiscalCode.Sex.male, "H501", false), ("rss mra 80a01 h501 u", 80, 1, 1, .male, "H501", false),
            ("MRTMTT25D09F205Z", 25, 4, 9, .male, "F205", false), ("MLLSNT82P65Z404U", 82, 9, 25, .female, "Z404", false),
            // Both stand for the same day and place: digits replaced by letters.
            ("RSSMRA80A01H50MW", 80, 1, 1, .male, "H501", true), ("RSSMRAULALMHRLMJ", 80, 1, 1, .male, "H501", true),
        ])
    func valid(_ text: String, _ year: Int, _ month: Int, _ day: Int, _ sex: FiscalCode.Sex, _ place: String, _ omocodic: Bool) throws {
        let plain = text.filter { !$0.isWhitespace }.uppercased()
        let code = try FiscalCode(checking: String(plain.dropLast()) + Self.check(plain))
        #expect((code.yearOfCentury, code.month, code.day) == (year, month, day))
        #expect(code.sex == sex && code.place == place && code.isOmocodic == omocodic)
        #expect(try FiscalCode(checking: String(text.dropLast()) + Self.check(plain)).text == code.text)
    }

    /// The right last letter for the fifteen before it.
    static func check(_ code: String) -> String {
        String(decoding: [FiscalCode.checkCharacter(code.utf8.prefix(15))], as: UTF8.self)
    }

    @Test(
        "ACC-03: known codes carry their printed check character", arguments: ["RSSMRA80A01H501U", "MRTMTT25D09F205Z", "MLLSNT82P65Z404U"])
    func printed(_ text: String) {
        #expect(FiscalCode(text)?.text == text)
    }

    @Test(
        "ACC-03: a code that is not valid is refused for the right reason",
        arguments: [
            ("", FiscalCode.Fault.length), ("RSSMRA80A01H501", .length), ("RSSMRA80A01H501UU", .length),
            ("RSSMRA80A01H501A", .checkCharacter), ("RSSMRA80F01H501U", .character(at: 8)), ("1SSMRA80A01H501U", .character(at: 0)),
            ("RSSMRAA0A01H501U", .character(at: 6)), ("RSSMRA80A01H50IU", .character(at: 14)), ("RSSMRA80A01H501à", .character(at: 15)),
            ("RSS-RA80A01H501U", .character(at: 3)), ("RSSMRA80A01H501 ", .length),
        ])
    func refused(_ text: String, _ fault: FiscalCode.Fault) {
        #expect(throws: fault) { try FiscalCode(checking: text) }
    }

    @Test(
        "ACC-03: a date that does not exist is refused, in either sex",
        arguments: [
            ("80B30", false), ("80B29", true), ("81B29", false), ("00B29", true), ("80D31", false), ("80D30", true), ("80A00", false),
            ("80A40", false), ("80A41", true), ("80A71", true), ("80A72", false), ("80B70", false), ("80T31", true),
        ])
    func dates(_ birth: String, _ exists: Bool) {
        let plain = "RSSMRA\(birth)H501"
        let code = plain + Self.check(plain + "A")
        #expect((FiscalCode(code) != nil) == exists)
        if !exists { #expect(throws: FiscalCode.Fault.date) { try FiscalCode(checking: code) } }
    }

    /// Of a name without letters.
    private static let empty = String(repeating: "X", count: 3)

    @Test(
        "ACC-03: names give the letters that the decree says",
        arguments: [
            ("Rossi", "RSS", "RSS"), ("Maria", "MRA", "MRA"), ("Giancarlo", "GNC", "GCR"), ("Fò", "FOX", "FOX"), ("Aia", "AIA", "AIA"),
            ("D'Amico", "DMC", "DMC"), ("De Luca", "DLC", "DLC"), ("Müller", "MLL", "MLR"), ("Großmann", "GRS", "GSS"), ("Ò", "OXX", "OXX"),
            ("Łukasz", "LKS", "LSZ"), ("Æsir", "SRA", "SRA"), ("Anna Maria", "NNM", "NMR"), ("Rosa", "RSO", "RSO"), ("", empty, empty),
            ("王", empty, empty),
        ])
    func names(_ name: String, _ asSurname: String, _ asName: String) {
        #expect(FiscalCode.code(surname: name) == asSurname)
        #expect(FiscalCode.code(name: name) == asName)
    }

    @Test(
        "ACC-03: computed codes are those that are known",
        arguments: [
            ("Rossi", "Maria", [1980, 1, 1], FiscalCode.Sex.male, "H501", "RSSMRA80A01H501U"),
            ("Moretti", "Matteo", [1925, 4, 9], .male, "F205", "MRTMTT25D09F205Z"),
            ("Miller", "Samantha", [1982, 9, 25], .female, "Z404", "MLLSNT82P65Z404U"),
        ])
    func computed(_ surname: String, _ name: String, _ birth: [Int], _ sex: FiscalCode.Sex, _ place: String, _ expected: String) {
        let code = FiscalCode.computed(
            surname: surname, name: name, year: birth[0], month: birth[1], day: birth[2], sex: sex, place: place)
        #expect(code == expected)
    }

    @Test("ACC-03: a code agrees with the birth, place and names that it was made of, and with no others")
    func agreement() throws {
        let code = try #require(FiscalCode(Applicant.fiscalCode()))
        #expect(code.fits(year: 1940, month: 5, day: 1) && code.fits(year: 2040, month: 5, day: 1))
        #expect(
            !code.fits(year: 1941, month: 5, day: 1) && !code.fits(year: 1940, month: 6, day: 1) && !code.fits(year: 1940, month: 5, day: 2)
        )
        #expect(code.fits(place: "H501") && !code.fits(place: "F205"))
        #expect(code.fits(surname: "ESPOSITO") && !code.fits(surname: "Rossi") && code.fits(name: "anna") && !code.fits(name: "Luca"))
        #expect(code.sex == .female)
    }

    @Test("ACC-03: every omocodic variant is valid, says the same, and no wrong last letter passes", arguments: 0..<20 as Range<UInt64>)
    func properties(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        let initials = String((0..<6).map { _ in letters.randomElement(using: &random) ?? "A" })
        let day = Int.random(in: 1...28, using: &random) + (Bool.random(using: &random) ? 40 : 0)
        let month = Array("ABCDEHLMPRST").randomElement(using: &random) ?? "A"
        let year = Int.random(in: 10...99, using: &random)
        let plain = "\(initials)\(year)\(month)\(day < 10 ? "0" : "")\(day)H501"
        let code = try #require(FiscalCode(plain + Self.check(plain + "A")))
        #expect(code.variants.count == 128 && Set(code.variants).count == 128 && code.variants.contains(code.text))
        var wrong: [String] = []
        for variant in code.variants {
            guard let read = FiscalCode(variant) else {
                wrong.append(variant)
                continue
            }
            let isSame = (read.yearOfCentury, read.month, read.day, read.place) == (code.yearOfCentury, code.month, code.day, code.place)
            if !isSame || read.sex != code.sex || read.isOmocodic == (variant == code.text) { wrong.append(variant) }
            let letter = letters.filter { $0 != variant.last }.randomElement(using: &random) ?? "A"
            if FiscalCode(String(variant.dropLast()) + String(letter)) != nil { wrong.append(variant) }
        }
        #expect(wrong.isEmpty)
        let other = try #require(FiscalCode(code.variants.randomElement(using: &random) ?? ""))
        #expect(Set(other.variants) == Set(code.variants))
    }

    @Test("SEC: a fiscal code never describes itself")
    func silent() throws {
        let code = try #require(FiscalCode(Applicant.fiscalCode()))
        #expect("\(code)" == "FiscalCode(…)")
        #expect(!FiscalCode.hasForm("anna.esposito") && FiscalCode.hasForm("rssmra80a01h501a"))
    }
}
