// SQL sentences by which sharing asks accounts about people, inside its own transactions.

import Contracts
import GRDB
import ServiceKit

extension SharingPeople {
    /// - Parameter book: of accounts. Only active accounts count: nobody shares anything before the conditions are accepted.
    static func of(_ book: AccountBook) -> SharingPeople {
        SharingPeople(
            withFiscalCode: { db, code, now in
                guard let code = PersonIdentifier(code) else { return nil }
                return try person(book, book.table.find(db, fiscalCode: book.lookups.fiscalCode(code)), now)
            },
            withID: { db, id, now in try person(book, book.table.find(db, person: id), now) },
            askGuardian: { db, person, request, details, until in
                guard let row = try book.table.find(db, number: person.account) else { return }
                let matter = GuardianMatter(request: request, organisation: details.organisationName, purpose: details.purpose)
                try book.mail.guardianRequest(db, row, book.vault.profile(row), matter, at: .now, until: until)
            },
            recordChoice: { db, person, choice, source in
                let record = ConsentRecord(
                    what: .anonymousSharing, given: choice.isShared, version: Conditions.version, types: [choice.metric],
                    by: source == .person ? .person : .guardian)
                try book.consents.add(db, record, account: person.account, of: .person(person.person), at: choice.changedAt)
            })
    }

    private static func person(_ book: AccountBook, _ row: AccountRow?, _ now: Timestamp) throws -> SharingPerson? {
        guard let row, row.state == .active, let person = row.subject.person else { return nil }
        let profile = try book.vault.profile(row)
        return SharingPerson(
            account: row.number, person: person, name: profile.name, mail: profile.email.text, language: profile.language,
            needsGuardian: profile.birthDate.age(on: CivilDate(now)) < book.settings.guardianAge)
    }
}
