// What other services are asked for an account, again and again until they have answered.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

/// What registration asks of other services. The body is the JSON of the contract; the id is the same at every repetition.
struct AccountDependencies: Sendable {
    /// - Throws: `Failure`.
    typealias Ask = @Sendable (_ id: String, _ body: [UInt8]) async throws -> Void

    let recordEntries: Ask
    let subscribePerson: Ask
}

extension AccountDependencies {
    /// The suite's own.
    init(on runtime: Runtime) async throws {
        let ingest = try await runtime.client(of: .ingest)
        let dispatcher = try await runtime.client(of: .sosDispatcher)
        recordEntries = { id, body in
            _ = try await ingest.ask(id: id, method: RecordEntries.method, body: body, deadline: .seconds(2), attempts: 2)
        }
        subscribePerson = { id, body in
            _ = try await dispatcher.ask(id: id, method: SubscribePerson.method, body: body, deadline: .seconds(1), attempts: 2)
        }
    }
}

struct AccountJobs: Sendable {
    let entries: JobRunner<RecordEntries, Void>
    private let joins: JobRunner<SubscribePerson, AutomatedSOSPreference>
    private let store: Store
    private let repository: AccountRepository

    init(store: Store, repository: AccountRepository, dependencies: AccountDependencies, logger: Logger) {
        (self.store, self.repository) = (store, repository)
        entries = JobRunner(repository.jobs.entries, in: store, logger: logger) { job in
            guard try await Self.isOpen(job.body.person, store, repository) else { return { _ in } }
            do {
                try await dependencies.recordEntries(job.id, Methods.encode(job.body))
            } catch let failure as Failure where failure.isLasting {
                throw JobGivenUp(failure)
            }
            return { _ in }
        }
        joins = JobRunner(repository.jobs.joins, in: store, logger: logger) { job in
            let person = job.body.person
            guard try await Self.isOpen(person, store, repository) else { return { _ in AutomatedSOSPreference(status: .asked) } }
            let preference: AutomatedSOSPreference
            do {
                try await dependencies.subscribePerson(job.id, Methods.encode(job.body))
                preference = AutomatedSOSPreference(status: .active)
            } catch let failure as Failure where failure.isLasting {
                preference = Self.refused(failure)
            }
            return { db in
                try repository.settleSOS(db, of: person, preference, at: .now)
                return preference
            }
        }
    }

    /// For the service's list, and what runs in the background.
    var all: [any JobRunning] { [entries, joins] }

    /// Asks the SOS dispatcher at once; whatever it says, or that it says nothing, is final (ACC-06).
    func joinNow(_ id: String, of person: PersonID) async throws {
        do {
            _ = try await joins.runNow(id)
        } catch let failure as Failure {
            try await store.write { [repository] db in
                guard try repository.jobs.joins.withdraw(db, id: id) else { return }
                try repository.settleSOS(db, of: person, Self.refused(failure), at: .now)
            }
        }
    }

    /// Whoever is being erased has nothing left to be asked.
    private static func isOpen(_ person: PersonID, _ store: Store, _ repository: AccountRepository) async throws -> Bool {
        let row = try await store.read { db in try repository.table.find(db, person: person) }
        return row.map { $0.state != .closing } ?? false
    }

    /// For the person; the dispatcher's own reasons hold nothing personal by contract.
    private static func refused(_ failure: Failure) -> AutomatedSOSPreference {
        AutomatedSOSPreference(
            status: .refused,
            reason: failure.isRetriable
                ? "AutomatedSOS did not answer; the account works without it. Join again from the app." : failure.reason)
    }
}

extension Failure {
    /// Asking again will not help. Whoever does not know the person yet may have heard of them a moment later.
    fileprivate var isLasting: Bool {
        switch code {
        case .invalid, .conflict: true
        case .notFound, .forbidden, .unknownMethod, .unavailable, .deadline, .internal: false
        }
    }
}
