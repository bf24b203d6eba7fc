// Which fields of a profile change, which never do, and which change elsewhere (ACC-19).

import Contracts
import Foundation
import Testing

@testable import Consent

struct ProfileChangeTests {
    private let profile: Profile
    private let fields: ProfileFields

    init() throws {
        let rules = try RegistrationTests.rules()
        profile = try Registration.check(
            RegistrationTests.form(Applicant.form(["phone": "333 1234567", "userName": "anna40"])), rules
        ).profile
        fields = rules.fields
    }

    private func check(_ changes: [String: Any]) throws -> ProfileChange {
        try ProfileEdit(RegistrationTests.form(changes), fields).applied(to: profile)
    }

    @Test("ACC-19: city of residence, address, occupation, weight, height and the optional fields change")
    func changes() throws {
        let change = try check([
            "cityOfResidence": "H501", "address": "Via Milano 2", "occupation": "employed", "weight": 63, "height": 161,
            "gender": "female", "userName": "nonna", "phone": "+1 212 555 0100", "socialStatus": "widowed", "workHoursPerDay": 8,
            "sportHoursPerWeek": 3.5, "language": "en",
        ])
        let new = change.profile
        #expect((new.cityOfResidence, new.address, new.occupation) == ("H501", "Via Milano 2", .employed))
        #expect((new.weight, new.height, new.gender, new.socialStatus) == (63, 161, .female, .widowed))
        #expect((new.userName?.text, new.phone?.text, new.language) == ("nonna", "+12125550100", .english))
        #expect((new.workHoursPerDay, new.sportHoursPerWeek) == (8, 3.5))
        #expect(change.hasNewUserName && change.measured == [.bodyWeight, .bodyHeight])
        #expect((new.name, new.fiscalCode, new.email) == (profile.name, profile.fiscalCode, profile.email))
    }

    @Test("ACC-19: what is not named stays, and an empty change changes nothing")
    func untouched() throws {
        #expect(try check([:]).profile == profile)
        #expect(try check(["weight": 61.5]).measured.isEmpty)
        #expect(try check(["userName": "ANNA40"]).hasNewUserName == false)
    }

    @Test(
        "ACC-19: fixed fields are refused by name, and so is the address",
        arguments: ["fiscalCode", "birthDate", "cityOfBirth", "name", "surname", "email"])
    func fixed(_ name: String) throws {
        #expect {
            try check([name: "anything", "occupation": "employed"])
        } throws: { error in
            guard case .fixed(let errors) = error as? ProfileChangeFault else { return false }
            return errors.map(\.pointer) == ["/\(name)"]
        }
    }

    @Test(
        "ACC-03: the same checks as at registration hold",
        arguments: [
            ("cityOfResidence", "Q999"), ("occupation", "astronaut"), ("weight", -1), ("height", 0), ("address", ""), ("weight", NSNull()),
            ("workHoursPerDay", 25), ("phone", "12"), ("unknown", 1),
        ] as [(String, any Sendable)])
    func refused(_ name: String, _ value: any Sendable) throws {
        #expect {
            try check([name: value])
        } throws: { error in
            guard case .fields(let errors) = error as? ProfileChangeFault else { return false }
            return errors.map(\.pointer) == ["/\(name)"]
        }
    }

    @Test("ACC-19: null takes an optional field away")
    func cleared() throws {
        let change = try check(["phone": NSNull(), "userName": NSNull()])
        #expect(change.profile.phone == nil && change.profile.userName == nil && change.hasNewUserName)
    }
}
