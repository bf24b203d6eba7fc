// A person's own profile: read at any time, changed where it may change (ACC-18, ACC-19), with the record of consents (ACC-32).

import Contracts
import ServiceKit
import Storage

struct ProfileService: Sendable {
    let store: Store
    let repository: AccountRepository
    let places: PlaceList
    /// After a commit: what depends on a profile is brought up to date.
    var profileChanged: @Sendable () -> Void = {}

    struct Known: Sendable {
        let row: AccountRow
        let profile: Profile
    }

    /// - Throws: `Problem.notFound`.
    func read(_ person: PersonID) async throws -> Known {
        let row = try await store.readBriefly { [repository] db in try repository.requirePerson(db, person) }
        return Known(row: row, profile: try repository.vault.profile(row))
    }

    /// Changes what the form names, all of it or nothing. Weight and height become data entries, too. Of another telephone number the person
    /// is told: emergency services call it back.
    /// - Throws: `ProfileChangeFault`, `AccountConflict.userName`.
    func change(_ person: PersonID, _ form: JSONTree, at: Timestamp, trace: String) async throws -> Known {
        let fields = ProfileFields(country: repository.settings.country, places: places, mandatory: repository.settings.alsoMandatory)
        let edit = try ProfileEdit(form, fields)
        let known = try await store.write { [repository] db in
            let row = try repository.requirePerson(db, person)
            let old = try repository.vault.profile(row)
            let change = edit.applied(to: old)
            if change.hasNewUserName {
                try repository.table.setUserName(db, row.number, lookup: change.profile.userName.map(repository.lookups.userName))
            }
            try repository.setProfile(db, row, change.profile)
            try repository.recordMeasured(db, person, change.profile, change.measured, held: row.state != .active, at: at)
            if change.profile.phone != old.phone { try repository.mail.phoneChanged(db, row, change.profile, at: at) }
            if change.profile.language != old.language { try repository.publish(db, row.number, at: at, trace: trace) }
            return Known(row: try repository.require(db, row.number), profile: change.profile)
        }
        profileChanged()
        return known
    }

    /// Newest first.
    func consents(_ person: PersonID, before: Int64?, limit: Int) async throws -> [ConsentRecordStore.Entry] {
        try await store.read { [repository] db in
            let row = try repository.requirePerson(db, person)
            return try repository.consents.page(db, account: row.number, of: row.subject, before: before, limit: limit)
        }
    }
}
