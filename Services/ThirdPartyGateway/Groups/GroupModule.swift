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

    /// - Parameter pause: waits so long, or until its task is cancelled.
    init(
        on stores: GatewayStores, runtime: Runtime, questions: GroupQuestions, admit: @escaping Admit,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws {
        service = GroupService(
            store: stores.opened.store, vault: GroupVault(key: try runtime.key("requests").derived(for: "groups")),
            payments: stores.payments, questions: questions, firstAnswers: FirstAnswers(secret: try runtime.key("answers")),
            logger: runtime.logger, clock: stores.clock)
        routes = GroupRoutes(service: service, admit: admit, pause: pause).all
    }

    var services: [any Service] { [Background(service.run)] }
}
