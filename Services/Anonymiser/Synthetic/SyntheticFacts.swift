// Where made-up facts go: through the code that applies what consent and ingest say.

import Contracts
import ServiceKit
import Storage

struct SyntheticFacts: Sendable {
    /// In one transaction.
    let profiles: @Sendable ([CohortProfileState]) async throws -> Void
    /// In one transaction; several hours of one person come in order.
    let hours: @Sendable ([CohortHourSummed]) async throws -> Void
    let closed: @Sendable (CohortHoursClosed) async throws -> Void
}

extension SyntheticFacts {
    /// - Parameter closing: of which nothing runs yet: each hour is closed before the next one is said, so that what is open stays small.
    ///   Nil where it runs, and closes them by itself.
    init(_ people: ProfileRepository, _ sums: HourRepository, closing: HourClosing?, in store: Store) {
        profiles = { told in try await store.write { db in for one in told { try people.apply(db, one) } } }
        hours = { told in try await store.write { db in for one in told { try sums.apply(db, one) } } }
        closed = { told in
            try await store.write { db in try sums.apply(db, told) }
            while let closing, case .atOnce = try await closing.round() {}
        }
    }
}
