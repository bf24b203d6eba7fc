// The table of accounts: every kind, found by every look-up, each value once.

import Contracts
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct AccountTableTests {
    private static func keys(_ seed: UInt8, fiscalCode: Bool = false, userName: Bool = false) -> AccountStore.Keys {
        let lookup = { (column: UInt8) in [UInt8](repeating: seed, count: 15) + [column] }
        return AccountStore.Keys(email: lookup(1), fiscalCode: fiscalCode ? lookup(2) : nil, userName: userName ? lookup(3) : nil)
    }

    private static let table = AccountStore()
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("ACC-33: accounts of every kind are found by number, id and look-ups, and not by another kind's id")
    func finding() async throws {
        try await AccountHarness.run(background: false) { harness in
            let (person, member, anOperator, organisation) = (
                PersonID.random(), MemberID.random(), OperatorID.random(), OrganisationID.random()
            )
            let rows = try await harness.opened.store.write { db -> [AccountRow?] in
                let table = Self.table
                let number = try table.add(
                    db, .person(person), keys: Self.keys(1, fiscalCode: true, userName: true), profile: [1], state: .unconfirmed,
                    at: Self.now)
                _ = try table.add(
                    db, .member(member, organisation), keys: Self.keys(2), profile: [2], state: .active, at: Self.now)
                _ = try table.add(db, .operator(anOperator), keys: Self.keys(3), profile: [3], state: .active, at: Self.now)
                #expect(try table.find(db, person: PersonID(bits: member.bits)) == nil)
                #expect(try table.find(db, member: MemberID(bits: person.bits)) == nil)
                #expect(try table.find(db, operator: OperatorID(bits: person.bits)) == nil)
                #expect(try table.members(db, of: organisation).map(\.subject) == [.member(member, organisation)])
                #expect(try table.page(db, of: .person, after: 0, limit: 10).map(\.number) == [number])
                #expect(try table.count(db, of: .operator) == 1)
                let keys = Self.keys(1, fiscalCode: true, userName: true)
                return [
                    try table.find(db, number: number), try table.find(db, person: person), try table.find(db, email: keys.email),
                    try table.find(db, fiscalCode: keys.fiscalCode ?? []), try table.find(db, userName: keys.userName ?? []),
                    try table.find(db, member: member), try table.find(db, operator: anOperator),
                ]
            }
            #expect(rows.compactMap { $0?.subject.kind } == [.person, .person, .person, .person, .person, .member, .operator])
            #expect(rows[0]?.state == .unconfirmed && rows[0]?.sealedProfile == [1])
        }
    }

    @Test("ACC-04: a value that another account has is refused by its name, the account's own is not")
    func conflicts() async throws {
        try await AccountHarness.run(background: false) { harness in
            try await harness.opened.store.write { db in
                let table = Self.table
                let one = try table.add(
                    db, .person(.random()), keys: Self.keys(1, fiscalCode: true, userName: true), profile: [], state: .active, at: Self.now)
                let two = try table.add(db, .person(.random()), keys: Self.keys(2), profile: [], state: .active, at: Self.now)
                let first = Self.keys(1, fiscalCode: true, userName: true)
                func conflict(_ keys: AccountStore.Keys) -> AccountConflict? {
                    do {
                        try table.requireFree(db, keys)
                        return nil
                    } catch {
                        return error as? AccountConflict
                    }
                }
                #expect(conflict(first) == .fiscalCode)
                #expect(conflict(.init(email: first.email, userName: first.userName)) == .email)
                #expect(conflict(.init(email: [9], userName: first.userName)) == .userName)
                #expect(conflict(.init(email: [9])) == nil)
                try table.requireFree(db, first, except: one)
                #expect(throws: AccountConflict.email) { try table.setEmail(db, two, lookup: first.email, confirmedAt: nil) }
                #expect(throws: AccountConflict.userName) { try table.setUserName(db, two, lookup: first.userName) }
                try table.setEmail(db, one, lookup: first.email, confirmedAt: Self.now)
                try table.delete(db, one)
                #expect(conflict(first) == nil)
            }
        }
    }

    @Test("SEC: a profile opens under its own account's key alone")
    func vault() async throws {
        try await AccountHarness.run(background: false) { harness in
            let vault = harness.parts.repository.vault
            let (one, other) = (PersonID.random(), PersonID.random())
            for person in [one, other] { try await vault.makeKey(for: person) }
            let sealed = try vault.seal([1, 2, 3], at: "a table", of: .person(one))
            #expect(try vault.open(sealed, at: "a table", of: .person(one)) == [1, 2, 3])
            #expect(throws: SealingError.self) { try vault.open(sealed, at: "a table", of: .person(other)) }
            #expect(throws: SealingError.self) { try vault.open(sealed, at: "another table", of: .person(one)) }
            try await vault.keys.destroyKey(of: one)
            #expect(throws: KeyDestroyed.self) { try vault.open(sealed, at: "a table", of: .person(one)) }
        }
    }
}
