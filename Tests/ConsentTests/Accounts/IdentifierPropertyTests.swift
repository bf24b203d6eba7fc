// INV-01 and INV-02 under registrations that come at the same time, again and again, and through restarts.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Consent

struct IdentifierPropertyTests {
    private static let names = ["Anna", "Bianca", "Carla", "Dora", "Elisa", "Flora"]

    private static func address(_ name: String) -> String { "\(name.lowercased())@example.org" }

    @Test(
        "INV-01, ACC-04, ACC-33: people's ids are positive and pairwise different, however often and at the same time they register",
        arguments: [1, 2, 3] as [UInt64])
    func people(seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            var dice = SeededGenerator(seed: seed)
            var (given, waiting): ([String: Set<PersonID>], Int) = ([:], 0)
            // Those of earlier rounds come again, with and without their key; between rounds is a restart.
            for round in 1...3 {
                let names = Self.names.prefix(2 * round).map { $0 }
                let tries = names.flatMap { name in
                    (0..<Int.random(in: 1...3, using: &dice)).map { _ in (name, hasKey: Bool.random(using: &dice)) }
                }.shuffled(using: &dice)
                let answers = try await AccountHarness.run(in: folder) { harness in
                    try await withThrowingTaskGroup(of: (String, RegistrationItem).self) { group in
                        for (number, (name, hasKey)) in tries.enumerated() {
                            group.addTask {
                                let answer = try await harness.register(
                                    Applicant.form(email: Self.address(name), name: name), key: hasKey ? "key of \(name)" : nil,
                                    from: "203.0.113.\(number)")
                                #expect(answer.status == 201, "seed \(seed), round \(round): \(answer.text)")
                                return (name, try answer.decoded(as: RegistrationItem.self))
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                }
                // One of them is the account; the others wait for a link that nobody is sent, and claim nothing.
                for (name, item) in answers where item.state == .active { given[name, default: []].insert(item.person) }
                waiting += Set(answers.filter { $0.1.state == .unconfirmed }.map(\.1.person)).count
                #expect(Set(given.keys) == Set(names), "seed \(seed), round \(round)")
            }
            let ids = given.values.flatMap { $0 }
            #expect(given.values.allSatisfy { $0.count == 1 } && ids.allSatisfy { $0.bits > 0 })
            #expect(Set(ids).count == Self.names.count)
            try await AccountHarness.run(in: folder) { harness in
                let count = try await harness.count("accounts")
                #expect(count <= Self.names.count + waiting)
                for person in ids {
                    let row = try await harness.row(person)
                    #expect(row != nil)
                }
            }
        }
    }

    @Test("INV-02: of members who are invited again and again at the same time each has one positive id, and no two the same")
    func members() async throws {
        try await withTemporaryFolder { folder in
            let organisations = [OrganisationID.random(), OrganisationID.random()]
            var given: [String: Set<MemberID>] = [:]
            for _ in 0..<2 {
                let answers = try await LogInHarness.run(in: folder) { harness in
                    await withTaskGroup(of: (String, MemberID?).self) { group in
                        for (number, name) in Self.names.enumerated() {
                            for _ in 0..<3 {
                                group.addTask { (name, try? await harness.addMember(Self.address(name), of: organisations[number % 2])) }
                            }
                        }
                        // An address serves one organisation only.
                        group.addTask { ("stranger", try? await harness.addMember(Self.address("anna"), of: .random())) }
                        return await group.reduce(into: []) { $0.append($1) }
                    }
                }
                for case (let name, let member?) in answers { given[name, default: []].insert(member) }
            }
            let ids = given.values.flatMap { $0 }
            #expect(given.values.allSatisfy { $0.count == 1 } && ids.allSatisfy { $0.bits > 0 })
            #expect(Set(ids).count == Self.names.count)
        }
    }
}
