// Making accounts for people: the whole account or nothing, and its owner told on screen and by mail.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// Where a registration came from.
struct RegistrationOrigin: Sendable {
    let request: RepeatableRequest
    /// The remote address; empty where it is not known.
    let remote: String
    let trace: String
    let at: Timestamp
}

/// What is kept for a repeated request; everything else is told as it is then.
struct RegistrationReceipt: Codable, Sendable {
    var account: AccountNumber
    var correctionToken: String
}

struct RegistrationOutcome: Sendable {
    let row: AccountRow
    let profile: Profile
    /// Good for correcting the address without logging in.
    let correctionToken: String
    let isRepeated: Bool
}

/// How often somebody may try to register.
struct RegistrationLimits: Sendable {
    /// Of whoever sits at this machine: behind it may be everybody, where there is no edge.
    private static let loopback: Set<String> = ["", "127.0.0.1", "::1"]

    /// By the keyed look-up of the e-mail address, and by remote address; in memory only.
    private let byEmail: RateLimiter<[UInt8]>
    private let byRemote: RateLimiter<String>

    init(perHour: Int) {
        byEmail = RateLimiter(rate: Double(perHour) / 3600, burst: Double(perHour))
        byRemote = RateLimiter(rate: Double(perHour) / 3600, burst: Double(perHour))
    }

    func admit(remote: String) throws(Refusal) {
        if !Self.loopback.contains(remote) { try byRemote.admit(remote) }
    }

    func admit(email lookup: [UInt8]) throws(Refusal) {
        try byEmail.admit(lookup)
    }
}

struct RegistrationService: Sendable {
    let store: Store
    let repository: AccountRepository
    let places: PlaceList
    let passwordRule: PasswordRule
    let hasher: PasswordHasher
    let jobs: AccountJobs
    let firstAnswers: FirstAnswers<RegistrationReceipt>
    let logger: Logger
    let limits: RegistrationLimits

    /// After an error nothing was stored. Whose address and fiscal code they are already changes neither the answer nor the work.
    /// - Throws: `RegistrationFault`, `AccountConflict.userName`, `Problem`, `Refusal`.
    func register(_ form: JSONTree, _ origin: RegistrationOrigin) async throws -> RegistrationOutcome {
        if let first = try await firstAnswers.find(in: store, origin.request) { return try await outcome(first, isRepeated: true) }
        try limits.admit(remote: origin.remote)
        if let email = Self.email(in: form) { try limits.admit(email: repository.lookups.email(email)) }
        let registration = try Registration.check(form, rules(at: origin.at))
        // Looked for once more: what the same request, sent twice at once, has stored meanwhile must not look like another's.
        if let meanwhile = try await firstAnswers.find(in: store, origin.request) { return try await outcome(meanwhile, isRepeated: true) }
        let mailed = registration.password == nil ? TemporaryPassword.make(from: Random.bytes(TemporaryPassword.randomBytes)) : nil
        let hash = try await hasher.hash(registration.password ?? mailed ?? "")
        let person = PersonID.random()
        try await repository.vault.makeKey(for: person)
        do {
            return try await commit(registration, person, AccountRepository.NewPassword(hash: hash, mailed: mailed), origin)
        } catch {
            // Nothing of an account that was not made is kept, its key neither (ACC-09).
            try? await repository.vault.keys.destroyKey(of: person)
            throw error
        }
    }

    private func commit(
        _ registration: Registration, _ person: PersonID, _ password: AccountRepository.NewPassword, _ origin: RegistrationOrigin
    ) async throws -> RegistrationOutcome {
        let registered = try await store.write { [repository, firstAnswers] db -> AccountRepository.Registered? in
            guard try firstAnswers.find(db, origin.request) == nil else { return nil }
            let registered = try repository.register(db, registration, of: person, password, at: origin.at, trace: origin.trace)
            try firstAnswers.remember(
                db, RegistrationReceipt(account: registered.row.number, correctionToken: registered.correctionToken),
                of: origin.request, status: 201, at: origin.at)
            return registered
        }
        guard let registered else {
            // The same request came twice at once, and the other one was first.
            try? await repository.vault.keys.destroyKey(of: person)
            return try await register(again: origin)
        }
        if registered.row.state == .active, let joining = registered.joining { await join(joining, person) }
        logger.notice("an account was made", metadata: ["kind": "person", "state": "\(registered.row.state.rawValue)"])
        return try await outcome(
            RegistrationReceipt(account: registered.row.number, correctionToken: registered.correctionToken), isRepeated: false)
    }

    /// The account exists whatever the dispatcher says (ACC-06).
    private func join(_ job: String, _ person: PersonID) async {
        do {
            try await jobs.joinNow(job, of: person)
        } catch {
            logger.warning("the answer to a request to join AutomatedSOS is not stored yet; retrying")
        }
    }

    private func register(again origin: RegistrationOrigin) async throws -> RegistrationOutcome {
        guard let first = try await firstAnswers.find(in: store, origin.request) else {
            throw Refusal(.unavailable, retryAfter: .seconds(1))
        }
        return try await outcome(first, isRepeated: true)
    }

    private func outcome(_ receipt: RegistrationReceipt, isRepeated: Bool) async throws -> RegistrationOutcome {
        let row = try await store.read { [repository] db in try repository.require(db, receipt.account) }
        return RegistrationOutcome(
            row: row, profile: try repository.vault.profile(row), correctionToken: receipt.correctionToken, isRepeated: isRepeated)
    }

    private func rules(at: Timestamp) -> RegistrationRules {
        let settings = repository.settings
        return RegistrationRules(
            fields: ProfileFields(country: settings.country, places: places, mandatory: settings.alsoMandatory),
            termsVersion: Conditions.version,
            isPasswordMailed: settings.passwordSource == .mailed,
            passwordFault: { [passwordRule] password, personal in passwordRule.fault(of: password, personal: personal)?.fieldFault },
            guardianAge: settings.guardianAge, fiscalCodeMatch: settings.fiscalCodeMatch, today: CivilDate(at))
    }

    private static func email(in form: JSONTree) -> EmailAddress? {
        guard case .fields(let fields) = form, case .text(let text)? = fields["email"] else { return nil }
        return EmailAddress(text)
    }
}

extension CivilDate {
    /// The day in UTC.
    init(_ at: Timestamp) {
        self.init(daysSince1970: at.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
    }
}
