// How everybody is gone through of whom something is still to be published.

import Contracts
import GRDB
import Storage

extension Store {
    /// Goes once through everybody who is due: some stay due, as long as their keys are damaged, and hold nobody up.
    /// - Parameters:
    ///   - step: people in one transaction.
    ///   - publish: the next of them after a person, nil for the first ones, in the transaction in which they are settled; in order.
    /// - Returns: how many were due.
    func publishDue(
        step: Int, _ publish: @escaping @Sendable (Database, _ after: PersonID?) throws -> [PersonID]
    ) async throws -> Int {
        var (count, last): (Int, PersonID?) = (0, nil)
        repeat {
            let due = try await write { [last] db in try publish(db, last) }
            count += due.count
            last = due.count < step ? nil : due.last
        } while last != nil
        return count
    }
}
