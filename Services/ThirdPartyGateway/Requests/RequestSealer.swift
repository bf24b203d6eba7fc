// Brings what was asked under the person's own key as soon as consent has said who that is, so that an erasure ends it.

import Contracts
import Logging
import ServiceKit
import Storage
import Synchronization

final class RequestSealer: Sendable {
    private static let batch = 100
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(10)

    private let store: Store
    private let keys: PersonKeys
    private let vault: RequestVault
    private let logger: Logger
    private let table = RequestStore()
    private let wakeUp = WakeUpSignal()
    /// People whose key is about to be replaced: nothing is sealed under it meanwhile.
    private let held = Mutex(Set<PersonID>())

    init(store: Store, keys: PersonKeys, vault: RequestVault, logger: Logger) {
        (self.store, self.keys, self.vault, self.logger) = (store, keys, vault, logger)
    }

    func wake() {
        wakeUp.notify()
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let loop = WorkLoop(every: Self.pollInterval, signal: wakeUp) { [logger] error in
            logger.warning("requests could not be sealed; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
        }
        try await loop.poll { try await self.takeAll() }
    }

    /// Once over everything that waits.
    func takeAll() async throws {
        let waiting = try await store.read { [table] db in try table.waitingForKey(db, limit: Self.batch) }
        for stored in waiting {
            guard let person = stored.request.person, held.withLock({ !$0.contains(person) }) else { continue }
            do {
                let key = try await keys.makeKey(for: person)
                guard let sealed = try vault.reseal(stored, under: key, isPersons: true) else { continue }
                try await store.write { [self] db in
                    // What was forgotten or given back meanwhile stays so.
                    guard held.withLock({ !$0.contains(person) }), keys.isCurrent(key, of: person),
                        try table.stored(db, stored.request.id)?.particulars == stored.particulars
                    else { return }
                    try table.replace(db, sealed, of: stored.request.id)
                }
            } catch is KeyDestroyed {
                try await store.write { [table] db in try table.forgetPerson(db, of: stored.request.id) }
            } catch is DamagedKey {
                // Waits until the key is restored; those behind it do not.
            }
        }
    }

    // MARK: Where a person's data are erased and the account stays

    /// Requests go on under the service's key until the person has another one.
    func giveBack(_ person: PersonID) async throws {
        held.withLock { _ = $0.insert(person) }
        try await store.write { [table, vault] db in
            for stored in try table.all(db, of: person) where stored.particulars?.isPersons == true {
                guard let sealed = try vault.reseal(stored, under: vault.serviceKey, isPersons: false) else { continue }
                try table.replace(db, sealed, of: stored.request.id)
            }
        }
    }

    func takeAgain(_ person: PersonID) {
        held.withLock { _ = $0.remove(person) }
        wakeUp.notify()
    }
}
