// Erasure put together: the service that orders it, the repository that follows it, and consent's own part.

import Bus
import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct ErasureSettings: Sendable {
    /// What is promised to people (ACC-29).
    let hours: Int

    init(_ reader: inout SettingsReader) {
        hours = reader.read(
            .integer("acc.erase_hours", default: 24, in: 1...720, "Within how many hours an erasure is promised; operators hear after one.")
        )
    }
}

/// For consent's assembly and for tests.
struct ErasureModule: Sendable {
    let service: ErasureService
    let repository: ErasureRepository
    let follower: ErasureFollower

    /// - Parameters:
    ///   - relay: of the family `.accounts`.
    ///   - further: consent's stores beside its own.
    init(
        _ settings: ErasureSettings, on opened: OpenedStore, relay: EventRelay, dependencies: ErasureService.Dependencies,
        further: [FurtherStore], runtime: Runtime
    ) throws {
        let facts = FactStream(stream: StreamFamily.erasuresStream, epoch: opened.epoch, relay: relay)
        let secrets = ErasureSecrets(
            contacts: try runtime.key("erasures"), capabilities: try runtime.lookupKey(for: "erasure-capability"),
            signing: try SigningKey(seed: runtime.secret("erasures.seed")))
        let repository = ErasureRepository(
            store: opened.store, answers: opened.answers, facts: facts, outbox: dependencies.outbox, vault: dependencies.vault,
            secrets: secrets, logger: runtime.logger)
        let follower = ErasureFollower(
            of: runtime.peer, store: opened.store, keys: opened.keys,
            steps: OwnErasureStore(sharing: dependencies.sharing, further: further).steps, logger: runtime.logger
        ) { try await repository.confirmed($0, by: .consent) }
        service = ErasureService(
            store: opened.store, facts: facts, dependencies: dependencies, requests: ErasureRequests(), follower: follower,
            secrets: secrets,
            hours: settings.hours, logger: runtime.logger)
        (self.repository, self.follower) = (repository, follower)
    }

    var routes: [Route] { ErasureRoutes(service: service, repository: repository).all }

    func register(in methods: inout Methods) {
        methods.on(ConfirmErasure.self) { [repository] request, context in try await repository.confirmed(request, context) }
    }

    var services: [any Service] { [Background(follower.run), Background(repository.run)] }
}
