// SQL sentences over several tables about people's accounts: what belongs in one transaction stands together here.

import Contracts
import GRDB
import HTTPKit
import ServiceKit
import Storage

/// The tables and words that registration, confirmation, guardians and profiles share.
struct AccountBook: Sendable {
    let settings: AccountSettings
    let vault: ProfileVault
    let lookups: AccountLookups
    let news: PeopleNews
    let mail: AccountMail
    let links: MailLinks
    let consents: ConsentRecords
    let duties: DutyTable
    let credentials: CredentialTable
    let table = AccountTable()

    /// How long whoever has just registered may correct the address without logging in.
    static let correctionTime: Duration = .seconds(24 * 3600)

    static func create(in db: Database) throws {
        try AccountTable.create(in: db)
        try ConsentRecords.create(in: db)
        try AccountMail.create(in: db)
        try DutyTable.create(in: db)
        try AnnouncementTable.create(in: db)
    }

    /// A password as it is stored.
    struct NewPassword: Sendable {
        let hash: String
        /// In the clear, to be mailed; nil where the person chose it.
        let mailed: String?
    }

    struct Registered: Sendable {
        let row: AccountRow
        let news: [EventRelay.Committed]
        let correctionToken: String
    }

    // MARK: Registering

    func keys(_ registration: Registration) -> AccountTable.Keys {
        AccountTable.Keys(
            email: lookups.email(registration.profile.email), fiscalCode: lookups.fiscalCode(registration.fiscalCode),
            userName: registration.profile.userName.map(lookups.userName))
    }

    /// The whole account or nothing (ACC-07).
    /// - Throws: `AccountConflict`.
    func register(
        _ db: Database, _ registration: Registration, of person: PersonID, _ password: NewPassword, at: Timestamp, trace: String
    ) throws -> Registered {
        let subject = AccountSubject.person(person)
        var profile = registration.profile
        profile.anonymousTypes = registration.anonymousTypes
        profile.automatedSOS.status = registration.joinsAutomatedSOS ? .asked : .notAsked
        profile.guardian = registration.guardian
        let state: AccountState =
            registration.guardian != nil ? .awaitingGuardian : settings.isConfirmationRequired ? .unconfirmed : .active
        let number = try table.add(
            db, subject, keys: keys(registration), profile: vault.seal(profile, of: person), state: state, at: at)
        try credentials.set(
            db, account: number, hash: password.hash,
            temporaryUntil: password.mailed == nil ? nil : at + settings.temporaryPasswordTime, at: at)
        if registration.guardian == nil { try acceptConditions(db, number, subject, profile, by: .person, guardian: nil, at: at) }
        try addDuties(db, number, person, profile, held: state != .active, at: at)
        let row = try require(db, number)
        // Only an account that works is announced as one that does.
        if state == .active {
            try mail.accountCreated(db, row, profile, at: at)
        } else {
            try mail.confirmAddress(db, row, profile, at: at)
        }
        if let mailed = password.mailed { try mail.temporaryPassword(db, row, profile, mailed, at: at) }
        if let guardian = registration.guardian { try mail.guardianConsent(db, row, profile, to: guardian, at: at) }
        let token = try links.make(db, purpose: .correctAddress, account: number, at: at, lasting: Self.correctionTime)
        return Registered(row: row, news: try said(db, number, at: at, trace: trace), correctionToken: token)
    }

