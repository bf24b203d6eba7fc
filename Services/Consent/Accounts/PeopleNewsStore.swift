// SQL sentences for the stream `consent.people`: what is said of a person in the transaction that changes their account.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// A fact holds ids, a version and a language, nothing else of the person.
struct PeopleNews: Sendable {
    static let stream = StreamFamily.people.streams[0]
    static let snapshotPage = 1000

    let epoch: String
    let vault: ProfileVault
    private let log = StreamLog()

    init(epoch: String, vault: ProfileVault) {
        (self.epoch, self.vault) = (epoch, vault)
    }

    /// Appends what the account now is to the log; to be told after the commit.
    /// - Parameter isGone: the account is deleted in this transaction.
    func say(_ db: Database, _ row: AccountRow, isGone: Bool = false, at: Timestamp, trace: String) throws -> EventRelay.Committed? {
        guard let person = row.subject.person else { return nil }
        let payload = try Self.payload(state(row, person, isGone: isGone))
        let sequence = try log.append(
            db, stream: Self.stream, type: PersonState.type, subject: person, at: at, trace: trace, body: payload)
        return EventRelay.Committed(header: header(person, sequence: sequence, at: at, trace: trace)) { payload }
    }

    /// One page of everybody who has an account; `after` is the last account's number.
    func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        guard let after = AccountNumber(asked.after ?? "0") else { throw Failure(.invalid, "after is the next of the page before") }
        let head = try log.head(db, Self.stream)
        let rows = try AccountTable().page(db, of: .person, after: after, limit: Self.snapshotPage)
        let facts = try rows.compactMap { row -> ReplayStream.Fact? in
            guard let person = row.subject.person else { return nil }
            return ReplayStream.Fact(
                header: header(person, sequence: head, at: row.createdAt, trace: ""),
                payload: String(decoding: try Self.payload(state(row, person, isGone: false)), as: UTF8.self))
        }
        let next = rows.count == Self.snapshotPage ? rows.last.map { String($0.number) } : nil
        return SnapshotStream.Reply(epoch: epoch, sequence: head, facts: facts, next: next)
    }

    private func state(_ row: AccountRow, _ person: PersonID, isGone: Bool) throws -> PersonState {
        let isActive = row.state == .active && !isGone
        let language = isGone ? .english : try Self.language { try vault.contact(row).language }
        return PersonState(
            person: person, active: isActive, termsVersion: row.termsVersion ?? "", language: language, readersSince: row.readersSince)
    }

    /// Of somebody whose key is gone nothing is known any more.
    private static func language(_ read: () throws -> Language) throws -> Language {
        do {
            return try read()
        } catch is KeyDestroyed {
            return .english
        }
    }

    private func header(_ person: PersonID, sequence: Int64, at: Timestamp, trace: String) -> StreamHeader {
        StreamHeader(
            stream: Self.stream, epoch: epoch, sequence: sequence, head: sequence, type: PersonState.type, subject: person.description,
            at: at, trace: trace)
    }

    private static func payload(_ state: PersonState) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(state))
    }
}
