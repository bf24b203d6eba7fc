// Table ACC-F as a pure judgement: every wrong field is named, all at once, and nothing of what was typed is said back.

import Contracts
import Foundation
import Testing

@testable import Consent

struct RegistrationTests {
    private static let places: Result<PlaceList, any Error> = Result { try AccountModule.shippedPlaces() }

    static func rules(
        match: FiscalCodeMatch = .birth, mailed: Bool = false, mandatory: Set<ProfileFields.Open> = []
    ) throws -> RegistrationRules {
        RegistrationRules(
            fields: ProfileFields(country: .italy, places: try places.get(), mandatory: mandatory), termsVersion: Conditions.version,
            isPasswordMailed: mailed,
            passwordFault: { PasswordRule().fault(of: $0, personal: $1)?.fieldFault }, guardianAge: 14, fiscalCodeMatch: match,
            today: try #require(CivilDate(year: 2026, month: 11, day: 21)))
    }

    static func form(_ fields: [String: Any]) throws -> JSONTree {
        try JSONTree(Array(JSONSerialization.data(withJSONObject: fields)))
    }

    /// The pointers of the fields that are refused; empty where the form is right.
    private static func pointers(_ fields: [String: Any], _ rules: RegistrationRules) throws -> [String] {
        do {
            _ = try Registration.check(form(fields), rules)
            return []
        } catch let fault as RegistrationFault {
            return switch fault {
            case .fields(let errors), .conditionsNotAccepted(let errors), .guardianNeeded(let errors): errors.map(\.pointer)
            }
        }
    }

    @Test("ACC-02: a form with every mandatory field and no other is taken; what is optional is absent")
    func complete() throws {
        let registration = try Registration.check(Self.form(Applicant.form()), Self.rules())
        let profile = registration.profile
        #expect((profile.name, profile.surname, profile.email.text) == ("Anna", "Esposito", "anna@example.org"))
        #expect((profile.cityOfBirth, profile.cityOfResidence, profile.occupation) == ("H501", "F205", .student))
        #expect(profile.gender == nil && profile.userName == nil && profile.phone == nil && profile.socialStatus == nil)
        #expect(registration.anonymousTypes.isEmpty && !registration.joinsAutomatedSOS && registration.guardian == nil)
        #expect(registration.password == AccountHarness.password)
    }

    @Test(
        "ACC-02: each mandatory field that is missing, null or empty is named",
        arguments: [
            "name", "surname", "email", "password", "passwordAgain", "fiscalCode", "birthDate", "cityOfBirth", "cityOfResidence", "address",
            "occupation", "weight", "height", "acceptedTerms", "acceptedPrivacy",
        ])
    func missing(_ name: String) throws {
        var form = Applicant.form()
        form[name] = nil
        #expect(try Self.pointers(form, Self.rules()) == ["/\(name)"])
        form[name] = NSNull()
        #expect(try Self.pointers(form, Self.rules()) == ["/\(name)"])
        if !["weight", "height"].contains(name) {
            form[name] = " "
            let pointers = try Self.pointers(form, Self.rules())
            #expect(Set(pointers).isSubset(of: ["/password", "/passwordAgain", "/\(name)"]) && !pointers.isEmpty)
        }
    }

    @Test("ACC-02: an empty form names every mandatory field at once")
    func empty() throws {
        #expect(
            try Set(Self.pointers([:], Self.rules())) == [
                "/name", "/surname", "/email", "/password", "/passwordAgain", "/fiscalCode", "/birthDate", "/cityOfBirth",
                "/cityOfResidence", "/address", "/occupation", "/weight", "/height", "/acceptedTerms", "/acceptedPrivacy",
            ])
    }

    private static let wrong: [(String, any Sendable)] = [
        ("email", "anna"), ("fiscalCode", "RSSMRA80A01H501A"), ("birthDate", "2027-01-01"), ("birthDate", "1940-02-30"),
        ("cityOfBirth", "Q999"), ("cityOfBirth", "Roma"), ("cityOfResidence", "A003"), ("cityOfResidence", 7), ("occupation", "astronaut"),
        ("weight", 0), ("weight", -61), ("weight", 501), ("weight", "61"), ("height", 0), ("height", 3000), ("gender", "robot"),
        ("userName", "a"), ("phone", "12"), ("socialStatus", "complicated"), ("workHoursPerDay", 24.5), ("workHoursPerDay", -1),
        ("sportHoursPerWeek", 169), ("language", "fr"), ("anonymousTypes", "heart-rate"), ("joinsAutomatedSOS", "yes"),
        ("name", String(repeating: "a", count: 201)), ("name", "An\u{7}na"), ("name", 5), ("address", true),
        ("acceptedTerms", "2020-01"), ("guardianEmail", "nobody"), ("somethingElse", 1),
    ]

    @Test("ACC-03: each wrong field is named, and only that one", arguments: wrong)
    func wrongField(_ name: String, _ value: any Sendable) throws {
        // A date or place that disagrees is the fiscal code's affair in another test.
        #expect(try Self.pointers(Applicant.form([name: value]), Self.rules(match: .check)) == ["/\(name)"])
    }

    @Test("ACC-03: several wrong fields are all named")
    func several() throws {
        let form = Applicant.form(["email": "x", "weight": -1, "acceptedTerms": NSNull(), "passwordAgain": "another one, longer"])
        #expect(try Set(Self.pointers(form, Self.rules())) == ["/email", "/weight", "/acceptedTerms", "/passwordAgain"])
    }

