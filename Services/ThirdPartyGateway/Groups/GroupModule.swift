// Group requests put together: for the gateway's assembly and for tests.

import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct GroupModule: Sendable {
    let service: GroupService
    let routes: [Route]
    let windows: GroupWindowRepository
    private let follower: Follower

    /// - Parameter pause: waits so long, or until its task is cancelled.
    init(
        on stores: GatewayStores, runtime: Runtime, questions: GroupQuestions, admit: @escaping Admit,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws {
        service = GroupService(
            store: stores.opened.store, vault: GroupVault(key: try runtime.key("requests").derived(for: "groups")),
            payments: stores.payments, organisations: stores.organisations, questions: questions,
            firstAnswers: FirstAnswers(secret: try runtime.key("answers")), hub: stores.hub, logger: runtime.logger, clock: stores.clock)
        let windows = GroupWindowRepository(
            organisations: stores.organisations, queue: stores.subscriptions.queue, clock: stores.clock)
        self.windows = windows
        follower = Follower(
            family: .groupWindows, on: runtime, store: stores.opened.store,
            apply: { db, event in
                guard let closed = try event.fact(GroupWindowClosed.self, type: GroupWindowClosed.type) else { return }
                try windows.receive(db, closed)
            })
        routes = GroupRoutes(service: service, admit: admit, pause: pause).all
    }

    var services: [any Service] { [Background(service.run), Background(follower.run)] }
}
