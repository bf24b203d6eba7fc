// What an operator does after a restore: takes away anew what was taken away since the copy, and lets third parties in again.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

struct ReopeningService: Sendable {
    let store: Store
    let clientTable: ClientStore
    let endpoints: EndpointStore
    let clients: ClientService
    let directory: OrganisationRegister
    let answers: StoredAnswers
    let logger: Logger

    func register(in methods: inout Methods) {
        methods.on(ReopenThirdParties.self) { try await reopen($0, $1) }
    }

    /// At each start, until it is done.
    func remind() async throws {
        guard try await store.read({ db in try GatewayRestoreStore().isHeld(db) }) else { return }
        logger.error("this store was restored from a copy: third parties are refused, and nothing is delivered, until `trackme org reopen`")
    }

    func reopen(_ asked: ReopenThirdParties, _ context: RequestContext) async throws -> ReopenThirdParties.Reply {
        let reply = try await store.write { [self] db -> ReopenThirdParties.Reply in
            var deleted = 0
            for id in try asked.apiClients.filter({ id in try clientTable.find(db, id) != nil }) {
                try clientTable.delete(db, id)
                deleted += 1
            }
            for id in try asked.endpoints.filter({ id in try endpoints.find(db, id) != nil }) {
                try endpoints.delete(db, id)
                deleted += 1
            }
            let reply = ReopenThirdParties.Reply(wasHeld: try GatewayRestoreStore().reopen(db), deleted: deleted)
            try answers.remember(reply, to: context, in: db)
            return reply
        }
        clients.forgetTokens()
        directory.changedAll()
        logger.notice(
            "third parties were let in again",
            metadata: ["held": "\(reply.wasHeld)", "deleted": "\(reply.deleted)", "trace": "\(context.trace)"])
        return reply
    }
}
