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
    let door: OrganisationDoor
    let repository: OrganisationRepository
    let directory: OrganisationRegister
    let accounts: OrganisationService
    let members: MemberService
    let clients: ClientService
    let service: OrganisationReviewService
    let reopening: ReopeningService
    let allowance: Allowance
    private let support: SupportRoutes
    let jobs: OrganisationJobs
    let unconfirmed: UnconfirmedOrganisations
    private let now: @Sendable () -> Timestamp

    init(_ settings: OrganisationSettings, on stores: GatewayStores, runtime: Runtime) async throws {
        let (store, now, table) = (stores.opened.store, stores.clock, stores.organisations.table)
        let memberTable = MemberStore(key: table.key)
        let consent = ConsentClient(client: try await runtime.client(of: .consent))
        repository = stores.organisations
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
            closing: OrganisationClosingStore(members: memberTable, bills: stores.bills, subscriptions: stores.subscriptions),
            directory: directory, consent: consent, jobs: jobs, answersKey: answersKey, logger: runtime.logger)
        members = MemberService(
            store: store, table: memberTable, organisations: table, repository: repository, directory: directory, consent: consent,
            jobs: jobs.queues, logger: runtime.logger)
        clients = ClientService(
            settings: settings, store: store, table: ClientStore(key: table.key), repository: repository, directory: directory,
            answersKey: answersKey, logger: runtime.logger)
        service = OrganisationReviewService(
            store: store, table: table, members: memberTable, repository: repository, consent: consent, directory: directory,
            answers: stores.opened.answers, logger: runtime.logger, now: now)
        reopening = ReopeningService(
            store: store, clientTable: ClientStore(key: table.key), endpoints: EndpointStore(key: try runtime.key("endpoints")),
            clients: clients, directory: directory, answers: stores.opened.answers, logger: runtime.logger)
        try await reopening.remind()
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
        reopening.register(in: &methods)
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
                if error.name == Problem.unauthorised.name { clients.refused.note(.logInToken) }
                throw error
            }
        }
    }

    var services: [any Service] {
        [Background(jobs.run), Background(unconfirmed.run), Background(clients.expire)]
    }
}
