// Organisations put together: what other subjects need of them, and what the assembly runs.

import Bus
import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct OrganisationModule: Sendable {
    /// What they stand on.
    struct Dependencies: Sendable {
        var opened: OpenedStore
        var outbox: MessageOutbox
        var runtime: Runtime
        var effects = ClosingEffects()
        var now: @Sendable () -> Timestamp = { .now }
    }

    let door: OrganisationDoor
    let repository: OrganisationRepository
    let directory: OrganisationRegister
    let accounts: OrganisationService
    let members: MemberService
    let clients: ClientService
    let service: OrganisationReviewService
    let allowance: Allowance
    private let support: SupportRoutes
    let jobs: OrganisationJobs
    let unconfirmed: UnconfirmedOrganisations
    private let now: @Sendable () -> Timestamp

    init(_ settings: OrganisationSettings, on dependencies: Dependencies) async throws {
        let (runtime, store, now) = (dependencies.runtime, dependencies.opened.store, dependencies.now)
        let key = try runtime.key("organisations")
        let table = OrganisationStore(
            key: key, names: try runtime.lookupKey(for: "business-name"), vatNumbers: try runtime.lookupKey(for: "vat-number"),
            addresses: try runtime.lookupKey(for: "corporate-address"))
        let memberTable = MemberStore(key: key)
        let consent = ConsentClient(client: try await runtime.client(of: .consent))
        repository = OrganisationRepository(table: table, outbox: dependencies.outbox)
        directory = OrganisationRegister(store: store, organisations: table, members: memberTable)
        door = OrganisationDoor(directory: directory)
        jobs = OrganisationJobs(store: store, table: table, consent: consent, logger: runtime.logger, now: now)
        unconfirmed = UnconfirmedOrganisations(
            life: settings.unconfirmedTime, store: store, table: table, directory: directory, jobs: jobs.queues, logger: runtime.logger,
            now: now)
        let answersKey = try runtime.key("answers")
        accounts = OrganisationService(
            settings: settings, publicOrigin: runtime.settings.publicOrigin, store: store, table: table, members: memberTable,
            repository: repository,
            directory: directory, consent: consent, jobs: jobs, effects: dependencies.effects, answersKey: answersKey,
            logger: runtime.logger)
        members = MemberService(
            store: store, table: memberTable, organisations: table, directory: directory, consent: consent, jobs: jobs.queues,
            logger: runtime.logger)
        clients = ClientService(
            settings: settings, store: store, table: ClientStore(key: key), directory: directory, answersKey: answersKey,
            logger: runtime.logger)
        service = OrganisationReviewService(
            store: store, table: table, members: memberTable, repository: repository, consent: consent, directory: directory,
            answers: dependencies.opened.answers, logger: runtime.logger, now: now)
        allowance = Allowance(perMinute: settings.callsPerMinute, perDay: settings.callsPerDay)
        support = SupportRoutes(settings: settings)
        self.now = now
    }

    /// Without the limits that `allowance.limiting` puts around all routes of the gateway.
    var routes: [Route] {
        RegistrationRoutes(service: accounts).all + OrganisationRoutes(service: accounts, door: door).all
            + MemberRoutes(service: members, door: door).all + ClientRoutes(service: clients, door: door).all
            + TokenRoutes(service: clients).all + support.all
    }

    func register(in methods: inout Methods) {
        service.register(in: &methods)
    }

    /// Proves who comes to the gateway: an API client by its own token, everybody else by consent's.
    func authenticate(_ checker: TokenChecker) -> Authenticate {
        { [clients, now] credentials, access in
            if access == .organisation, ClientToken.looksLikeOne(credentials.bearer) {
                guard let caller = try await clients.caller(credentials.bearer, at: now()) else { throw Problem.unauthorised }
                return caller
            }
            do throws(Problem) {
                return try checker.caller(for: credentials, access: access, now: now())
            } catch {
                if error.status == Problem.unauthorised.status { clients.refused.note(.logInToken) }
                throw error
            }
        }
    }

    var services: [any Service] {
        [Background(jobs.run), Background(unconfirmed.run), Background(clients.expire)]
    }
}
