// After a restore from a copy: who was erased since is said by nobody any more, so whoever consent does not name is taken out.

import Contracts
import Logging
import ServiceKit
import Storage

/// Consent forgets whom an order was about once everybody has carried it out, and a restored store has forgotten that it did. So consent is
/// asked anew who shares, nothing is closed until it has said so whole, and whoever is in the copy and is not named is overwritten as an
/// erasure does it: nothing of theirs would ever count again, whether they were erased or ended sharing.
struct RestoredPeople: Sendable {
    private static let look = Duration.seconds(30)
    private static let backoff = Backoff(.milliseconds(250), upTo: look)
    private static let rowsOfPage = 1000

    let store: Store
    let stores: Population.Stores
    let profiles: ProfileRepository
    let erasure: AnonymiserErasure
    /// Consent may have said who shares.
    let signal: WakeUpSignal
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.look, signal: signal, backoff: Self.backoff) { [logger] error in
            logger.error("a restored copy is not cleared yet and is looked at again", metadata: ["error": "\(error.logReason)"])
        }.run { try await round() }
    }

    /// Broken off, it begins again with the first row that is left.
    func round() async throws -> NextRound {
        let (rows, isHeard) = try await store.read { [hours = stores.hours] db in
            let followed = Set(try ConsumerPositions().load(db).map(\.stream))
            return (try hours.state(db).restoredRows, followed.isSuperset(of: StreamFamily.cohortProfiles.streams))
        }
        guard let rows, isHeard else { return .whenWoken }
        stores.changes.add(.heard)
        var (last, cleared) = (-1, 0)
        while true {
            let page = try await store.read { [people = stores.people, last] db in
                try people.page(db, after: last, limit: Self.rowsOfPage)
            }
            for row in page where row.row < rows && row.record.profile == nil && !row.isErased {
                try await clear(row.row)
                cleared += 1
            }
            guard page.count == Self.rowsOfPage, let end = page.last?.row, end < rows else { break }
            last = end
        }
        try await store.write { [hours = stores.hours] db in try hours.endRestored(db) }
        try await store.emptyLog()
        logger.notice("who shares nothing any more is taken out of the restored copy", metadata: ["rows": "\(cleared)"])
        return .whenWoken
    }

    private func clear(_ row: Int) async throws {
        guard let ended = try await store.write({ [profiles] db in try profiles.end(db, row: row) }) else { return }
        try await erasure.overwrite(ended)
        try await erasure.clearGroups(row)
        try await store.write { [profiles] db in try profiles.forget(db, row: row) }
    }
}
