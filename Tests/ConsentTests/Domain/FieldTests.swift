// Single fields of table ACC-F: what is taken, what is refused, and what counts as the same.

import Contracts
import Foundation
import Testing

@testable import Consent

struct FieldTests {
    @Test(
        "ACC-03: an address that mail can be sent to is taken",
        arguments: [
            "anna@example.org", "Anna.Rossi+tag@Sub.Example.org", " anna@example.org ", "o'neill@example.co.uk", "a@b.io",
            "x_y-z@xn--mller-kva.de", String(repeating: "a", count: 64) + "@example.org",
        ])
    func address(_ text: String) {
        #expect(EmailAddress(text) != nil)
    }

    @Test(
        "ACC-03: anything else is refused",
        arguments: [
            "", "anna", "anna@", "@example.org", "anna@example", "anna@@example.org", "an na@example.org", "anna@exam ple.org",
            ".anna@example.org", "anna.@example.org", "an..na@example.org", "anna@-example.org", "anna@example-.org", "anna@example..org",
            "anna@127.0.0.1", "anna@[127.0.0.1]", "\"anna\"@example.org", "anna@esempio.ìt", "anna\n@example.org", "a,b@example.org",
            "<a@example.org>", String(repeating: "a", count: 65) + "@example.org",
            "a@" + String(repeating: "b", count: 64) + ".org",
            String(repeating: "a", count: 60) + "@" + String(repeating: "b.", count: 100) + "org",
        ])
    func noAddress(_ text: String) {
        #expect(EmailAddress(text) == nil)
    }

    @Test("CON-06: addresses that differ by capitals alone are one, and none describes itself")
    func folded() throws {
        let address = try #require(EmailAddress("Anna@Example.org"))
        #expect(address.folded == EmailAddress("anna@example.org")?.folded && "\(address)" == "EmailAddress(…)")
    }

    @Test(
        "ACC-F: user names",
        arguments: [
            ("anna", true), ("anna.rossi-1_", true), ("àèì", true), ("an", false), (".anna", false), ("anna rossi", false),
            ("anna@home", false), (String(repeating: "a", count: 33), false), ("RSSMRA80A01H501U", false), ("", false),
            ("an\u{200b}na", false),
        ])
    func userName(_ text: String, _ isTaken: Bool) {
        #expect((UserName(text) != nil) == isTaken)
    }

    @Test("ACC-04: user names that differ by case or by how a letter is composed are one")
    func foldedUserName() {
        #expect(UserName("ANNÀ")?.folded == UserName("anna\u{300}")?.folded)
    }

    @Test(
        "ACC-F: telephone numbers become E.164",
        arguments: [
            ("+39 333 1234567", "+393331234567"), ("333-123.45.67", "+393331234567"), ("0039 06 1234567", "+39061234567"),
            ("(06) 1234567", "+39061234567"), ("+1 212 555 0100", "+12125550100"), ("12", nil), ("+39 333 12345678901234", nil),
            ("call me", nil),
            ("+0123456789", nil), ("", nil),
        ] as [(String, String?)])
    func phone(_ text: String, _ expected: String?) {
        #expect(TelephoneNumber(text, in: .italy)?.text == expected)
    }

    @Test("an address, a telephone number, a user name and a date are coded as their text, and no other text is read as one")
    func coding() throws {
        func check<Value: TextCoded & Equatable>(_ value: Value?, _ text: String) throws {
            let value = try #require(value)
            let coded = try JSONEncoder().encode([value])
            #expect(String(decoding: coded, as: UTF8.self) == #"["\#(text)"]"#)
            #expect(try JSONDecoder().decode([Value].self, from: coded) == [value])
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([Value].self, from: Data(#"["?"]"#.utf8)) }
        }
        try check(EmailAddress("anna@example.org"), "anna@example.org")
        try check(TelephoneNumber("333 1234567", in: .italy), "+393331234567")
        try check(UserName("anna.rossi"), "anna.rossi")
        try check(BirthDate("1940-05-01"), "1940-05-01")
    }

    @Test(
        "ACC-03: dates of birth are real dates in the past",
        arguments: [
            ("1940-05-01", true), ("2000-02-29", true), ("1900-02-29", false), ("2023-02-29", false), ("1940-5-1", false),
            ("01-05-1940", false),
            ("1940-13-01", false), ("1940-00-10", false), ("1940-05-01T00:00:00Z", false), ("", false), ("19４0-05-01", false),
        ])
    func birthDate(_ text: String, _ isRead: Bool) {
        #expect((BirthDate(text) != nil) == isRead)
    }

    @Test("ACC-03: today and tomorrow are not in the past, and nobody is older than people get")
    func plausible() throws {
        let today = try #require(CivilDate(year: 2026, month: 11, day: 21))
        let isPlausible = { (text: String) in BirthDate(text)?.isPlausible(today: today) }
        #expect(isPlausible("2026-11-20") == true && isPlausible("2026-11-21") == false && isPlausible("2026-11-22") == false)
        #expect(isPlausible("1896-11-21") == true && isPlausible("1895-11-21") == false)
    }

    @Test(
        "ACC-36: age in whole years",
        arguments: [
            ("2012-11-21", 14), ("2012-11-22", 13), ("2012-11-20", 14), ("2026-11-20", 0), ("2008-02-29", 18),
        ] as [(String, Int64)])
    func age(_ text: String, _ age: Int64) throws {
        let today = try #require(CivilDate(year: 2026, month: 11, day: 21))
        #expect(BirthDate(text)?.age(on: today) == age)
    }

    @Test("ACC-36: who was born on 29 February is a year older on 1 March")
    func leapling() throws {
        let born = try #require(BirthDate("2012-02-29"))
        let (before, after) = (CivilDate(year: 2026, month: 2, day: 28), CivilDate(year: 2026, month: 3, day: 1))
        #expect(before.map(born.age) == 13 && after.map(born.age) == 14)
    }

    @Test("A profile that was sealed reads back the same")
    func profile() throws {
        let form = try JSONTree(
            Array(JSONSerialization.data(withJSONObject: Applicant.form(["phone": "333 1234567", "gender": "female"]))))
        let rules = try RegistrationTests.rules()
        let registration = try Registration.check(form, rules)
        let coded = try JSONEncoder().encode(registration.profile)
        #expect(try JSONDecoder().decode(Profile.self, from: coded) == registration.profile)
        #expect(try JSONDecoder().decode(AccountContact.self, from: coded).email == registration.profile.email)
    }
}
