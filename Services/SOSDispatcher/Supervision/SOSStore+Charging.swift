// SQL sentences about people's devices: who has any, and whose measure nothing because they are being charged (SOS-27).

import Contracts
import Foundation
import GRDB
import Storage

extension SOSStore {
    private static let wholly = "GROUP BY person HAVING sum(vital AND charging) > 0 AND sum(vital AND NOT charging) = 0"

    /// Everybody whose every device for vital signs is on charge; people without such a device are not among them.
    static func charging(_ db: Database) throws -> Set<PersonID> {
        try Set(Data.fetchAll(db, sql: "SELECT person FROM devices \(wholly)").compactMap { PersonID($0) })
    }

    /// Everybody of whom a device may deliver.
    func peopleWithDevices() async throws -> Set<PersonID> {
        try await store.read { db in
            try Set(Data.fetchAll(db, sql: "SELECT DISTINCT person FROM devices").compactMap { PersonID($0) })
        }
    }

    func isCharging(_ person: PersonID) async throws -> Bool {
        try await store.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM devices WHERE person = ? \(SOSStore.wholly)", arguments: [person]) != nil
        }
    }
}
