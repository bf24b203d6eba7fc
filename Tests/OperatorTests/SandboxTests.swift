// Whom the sandbox makes: nobody who exists, by rules that everybody's numbers follow.

import ArgumentParser
import Contracts
import Testing

@testable import Operator

@Suite("The sandbox's people")
struct SandboxTests {
    @Test("SHR-03: every synthetic person has a valid fiscal code that fits her form and shows that she is nobody")
    func people() throws {
        var random = SeededRandom(seed: 5)
        for _ in 0..<2000 {
            let person = SandboxPerson(mark: random.next() >> 11)
            let code = try #require(FiscalCode(person.fiscalCode), "\(person.birthDate)")
            let parts = person.birthDate.split(separator: "-").compactMap { Int($0) }
            try #require(parts.count == 3 && person.birthDate.utf8.count == 10)
            #expect(code.fits(year: parts[0], month: parts[1], day: parts[2]) && code.sex == .female && code.place == "H501")
            #expect(code.fits(surname: SandboxPerson.surname) && code.fits(name: SandboxPerson.name))
            #expect(code.text.hasPrefix("SNTPRV") && !code.isOmocodic)
            #expect(person.form(acceptedTerms: "1")["fiscalCode"] as? String == person.fiscalCode)
        }
        #expect(SandboxPerson(mark: 0) == SandboxPerson(mark: 0))
        #expect(Set((0..<1000).map { SandboxPerson(mark: $0).fiscalCode }).count == 1000)
    }

    @Test("ORG-07: a synthetic firm's VAT number has Italy's check digit; the known one of a real number comes out")
    func firms() {
        #expect(SandboxOrganisation(mark: 74_311_015).vatNumber == "IT00743110157")
        for mark: UInt64 in [0, 1, 9_999_999_999, 1 << 52] {
            let firm = SandboxOrganisation(mark: mark)
            #expect(firm.vatNumber.utf8.count == 13 && firm.vatNumber.hasPrefix("IT"))
            #expect(firm.form(acceptedConditions: "2026-11")["acceptedJurisdiction"] as? String == "2026-11")
        }
    }

    @Test("what a shell reads sets what the documents use, quoted")
    func exports() throws {
        let kit = SandboxKit(
            baseURL: "http://127.0.0.1:8105", tokenURL: "http://127.0.0.1:8105/thirdparty/v1/oauth/token", clientID: .random(),
            clientSecret: "tmcs_x", fiscalCode: SandboxPerson(mark: 7).fiscalCode, organisation: .random(),
            memberLogin: "a@example.org", memberPassword: "paletta e formine 7", types: ["heart-rate"], from: "2026-01-01T00:00:00.000Z",
            consentURL: "http://127.0.0.1:8103")
        #expect(kit.exports.contains("export CLIENT_ID='\(kit.clientID)'"))
        #expect(kit.exports.contains("export MEMBER_PASSWORD='paletta e formine 7'"))
        #expect(kit.exports.allSatisfy { $0.count(where: { $0 == "'" }) == 2 })
    }

    @Test("the sandbox could not be told its ports: they follow the first one, of a suite of its own")
    func ports() throws {
        #expect(try Sandbox.parse(["--first-port", "9400"]).firstPort == 9400)
        #expect(try Sandbox.parse(["--first-port", "65528"]).firstPort == 65_528, "the last one is 65535")
        for wrong in [["--first-port", "65529"], ["--first-port", "80"], ["--first-port", "9400", "--running"]] {
            #expect(throws: (any Error).self) { try Sandbox.parse(wrong) }
        }
    }

    @Test("days are bounded, and the help teaches what comes next")
    func arguments() throws {
        #expect(try Sandbox.parse(["--days", "60", "--once"]).once)
        #expect(throws: (any Error).self) { try Sandbox.parse(["--days", "0"]) }
        #expect(throws: (any Error).self) { try Sandbox.parse(["--days", "61"]) }
        #expect(Sandbox.configuration.discussion.contains("docs/third-parties/README.md"))
    }
}
