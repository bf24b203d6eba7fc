// SQL sentences by which sharing asks accounts about people, inside its own transactions.

import Contracts
import GRDB
import ServiceKit

extension SharingPersonStore {
    /// - Parameter repository: of accounts. Only active accounts count: nobody shares anything before the conditions are accepted.
    static func of(_ repository: AccountRepository) -> SharingPersonStore {
        SharingPersonStore(
            withFiscalCode: { db, code, now in
                guard let code = PersonIdentifier(code) else { return nil }
                return try person(repository, repository.table.find(db, fiscalCode: repository.lookups.fiscalCode(code)), now)
            },
            withID: { db, id, now in try person(repository, repository.table.find(db, person: id), now) },
            askGuardian: { db, person, request, details, until in
                guard let row = try repository.table.find(db, number: person.account) else { return }
                let matter = GuardianMatter(request: request, organisation: details.organisationName, purpose: details.purpose)
                try repository.mail.guardianRequest(db, row, repository.vault.profile(row), matter, at: .now, until: until)
            },
            recordChoice: { db, person, choice, source in
                let record = ConsentRecord(
                    what: .anonymousSharing, given: choice.isShared, version: Conditions.version, types: [choice.metric],
                    by: source == .person ? .person : .guardian)
                try repository.consents.add(db, record, account: person.account, of: .person(person.person), at: choice.changedAt)
                try repository.publish(db, person.account, at: choice.changedAt, trace: "")
            })
    }

    private static func person(_ repository: AccountRepository, _ row: AccountRow?, _ now: Timestamp) throws -> SharingPerson? {
        guard let row, row.state == .active, let person = row.subject.person else { return nil }
        let profile = try repository.vault.profile(row)
        return SharingPerson(
            account: row.number, person: person, name: profile.name, mail: profile.email.text, language: profile.language,
            needsGuardian: profile.birthDate.age(on: CivilDate(now)) < repository.settings.guardianAge)
    }
}
