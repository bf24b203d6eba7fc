// `trackme operator`: what the command line takes.

import ArgumentParser
import Contracts
import Foundation
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

    @Test("ASVS 7.4.5: whose sessions end is said: one address, or everybody's")
    func logOut() throws {
        #expect(try LogOutCommand.parse(["anna@example.org"]).request.email == "anna@example.org")
        #expect(try LogOutCommand.parse(["--everybody"]).request.email == nil)
        for wrong in [[], ["anna@example.org", "--everybody"]] {
            #expect(throws: (any Error).self) { try LogOutCommand.parse(wrong) }
        }
    }

    @Test("a tier is one of two, of an organisation that is named")
    func tiers() throws {
        let command = try OrganisationTierCommand.parse(["org_01h2xcejqtf2nbrexx3vqjhp41", "untrusted"])
        #expect(command.request.tier == .untrusted && "\(command.request.organisation)" == "org_01h2xcejqtf2nbrexx3vqjhp41")
        for wrong in [["untrusted"], ["org_01h2xcejqtf2nbrexx3vqjhp41", "unknown"]] {
            #expect(throws: (any Error).self) { try OrganisationTierCommand.parse(wrong) }
        }
    }

    @Test("docs/operating.md names every option of `trackme integrator add` and of the drills: nobody has to find them in --help")
    func documentedOptions() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs/operating.md")
        let section = try #require(
            try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n## ").first { $0.hasPrefix("Emergency services") })
        // What all commands have.
        let usual = Self.options(in: ListIntegratorsCommand.helpMessage())
        let commands: [any ParsableCommand.Type] = [
            AddIntegratorCommand.self, RunDrillCommand.self, ScheduleDrillCommand.self, ReportDrillsCommand.self,
        ]
        for command in commands {
            for option in Self.options(in: command.helpMessage()).subtracting(usual) {
                #expect(section.contains("`\(option)") || section.contains(" \(option)"), "\(option)")
            }
        }
    }

    private static func options(in help: String) -> Set<String> {
        Set(help.split { !$0.isLetter && $0 != "-" }.map(String.init).filter { $0.hasPrefix("--") && $0.count > 2 })
    }

    @Test("R19: a desk on the bus was handed the first dispatcher's key alone: now the keys of both are named")
    func keysOfBoth() {
        #expect(AddPeer.talksTo(["dispatch.milan"], ["acknowledge-dispatch"]) == [.sosDeputy, .sosDispatcher])
        #expect(AddPeer.talksTo(["ingest.samples"], []) == [.ingest])
    }
}
