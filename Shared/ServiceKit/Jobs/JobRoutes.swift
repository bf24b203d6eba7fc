// The operator's doors to a service's jobs on the bus.

package import Bus
import Contracts
package import Storage

/// Answers ListJobs and ResendJobs for one store.
package struct JobRoutes: Sendable {
    private static let page = 100

    private let store: Store
    private let runners: [any JobRunning]

    /// - Parameter runners: of all kinds that the service has.
    package init(_ store: Store, _ runners: [any JobRunning]) {
        (self.store, self.runners) = (store, runners)
    }

    package func register(in methods: inout Methods) {
        methods.on(method: ListJobs.method) { body, _ in try Methods.encode(try await list(Methods.decode(ListJobs.self, body))) }
        methods.on(method: ResendJobs.method) { body, _ in try Methods.encode(try await resend(Methods.decode(ResendJobs.self, body))) }
    }

    func list(_ request: ListJobs) async throws -> ListJobs.Reply {
        let (counts, dead) = try await store.read { [kinds = runners.map(\.kindName)] db in
            (
                try kinds.map { try JobTable().count(db, $0) },
                try JobTable().dead(db, after: request.after ?? 0, limit: Self.page)
            )
        }
        return ListJobs.Reply(
            kinds: counts.map { .init(kind: $0.kind, waiting: $0.waiting, dead: $0.dead, oldest: $0.oldest) },
            dead: dead.map {
                .init(
                    job: $0.number, kind: $0.kind, error: $0.error, attempts: $0.attempts, enqueuedAt: $0.createdAt, deadAt: $0.deadAt)
            }, next: dead.count == Self.page ? dead.last?.number : nil)
    }

    func resend(_ request: ResendJobs) async throws -> ResendJobs.Reply {
        let resent = try await store.write { db in try JobTable().resend(db, request.job, at: .now) }
        for runner in runners { runner.wake() }
        return ResendJobs.Reply(resent: resent)
    }
}
