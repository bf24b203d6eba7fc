// SQL sentences over several tables about people's accounts: what belongs in one transaction stands together here.

import Contracts
import GRDB
import HTTPKit
import ServiceKit
import Storage

/// The tables and words that registration, confirmation, guardians and profiles share.
struct AccountRepository: Sendable {
    let settings: AccountSettings
    let vault: ProfileVault
    let lookups: AccountLookups
    let events: PeopleEventStore
    let mail: AccountMailStore
    let links: MailLinkStore
    let consents: ConsentRecordStore
    let jobs: AccountJobStore
    let credentials: CredentialStore
    let table = AccountStore()

    /// How long whoever has just registered may correct the address without logging in.
    static let correctionTime: Duration = .seconds(24 * 3600)

    static func create(in db: Database) throws {
        try AccountStore.create(in: db)
        try ConsentRecordStore.create(in: db)
        try AccountMailStore.create(in: db)
        try FormerAccountJobs.create(in: db)
        try AnnouncementStore.create(in: db)
    }

    /// A password as it is stored.
    struct NewPassword: Sendable {
        let hash: String
        /// In the clear, to be mailed; nil where the person chose it.
        let mailed: String?
    }

    struct Registered: Sendable {
        let row: AccountRow
        let correctionToken: String
        /// The job that joins AutomatedSOS; nil where the person does not want to.
        let joining: String?
    }

    // MARK: Registering

    /// By what an account with this profile is found once it claims it.
    func keys(_ profile: Profile) -> AccountStore.Keys {
        AccountStore.Keys(
            email: lookups.email(profile.email), fiscalCode: PersonIdentifier(profile.fiscalCode).map(lookups.fiscalCode),
            userName: profile.userName.map(lookups.userName))
    }

    /// Whether the account is found by its own address. A registration is not before somebody has confirmed it: until then any number
    /// of them may name one address, and none of them tells whether it is somebody's already.
    func isClaimed(_ row: AccountRow, _ profile: Profile) -> Bool {
        row.emailLookup == lookups.email(profile.email)
    }

    /// The whole account or nothing (ACC-07). Where addresses are confirmed first, what is stored and answered does not depend on who
    /// else is registered; who has the address already is told by mail.
    /// - Throws: `AccountConflict.userName` alone.
    func register(
        _ db: Database, _ registration: Registration, of person: PersonID, _ password: NewPassword, at: Timestamp, trace: String
    ) throws -> Registered {
        let subject = AccountSubject.person(person)
        var profile = registration.profile
        profile.anonymousTypes = registration.anonymousTypes
        profile.automatedSOS.status = registration.joinsAutomatedSOS ? .asked : .notAsked
        profile.guardian = registration.guardian
        var wanted = keys(profile)
        if let name = wanted.userName { try table.requireFree(db, .init(email: AccountStore.Keys.unclaimed.email, userName: name)) }
        wanted.userName = nil
        let claims = try !settings.isConfirmationRequired && isFree(db, wanted)
        let state: AccountState = !claims ? .unconfirmed : registration.guardian == nil ? .active : .awaitingGuardian
        let number = try table.add(
            db, subject, keys: claims ? keys(profile) : .unclaimed, profile: vault.seal(profile, of: person), state: state, at: at)
        try credentials.set(
            db, account: number, hash: password.hash,
            temporaryUntil: password.mailed == nil ? nil : at + settings.temporaryPasswordTime, at: at)
        if registration.guardian == nil { try acceptConditions(db, number, subject, profile, by: .person, guardian: nil, at: at) }
        let joining = try addJobs(db, person, profile, held: state != .active, at: at)
        let row = try require(db, number)
        // Only an account that works is announced as one that does.
        if state == .active {
            try mail.accountCreated(db, row, profile, at: at)
        } else {
            try askAddress(db, row, profile, at: at)
        }
        if let mailed = password.mailed, try table.find(db, email: wanted.email).map({ $0.number == number }) ?? true {
            try mail.temporaryPassword(db, row, profile, mailed, at: at)
        }
        if claims, let guardian = registration.guardian { try mail.guardianConsent(db, row, profile, to: guardian, at: at) }
        let token = try links.make(db, purpose: .correctAddress, account: number, at: at, lasting: Self.correctionTime)
        try publish(db, number, at: at, trace: trace)
        return Registered(row: row, correctionToken: token, joining: joining)
    }

