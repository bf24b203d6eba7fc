// An adult's consent for a child's account: asked by mail, given or refused on a page, and until then nothing is collected.

import Contracts
import Foundation
import HTTPKit
import Logging
import ServiceKit
import Storage

/// What an adult says on the page.
struct GuardianAnswer: Sendable {
    /// Characters of the adult's name.
    static let longestName = 200

    let name: String
    /// Whether the child's choices of anonymous sharing stand.
    let allowsAnonymousSharing: Bool
}

/// An organisation's request that an adult is to answer for a child.
struct GuardianMatter: Codable, Sendable {
    let request: RequestID
    let organisation: String
    let purpose: String
}

/// What a guardian's link is about.
enum GuardianPage: Sendable {
    case registration(Profile)
    case request(Profile, GuardianMatter)
}

/// Answers a child's request in the adult's name; false where it cannot be answered any more.
typealias GuardianAnswersRequest = @Sendable (RequestID, PersonID, _ accept: Bool, _ trace: String) async throws -> Bool

struct GuardianService: Sendable {
    private static let sweep = Duration.seconds(600)

    let store: Store
    let repository: AccountRepository
    let logger: Logger

    /// What the page says; without using the link up.
    /// - Throws: `Problem.linkNotValid`.
    func shown(_ token: String, at: Timestamp) async throws -> GuardianPage {
        try MailLinkStore.requireToken(token)
        return try await store.readBriefly { [repository] db in
            guard let link = try repository.links.find(db, token, purpose: .guardian, at: at) else { throw Problem.linkNotValid }
            let row = try repository.require(db, link.account)
            guard link.payload.isEmpty else {
                let matter = try JSONDecoder().decode(GuardianMatter.self, from: Data(link.payload))
                return .request(try repository.vault.profile(row), matter)
            }
            guard row.state == .awaitingGuardian else { throw Problem.linkNotValid }
            return .registration(try repository.vault.profile(row))
        }
    }

    /// Accepts or refuses an organisation's request for the child.
    func answer(
        _ token: String, accept: Bool, at: Timestamp, trace: String, through answers: GuardianAnswersRequest
    ) async throws {
        let (person, matter) = try await store.readBriefly { [repository] db in
            guard let link = try repository.links.find(db, token, purpose: .guardian, at: at), !link.payload.isEmpty,
                let person = try repository.require(db, link.account).subject.person
            else { throw Problem.linkNotValid }
            return (person, try JSONDecoder().decode(GuardianMatter.self, from: Data(link.payload)))
        }
        // First the answer, which may be repeated, then the link, which may not.
        guard try await answers(matter.request, person, accept, trace) else { throw Problem.linkNotValid }
        try await store.write { [repository] db in _ = try repository.links.use(db, token, purpose: .guardian, at: at) }
    }

    /// The consents of ACC-36, with who gave them; from now on the account works.
    func consent(_ token: String, _ answer: GuardianAnswer, at: Timestamp, trace: String) async throws {
        try await store.write { [repository] db in
            let row = try repository.useGuardianLink(db, token, at: at)
            var profile = try repository.vault.profile(row)
            if !answer.allowsAnonymousSharing { profile.anonymousTypes = [] }
            try repository.setProfile(db, row, profile)
            try repository.acceptConditions(
                db, row.number, row.subject, profile, by: .guardian,
                guardian: "\(answer.name), \(profile.guardian?.text ?? "")", at: at)
            try repository.mail.guardianAnswered(db, row, profile, consented: true, at: at)
            try repository.advance(db, row.number, at: at, trace: trace)
        }
        logger.notice("a guardian has consented")
    }

    /// The registration is forgotten, and the address it was made with is told.
    func refuse(_ token: String, at: Timestamp, trace: String) async throws {
        let person = try await store.write { [repository] db in
            let row = try repository.useGuardianLink(db, token, at: at)
            try repository.mail.guardianAnswered(db, row, repository.vault.profile(row), consented: false, at: at)
            try repository.forget(db, row, at: at, trace: trace)
            return row.subject.person
        }
        if let person { try await repository.vault.keys.destroyKey(of: person) }
        logger.notice("a guardian has not consented")
    }

    /// Forgets registrations that no adult has answered, or nobody confirmed, in time; runs until it is cancelled.
    func run() async throws {
        while true {
            try await expire(now: .now)
            try await Task.sleep(for: Self.sweep)
        }
    }

    /// Keys first, rows last: who is still found at the next round has not been forgotten altogether.
    func expire(now: Timestamp) async throws {
        let before =
            now - repository.settings.guardianTime - (repository.settings.isConfirmationRequired ? repository.settings.confirmTime : .zero)
        let people = try await store.write { [repository] db in
            try repository.mail.expire(db, now: now)
            let rows = try repository.table.waiting(db, in: .awaitingGuardian, since: before) + repository.unconfirmed(db, since: before)
            // From here on nobody can consent any more.
            for row in rows { try repository.links.forget(db, account: row.number, purpose: .guardian) }
            return rows.compactMap(\.subject.person)
        }
        for person in people { try await repository.vault.keys.destroyKey(of: person) }
        try await store.write { [repository] db in
            for person in people {
                guard let row = try repository.table.find(db, person: person) else { continue }
                try repository.forget(db, row, at: now, trace: "")
            }
        }
    }
}
