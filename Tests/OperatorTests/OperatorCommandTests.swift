// `trackme operator`: what the command line takes.

import ArgumentParser
import Contracts
import Testing

@testable import Operator

@Suite("trackme operator")
struct OperatorCommandTests {
    @Test("ACC-08: an address is enough; the language is one of the two")
    func parsing() throws {
        let plain = try AddOperatorCommand.parse(["chiara@example.org"])
        #expect(plain.email == "chiara@example.org" && plain.language == .english && !plain.json)
        let italian = try AddOperatorCommand.parse(["chiara@example.org", "--language", "it", "--json"])
        #expect(italian.language == .italian && italian.json)
        #expect(throws: (any Error).self) { try AddOperatorCommand.parse([]) }
        #expect(throws: (any Error).self) { try AddOperatorCommand.parse(["chiara@example.org", "--language", "fr"]) }
    }
}