    private func isFree(_ db: Database, _ keys: AccountStore.Keys) throws -> Bool {
        do {
            try table.requireFree(db, keys)
            return true
        } catch is AccountConflict {
            return false
        }
    }

    /// Asks whoever reads the address to confirm it, or tells them that it serves an account already: the one or the other mail, and
    /// the same rows.
    private func askAddress(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        guard let holder = try table.find(db, email: lookups.email(profile.email)), holder.number != row.number else {
            return try mail.confirmAddress(db, row, profile, at: at)
        }
        try mail.countConfirmation(db, row, profile, at: at)
        try notify(db, holder, at: at)
    }

    /// Tells the owner of an account that somebody has given what is theirs. Whoever is being erased is told nothing more.
    func notify(_ db: Database, _ holder: AccountRow, at: Timestamp) throws {
        guard holder.state != .closing else { return }
        do {
            try mail.alreadyRegistered(db, holder, vault.contact(holder), at: at)
        } catch is KeyDestroyed {
            return
        }
    }

    private func addJobs(_ db: Database, _ person: PersonID, _ profile: Profile, held: Bool, at: Timestamp) throws -> String? {
        try recordMeasured(db, person, profile, [.bodyWeight, .bodyHeight], held: held, at: at)
        return profile.automatedSOS.status == .asked ? try jobs.join(db, person, held: held, at: at) : nil
    }

    /// Weight and height are also data entries (table ACC-F).
    func recordMeasured(
        _ db: Database, _ person: PersonID, _ profile: Profile, _ metrics: [Metric], held: Bool, at: Timestamp
    ) throws {
        let samples = metrics.map { metric in
            Sample(type: metric, at: at, value: metric == .bodyWeight ? profile.weight : profile.height)
        }
        if !samples.isEmpty { try jobs.record(db, samples, of: person, held: held) }
    }

