// Ordering an erasure: shown, confirmed with the password, and from that moment on nothing of the person is given to anybody.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// What came of a confirmed order: how its person follows it.
struct OrderedErasure: Sendable {
    let order: PersonErased
    /// Whoever holds it may read the certificate.
    let capability: String
}

struct ErasureService: Sendable {
    /// Of other subjects of this service.
    struct Dependencies: Sendable {
        let vault: ProfileVault
        let repository: AccountRepository
        let logIns: LogInStore
        let hasher: PasswordHasher
        let ending: SessionEndingStore
        let checker: TokenChecker
        let sharing: SharingClosingStore
        let outbox: MessageOutbox
    }

    let store: Store
    let facts: FactStream
    let dependencies: Dependencies
    let requests: ErasureRequests
    let follower: ErasureFollower
    let secrets: ErasureSecrets
    /// `acc.erase_hours`.
    let hours: Int
    let logger: Logger
    private let table = ErasureStore()
    private let accounts = AccountStore()

    init(
        store: Store, facts: FactStream, dependencies: Dependencies, requests: ErasureRequests, follower: ErasureFollower,
        secrets: ErasureSecrets,
        hours: Int, logger: Logger
    ) {
        (self.store, self.facts, self.dependencies, self.requests) = (store, facts, dependencies, requests)
        (self.follower, self.secrets, self.hours, self.logger) = (follower, secrets, hours, logger)
    }

    // MARK: Asking

    /// Nothing happens yet.
    func ask(_ person: PersonID, _ scope: ErasureScope, at now: Timestamp) async -> ErasureRequests.Request {
        await requests.add(person, scope, at: now)
    }

    /// - Throws: `erasure-not-confirmed`, `erasure-wrong-password` (both: nothing is erased), `erasure-under-way`.
    func confirm(
        _ person: PersonID, _ confirmation: String, password: String, at now: Timestamp, trace: String
    ) async throws
        -> OrderedErasure
    {
        guard let request = await requests.find(person, confirmation, at: now) else { throw Problem.erasureNotConfirmed }
        guard let account = try await store.readBriefly({ [accounts] db in try accounts.find(db, person: person) }) else {
            throw Problem.unauthorised
        }
        let begun = try await prove(account, password, at: now)
        await requests.remove(person)
        return try await order(request.scope, person, account, begun, at: now, trace: trace)
    }

    /// The password once more: a session that somebody left open must not be enough. A wrong one counts as a failed log-in.
    private func prove(_ account: AccountRow, _ password: String, at now: Timestamp) async throws -> LogInTry {
        let logIns = dependencies.logIns
        let begun: LogInTry
        switch try await store.write({ db in try logIns.begin(db, account: account, at: now) }) {
        case .wait(let wait): throw Refusal(.tooManyRequests, retryAfter: wait)
        case .go(let turn): begun = turn
        }
        do {
            guard case .right = try await dependencies.hasher.check(password, against: begun.credential?.hash) else {
                throw Problem.erasureWrongPassword
            }
        } catch let refusal as Refusal {
            try? await store.write { db in try logIns.tookBack(db, begun) }
            throw refusal
        }
        return begun
    }

    // MARK: Ordering

    private func order(
        _ scope: ErasureScope, _ person: PersonID, _ account: AccountRow, _ begun: LogInTry, at now: Timestamp, trace: String
    ) async throws -> OrderedErasure {
        let order = PersonErased(erasure: .random(), person: person, scope: scope, orderedAt: now)
        let contact = try contact(of: account)
        let capability = Base64URL.encode(Random.bytes(32))
        let sealed = try secrets.seal(ErasureContact(email: contact.email.text, language: contact.language), of: order.erasure)
        try await store.write { [self] db in
            guard try table.running(db, of: person, scope: scope) == nil else { throw Problem.erasureUnderWay }
            // An order that came in between may be carried out already.
            guard try accounts.find(db, person: person) != nil else { throw Problem.unauthorised }
            try dependencies.logIns.succeeded(db, begun)
            try table.add(db, order, capability: secrets.lookup(capability), contact: sealed)
            try follower.add(db, order)
            try dependencies.sharing.ordered(db, person, scope: scope, at: now, trace: trace)
            if scope == .account {
                try dependencies.ending.endAll(db, of: account.number, at: now)
                try dependencies.repository.events.publish(db, account, isGone: true, at: now, trace: trace)
                try accounts.setState(db, account.number, .closing)
                try dependencies.checker.keep(db, .personGone(person, at: now))
                db.afterCommit { [checker = dependencies.checker] in checker.learn(.personGone(person, at: now)) }
            }
            // Last, behind what it ends.
            try facts.publish(db, type: PersonErased.type, subject: person, body: order, at: now, trace: trace)
            try dependencies.outbox.enqueue(db, ordered(contact))
        }
        logger.notice("an erasure is ordered", metadata: ["erasure": "\(order.erasure)", "scope": "\(scope.rawValue)"])
        return OrderedErasure(order: order, capability: capability)
    }

    /// - Throws: `erasure-under-way` where another order about the account has destroyed the person's key since it was read.
    private func contact(of account: AccountRow) throws -> AccountContact {
        do {
            return try dependencies.vault.contact(account)
        } catch is KeyDestroyed {
            throw Problem.erasureUnderWay
        }
    }

    /// To nobody's inbox: it must outlive the person's data.
    private func ordered(_ contact: AccountContact) -> SendMessage {
        SendMessage(
            message: .random(), recipient: Recipient(person: nil, mail: contact.email.text), channels: [.mail],
            template: .erasureOrdered, language: contact.language, values: ["name": contact.greeted, "hours": "\(hours)"])
    }
}

/// What erasures are kept with: looked up by what only their person holds, signed so that anybody can check.
struct ErasureSecrets: Sendable {
    /// What a certificate is, so that no token passes for one.
    static let type = "erasure-certificate+jws"

    private let contacts: SymmetricKey
    private let capabilities: LookupKey
    private let signing: SigningKey
    let keyID: String

    init(contacts: SymmetricKey, capabilities: LookupKey, signing: SigningKey) {
        (self.contacts, self.capabilities, self.signing) = (contacts, capabilities, signing)
        keyID = "erasures-" + Hex.encode(Digest.sha256(signing.publicKey.bytes).prefix(8))
    }

    var publicKey: VerifyingKey { signing.publicKey }

    func lookup(_ capability: String) -> [UInt8] {
        capabilities.lookup(capability)
    }

    func seal(_ contact: ErasureContact, of erasure: ErasureID) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(contact), key: contacts, context: Self.context(erasure))
    }

    func open(_ sealed: [UInt8], of erasure: ErasureID) throws -> ErasureContact {
        try JSONDecoder().decode(ErasureContact.self, from: Data(Seal.open(sealed, key: contacts, context: Self.context(erasure))))
    }

    func sign(_ certificate: ErasureCertificate) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try CompactJWS.sign(payload: encoder.encode(certificate), typ: Self.type, keyID: keyID, with: signing)
    }

    private static func context(_ erasure: ErasureID) -> [UInt8] {
        Array("erasures.contact \(erasure)".utf8)
    }
}