    private func addDuties(
        _ db: Database, _ number: AccountNumber, _ person: PersonID, _ profile: Profile, held: Bool, at: Timestamp
    ) throws {
        try recordMeasured(db, number, person, profile, [.bodyWeight, .bodyHeight], held: held, at: at)
        guard profile.automatedSOS.status == .asked else { return }
        try duties.add(
            db, .joinSOS, SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), account: number, of: .person(person),
            held: held, dueAt: at + AccountDuties.head)
    }

    /// Weight and height are also data entries (table ACC-F).
    func recordMeasured(
        _ db: Database, _ number: AccountNumber, _ person: PersonID, _ profile: Profile, _ metrics: [Metric], held: Bool, at: Timestamp
    ) throws {
        let samples = metrics.map { metric in
            Sample(type: metric, at: at, value: metric == .bodyWeight ? profile.weight : profile.height)
        }
        guard !samples.isEmpty else { return }
        try duties.add(
            db, .recordEntries, RecordEntries(person: person, samples: samples), account: number, of: .person(person), held: held,
            dueAt: at)
    }

    /// Conditions and choices, with version and time (ACC-05, ACC-32).
    func acceptConditions(
        _ db: Database, _ number: AccountNumber, _ subject: AccountSubject, _ profile: Profile, by giver: ConsentRecord.Giver,
        guardian: String?, at: Timestamp
    ) throws {
        try table.acceptTerms(db, number, version: Conditions.version)
        for metric in profile.anonymousTypes { try AnonymousSharing().choose(db, number, metric, shared: true, at: at) }
        var records = [ConsentRecord.What.terms, .privacy].map {
            ConsentRecord(what: $0, given: true, version: Conditions.version, by: giver, guardian: guardian)
        }
        if !profile.anonymousTypes.isEmpty {
            records.append(
                ConsentRecord(
                    what: .anonymousSharing, given: true, version: Conditions.version, types: profile.anonymousTypes, by: giver,
                    guardian: guardian))
        }
        for record in records { try consents.add(db, record, account: number, of: subject, at: at) }
    }

    // MARK: Addresses

    /// The first mail once more, to another address where one is given.
    /// - Throws: `address-already-confirmed`, `AccountConflict.email`, 429.
    func sendAgain(_ db: Database, _ number: AccountNumber, to corrected: EmailAddress?, at: Timestamp) throws -> AccountRow {
        let row = try require(db, number)
        guard row.addressConfirmedAt == nil else {
            throw AccountProblem.addressConfirmed.problem("Nothing was sent. Log in; another address is chosen in the profile.")
        }
        try requireFewMails(db, number, .confirmAddress, at: at)
        var profile = try vault.profile(row)
        if let corrected, lookups.email(corrected) != row.emailLookup {
            try table.setEmail(db, number, lookup: lookups.email(corrected), confirmedAt: nil)
            profile.email = corrected
            try setProfile(db, row, profile)
        }
        let new = try require(db, number)
        try mail.confirmAddress(db, new, profile, at: at)
        return new
    }

    /// - Throws: 429 where the account was sent too many links of this kind within an hour.
    func requireFewMails(_ db: Database, _ number: AccountNumber, _ purpose: MailLinkPurpose, at: Timestamp) throws {
        let hour = Duration.seconds(3600)
        guard try links.count(db, account: number, purpose: purpose, since: at - hour) < AddressService.mailsPerHour else {
            throw Refusal(.tooManyRequests, retryAfter: hour)
        }
    }

    // MARK: Changing

    /// - Throws: `Problem.notFound` where the person has no account any more.
    func requirePerson(_ db: Database, _ person: PersonID) throws -> AccountRow {
        guard let row = try table.find(db, person: person), row.state != .closing else { throw Problem.notFound }
        return row
    }

    /// - Throws: `Problem.linkNotValid` where the account has gone meanwhile.
    func require(_ db: Database, _ number: AccountNumber) throws -> AccountRow {
        guard let row = try table.find(db, number: number) else { throw Problem.linkNotValid }
        return row
    }

    /// What the account is now, for whoever follows.
    func said(_ db: Database, _ number: AccountNumber, at: Timestamp, trace: String) throws -> [EventRelay.Committed] {
        try [news.say(db, require(db, number), at: at, trace: trace)].compactMap { $0 }
    }

    func setProfile(_ db: Database, _ row: AccountRow, _ profile: Profile) throws {
        guard let person = row.subject.person else { return }
        try table.setProfile(db, row.number, vault.seal(profile, of: person))
        try EmergencySubscribers().note(db, profileOf: person)
    }

    /// The account's next state once an address is confirmed or an adult has consented; what waits for it is let go.
    func advance(_ db: Database, _ number: AccountNumber, at: Timestamp, trace: String) throws -> [EventRelay.Committed] {
        let row = try require(db, number)
        let isConfirmed = !settings.isConfirmationRequired || row.addressConfirmedAt != nil
        let next: AccountState =
            switch row.state {
            case .unconfirmed where isConfirmed: .active
            case .awaitingGuardian where row.termsVersion != nil: isConfirmed ? .active : .unconfirmed
            default: row.state
            }
        guard next != row.state else { return [] }
        try table.setState(db, number, next)
        if next == .active { try duties.release(db, account: number, at: at) }
        return try said(db, number, at: at, trace: trace)
    }

    /// - Throws: `Problem.linkNotValid` also where the adult has answered already.
    func useGuardianLink(_ db: Database, _ token: String, at: Timestamp) throws -> AccountRow {
        guard let link = try links.use(db, token, purpose: .guardian, at: at), link.payload.isEmpty else { throw Problem.linkNotValid }
        let row = try require(db, link.account)
        guard row.state == .awaitingGuardian else { throw Problem.linkNotValid }
        return row
    }

    /// Deletes an account that nobody has used yet; the person's key is to be destroyed after the commit.
    func forget(_ db: Database, _ row: AccountRow, at: Timestamp, trace: String) throws -> [EventRelay.Committed] {
        let news = try [news.say(db, row, isGone: true, at: at, trace: trace)].compactMap { $0 }
        if let person = row.subject.person { try mail.outbox.forget(db, person) }
        _ = try AnonymousSharing().delete(db, of: row.number)
        try table.delete(db, row.number)
        return news
    }

    /// What became of the wish to join AutomatedSOS.
    func settleSOS(_ db: Database, _ number: AccountNumber, _ wish: AutomatedSOSWish, at: Timestamp) throws {
        guard let row = try table.find(db, number: number) else { return }
        var profile = try vault.profile(row)
        let before = profile.automatedSOS
        guard wish != before else { return }
        profile.automatedSOS = wish
        try setProfile(db, row, profile)
        // The answer to the question and the dispatcher's own fact tell the same: it is written down once.
        guard (wish.status == .active) != (before.status == .active) else { return }
        try consents.add(
            db,
            ConsentRecord(
                what: .automatedSOS, given: wish.status == .active, version: Conditions.version,
                by: profile.guardian == nil ? .person : .guardian), account: number, of: row.subject, at: at)
    }
}