    /// Conditions and choices, with version and time (ACC-05, ACC-32).
    func acceptConditions(
        _ db: Database, _ number: AccountNumber, _ subject: AccountSubject, _ profile: Profile, by giver: ConsentRecord.Giver,
        guardian: String?, at: Timestamp
    ) throws {
        try table.acceptTerms(db, number, version: Conditions.version)
        for metric in profile.anonymousTypes { try AnonymousSharingStore().choose(db, number, metric, shared: true, at: at) }
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
    /// - Throws: `address-already-confirmed`, 429; `AccountConflict.email` only where the account was opened without a confirmation.
    func sendAgain(_ db: Database, _ number: AccountNumber, to corrected: EmailAddress?, at: Timestamp) throws -> AccountRow {
        let row = try require(db, number)
        guard row.addressConfirmedAt == nil else {
            throw Problem.addressConfirmed.saying(
                "Nothing was sent. Log in; another address is chosen in the profile.",
                italian: "Nulla è stato inviato. Acceda; un altro indirizzo si sceglie nel profilo.")
        }
        try requireFewMails(db, number, .confirmAddress, at: at)
        var profile = try vault.profile(row)
        if let corrected, lookups.email(corrected) != lookups.email(profile.email) {
            let lookup = isClaimed(row, profile) ? lookups.email(corrected) : AccountStore.Keys.unclaimed.email
            try table.setEmail(db, number, lookup: lookup, confirmedAt: nil)
            profile.email = corrected
            try setProfile(db, row, profile)
        }
        let new = try require(db, number)
        try askAddress(db, new, profile, at: at)
        return new
    }

    /// - Throws: 429 where the account was sent too many links of this kind within an hour.
    func requireFewMails(_ db: Database, _ number: AccountNumber, _ purpose: MailLinkPurpose, at: Timestamp) throws {
        guard try links.countLately(db, account: number, purpose: purpose, at: at) < AddressService.mailsPerHour else {
            throw Refusal(.tooManyRequests, retryAfter: .seconds(3600))
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
    func publish(_ db: Database, _ number: AccountNumber, at: Timestamp, trace: String) throws {
        try events.publish(db, require(db, number), at: at, trace: trace)
    }

    func setProfile(_ db: Database, _ row: AccountRow, _ profile: Profile) throws {
        guard let person = row.subject.person else { return }
        try table.setProfile(db, row.number, vault.seal(profile, of: person))
        try EmergencySubscriberStore().note(db, profileOf: person)
        try CohortSharerStore().note(db, profileOf: person)
    }

    /// What became of a registration whose address somebody has confirmed.
    enum Claim: Hashable, Sendable {
        case made
        /// Another account has the address or the fiscal code; its owner has been told, and the registration is as if never made.
        case taken(AccountConflict)
    }

    /// The first registration whose address is confirmed gets what it names; a user name that is gone meanwhile is left out.
    func claim(_ db: Database, _ row: AccountRow, at: Timestamp) throws -> Claim {
        var profile = try vault.profile(row)
        guard !isClaimed(row, profile) else { return .made }
        do {
            try table.claim(db, row.number, keys(profile))
        } catch AccountConflict.userName {
            profile.userName = nil
            try setProfile(db, row, profile)
            try table.claim(db, row.number, keys(profile))
        } catch let conflict as AccountConflict {
            let lookups = keys(profile)
            let holder =
                try conflict == .email
                ? table.find(db, email: lookups.email) : lookups.fiscalCode.flatMap { try table.find(db, fiscalCode: $0) }
            if let holder { try notify(db, holder, at: at) }
            return .taken(conflict)
        }
        return .made
    }

    /// The account's next state once an address is confirmed or an adult has consented; what waits for it is let go.
    func advance(_ db: Database, _ number: AccountNumber, at: Timestamp, trace: String) throws {
        let row = try require(db, number)
        let isConfirmed = !settings.isConfirmationRequired || row.addressConfirmedAt != nil
        let profile = try vault.profile(row)
        let next: AccountState =
            switch row.state {
            // An adult is asked once the address is somebody's: until then nobody but its reader learns anything.
            case .unconfirmed where isConfirmed: profile.guardian != nil && row.termsVersion == nil ? .awaitingGuardian : .active
            case .awaitingGuardian where row.termsVersion != nil: isConfirmed ? .active : .unconfirmed
            default: row.state
            }
        guard next != row.state else { return }
        try table.setState(db, number, next)
        if next == .awaitingGuardian, let guardian = profile.guardian { try mail.guardianConsent(db, row, profile, to: guardian, at: at) }
        if next == .active, let person = row.subject.person { try jobs.release(db, of: person) }
        try publish(db, number, at: at, trace: trace)
    }

    /// - Throws: `Problem.linkNotValid` also where the adult has answered already.
    func useGuardianLink(_ db: Database, _ token: String, at: Timestamp) throws -> AccountRow {
        guard let link = try links.use(db, token, purpose: .guardian, at: at), link.payload.isEmpty else { throw Problem.linkNotValid }
        let row = try require(db, link.account)
        guard row.state == .awaitingGuardian else { throw Problem.linkNotValid }
        return row
    }

    /// Registrations that nobody has confirmed, from before then. Those that an earlier version let claim their address stay.
    func unconfirmed(_ db: Database, since: Timestamp) throws -> [AccountRow] {
        try table.waiting(db, in: .unconfirmed, since: since).filter { row in
            do {
                return try !isClaimed(row, vault.profile(row))
            } catch is KeyDestroyed {
                return true
            } catch is DamagedKey {
                // It stays until the key is restored.
                return false
            }
        }
    }

    /// Deletes an account that nobody has used yet; the person's key is to be destroyed after the commit.
    func forget(_ db: Database, _ row: AccountRow, at: Timestamp, trace: String) throws {
        try events.publish(db, row, isGone: true, at: at, trace: trace)
        if let person = row.subject.person { try JobTable().forget(db, person) }
        _ = try AnonymousSharingStore().delete(db, of: row.number)
        try table.delete(db, row.number)
    }

    /// What became of the request to join AutomatedSOS.
    func settleSOS(_ db: Database, of person: PersonID, _ preference: AutomatedSOSPreference, at: Timestamp) throws {
        guard let row = try table.find(db, person: person) else { return }
        var profile = try vault.profile(row)
        let before = profile.automatedSOS
        guard preference != before else { return }
        profile.automatedSOS = preference
        try setProfile(db, row, profile)
        // The answer to the question and the dispatcher's own fact tell the same: it is written down once.
        guard (preference.status == .active) != (before.status == .active) else { return }
        try consents.add(
            db,
            ConsentRecord(
                what: .automatedSOS, given: preference.status == .active, version: Conditions.version,
                by: profile.guardian == nil ? .person : .guardian), account: row.number, of: row.subject, at: at)
    }
}
