// The dispatcher's part in erasing a person. A call for help that is under way comes to its end first.

import Bus
import Contracts
import ServiceKit

struct SOSDispatcherErasure: Sendable {
    /// How long the end of an account waits for an emergency to end by itself.
    static let longestWait = Duration.seconds(900)

    let supervision: SupervisionService
    let dispatcher: Dispatcher
    let journal: Journal
    let store: SOSStore
    let pair: PairState
    /// Ends what people see and hear of it.
    let forget: @Sendable (PersonID) async -> Void
    private let table: PersonErasureStore

    init(
        supervision: SupervisionService, dispatcher: Dispatcher, journal: Journal, store: SOSStore, pair: PairState,
        messages: MessageOutbox,
        forget: @escaping @Sendable (PersonID) async -> Void = { _ in }
    ) {
        (self.supervision, self.dispatcher, self.journal, self.store, self.pair) = (supervision, dispatcher, journal, store, pair)
        table = PersonErasureStore(messages: messages)
        self.forget = forget
    }

    /// Consent hears of one dispatcher: the second tells the first, and the first confirms for both. Where there is a second, an
    /// erasure waits for it, and the certificate names its stores.
    func follower(on runtime: Runtime, keys: PersonKeys) async throws -> ErasureFollower {
        let consent = try await runtime.client(of: .consent)
        return ErasureFollower(of: runtime.peer, store: store.store, keys: keys, steps: steps, logger: runtime.logger) { own in
            var confirmation = own
            switch pair.role {
            case .second:
                var batch = StoreBatch()
                batch.told = [.erased(own.erasure, own.stores)]
                journal.note(batch)
                return try await journal.commit()
            case .first:
                if try await store.hasDeputy() {
                    guard let theirs = pair.erased(own.erasure) else { throw ErasureWaits() }
                    confirmation.stores += theirs
                }
            }
            _ = try await consent.ask(confirmation, trace: "\(own.erasure)", deadline: .seconds(2))
        }
    }

    var steps: ErasureSteps {
        ErasureSteps(
            shut: { try await shut($0) },
            delete: { [table] db, order in try table.erase(db, order.person, scope: order.scope) },
            streams: { order in
                let said = StreamFamily.emergencies.streams + (order.scope == .account ? StreamFamily.subscriptions.streams : [])
                return (pair.role.speaks ? said : []) + [pair.role.stream]
            }, finish: { try await finish($0) }, kept: PersonErasureStore.kept)
    }

    private func shut(_ order: PersonErased) async throws {
        let isOver = Timestamp.now - order.orderedAt > Self.longestWait
        switch order.scope {
        case .account:
            // ACC-31: supervision ends with the account; an emergency is completed like after leaving the service (SOS-03).
            guard await supervision.leave(order.person, atOnce: isOver) else { throw ErasureWaits() }
            if isOver { await dispatcher.stopAll(of: order.person) }
        case .data:
            guard await supervision.forgetCourse(of: order.person) else { throw ErasureWaits() }
        }
        guard await !dispatcher.isCarrying(for: order.person) else { throw ErasureWaits() }
        if order.scope == .account { pair.forget(order.person) }
        await supervision.events.quiet()
        await forget(order.person)
        await dispatcher.forget(order.person)
        // Nothing about the person is on its way to the tables any more.
        try await journal.commitEverything()
    }

    /// Data alone: supervision goes on, and its state is stored under the new key.
    private func finish(_ order: PersonErased) async throws {
        guard order.scope == .data, try await store.hasSubscriber(order.person) else { return }
        await supervision.superviseAfterErasure(order.person)
        try await journal.commitEverything()
    }
}