    @Test(
        "ACC-03: hours at their bounds are right",
        arguments: [("workHoursPerDay", 0.0), ("workHoursPerDay", 24), ("sportHoursPerWeek", 168)])
    func bounds(_ name: String, _ hours: Double) throws {
        #expect(try Self.pointers(Applicant.form([name: hours]), Self.rules()) == [])
    }

    @Test("ACC-03: passwords must be equal and strong enough, and are never said back")
    func passwords() throws {
        #expect(try Self.pointers(Applicant.form(["passwordAgain": "una frase che ricordo!"]), Self.rules()) == ["/passwordAgain"])
        #expect(try Self.pointers(Applicant.form(["password": "short", "passwordAgain": "short"]), Self.rules()) == ["/password"])
        #expect(
            try Self.pointers(Applicant.form(["password": "anna@example.org", "passwordAgain": "anna@example.org"]), Self.rules())
                == ["/password"])
    }

    @Test("ACC-08: where passwords are mailed the form has none")
    func mailed() throws {
        var form = Applicant.form()
        (form["password"], form["passwordAgain"]) = (nil, nil)
        #expect(try Registration.check(Self.form(form), Self.rules(mailed: true)).password == nil)
    }

    @Test(
        "ACC-03: a fiscal code must agree with what the operator asks it to",
        arguments: [
            (FiscalCodeMatch.check, [] as [String]), (.birth, ["/fiscalCode"]), (.all, ["/fiscalCode"]),
        ])
    func agreement(_ match: FiscalCodeMatch, _ expected: [String]) throws {
        #expect(try Self.pointers(Applicant.form(["birthDate": "1941-05-01"]), Self.rules(match: match)) == expected)
        #expect(try Self.pointers(Applicant.form(["cityOfBirth": "F205"]), Self.rules(match: match)) == expected)
        let otherName = Applicant.form(["surname": "Bianchi"])
        #expect(try Self.pointers(otherName, Self.rules(match: match)) == (match == .all ? ["/fiscalCode"] : []))
        let otherSex = Applicant.form(["gender": "male"])
        #expect(try Self.pointers(otherSex, Self.rules(match: match)) == (match == .all ? ["/fiscalCode"] : []))
        #expect(try Self.pointers(Applicant.form(["gender": "other"]), Self.rules(match: match)) == [])
    }

    @Test("ACC-05: only the acceptance missing is a refusal of its own, so that the form returns to that step")
    func conditions() throws {
        for name in Registration.acceptances {
            #expect {
                try Registration.check(Self.form(Applicant.form([name: NSNull()])), Self.rules())
            } throws: { error in
                guard case .conditionsNotAccepted(let errors) = error as? RegistrationFault else { return false }
                return errors.map(\.pointer) == ["/\(name)"]
            }
        }
    }

    @Test("ACC-06: anonymous sharing is off unless chosen; types are known and named once")
    func choices() throws {
        let chosen = try Registration.check(
            Self.form(Applicant.form(["anonymousTypes": ["heart-rate", "glucose"]])), Self.rules())
        #expect(chosen.anonymousTypes.map(\.code) == ["heart-rate", "glucose"])
        #expect(
            try Self.pointers(Applicant.form(["anonymousTypes": ["heart-rate", "mood", "heart-rate"]]), Self.rules())
                == ["/anonymousTypes/1", "/anonymousTypes/2"])
    }

    @Test("ACC-06: AutomatedSOS is joined only with its clauses accepted")
    func automatedSOS() throws {
        #expect(try Self.pointers(Applicant.form(["joinsAutomatedSOS": true]), Self.rules()) == ["/acceptedSOSClauses"])
        let joined = try Registration.check(
            Self.form(Applicant.form(["joinsAutomatedSOS": true, "acceptedSOSClauses": true])), Self.rules())
        #expect(joined.joinsAutomatedSOS)
    }

    @Test("ACC-36: below the age an adult's address is needed, and it is another one")
    func guardian() throws {
        #expect {
            try Registration.check(Self.form(Applicant.child(guardian: nil)), Self.rules())
        } throws: { error in
            guard case .guardianNeeded(let errors) = error as? RegistrationFault else { return false }
            return errors.map(\.pointer) == ["/guardianEmail"] && errors[0].detail.contains("14")
        }
        #expect(try Self.pointers(Applicant.child(guardian: "LUCA@example.org"), Self.rules()) == ["/guardianEmail"])
        #expect(try Registration.check(Self.form(Applicant.child()), Self.rules()).guardian?.text == "mamma@example.org")
        // An adult's form may hold one; nobody is asked.
        #expect(try Registration.check(Self.form(Applicant.form(["guardianEmail": "mamma@example.org"])), Self.rules()).guardian == nil)
    }

    @Test("CON-05: an operator can ask for more fields", arguments: ProfileFields.Open.allCases)
    func mandatory(_ field: ProfileFields.Open) throws {
        #expect(try Self.pointers(Applicant.form(), Self.rules(mandatory: [field])) == ["/\(field.rawValue)"])
    }

    @Test("SEC: a refusal never says what was typed")
    func silence() throws {
        let secret = "Zaffiro77"
        var form = Applicant.form()
        for name in form.keys { form[name] = secret }
        form[secret + " <script>"] = secret
        do {
            _ = try Registration.check(Self.form(form), Self.rules())
            Issue.record("such a form is not right")
        } catch let fault as RegistrationFault {
            #expect(!"\(fault)".contains(secret))
        }
    }
}
