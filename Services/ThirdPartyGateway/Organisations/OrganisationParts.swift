// Organisations put together: what other subjects need of them, and what the assembly runs.

import Bus
import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct OrganisationParts: Sendable {
    /// What they stand on.
    struct Ground: Sendable {
        var opened: OpenedStore
        var outbox: MessageOutbox
        var runtime: Runtime
        var neighbours = ClosingNeighbours()
        var now: @Sendable () -> Timestamp = { .now }
    }

    let door: OrganisationDoor
    let book: OrganisationBook
    let directory: OrganisationRegister
    let accounts: OrganisationService
    let members: MemberService
    let clients: ClientService
    let desk: OrganisationDesk
    let allowance: Allowance
    private let support: SupportRoutes
    let jobs: OrganisationJobs
    let unconfirmed: UnconfirmedOrganisations
    private let now: @Sendable () -> Timestamp

    init(_ settings: OrganisationSettings, on ground: Ground) async throws {
        let (runtime, store, now) = (ground.runtime, ground.opened.store, ground.now)
        let key = try runtime.key("organisations")
        let table = OrganisationTable(
            key: key, names: try runtime.lookupKey(for: "business-name"), vatNumbers: try runtime.lookupKey(for: "vat-number"),
            addresses: try runtime.lookupKey(for: "corporate-address"))
        let memberTable = MemberTable(key: key)
        let consent = ConsentAsker(client: try await runtime.client(of: .consent))
        book = OrganisationBook(table: table, outbox: ground.outbox)
        directory = OrganisationRegister(store: store, organisations: table, members: memberTable)
        door = OrganisationDoor(directory: directory)
        jobs = OrganisationJobs(store: store, table: table, consent: consent, logger: runtime.logger, now: now)
        unconfirmed = UnconfirmedOrganisations(
            life: settings.unconfirmedTime, store: store, table: table, directory: directory, jobs: jobs.queues, logger: runtime.logger,
            now: now)
        let answersKey = try runtime.key("answers")
        accounts = OrganisationService(
            settings: settings, publicOrigin: runtime.settings.publicOrigin, store: store, table: table, members: memberTable, book: book,
            directory: directory, consent: consent, jobs: jobs, neighbours: ground.neighbours, answersKey: answersKey,
            logger: runtime.logger)
        members = MemberService(
            store: store, table: memberTable, organisations: table, directory: directory, consent: consent, jobs: jobs.queues,
            logger: runtime.logger)
        clients = ClientService(
            settings: settings, store: store, table: ClientTable(key: key), directory: directory, answersKey: answersKey,
            logger: runtime.logger)
        desk = OrganisationDesk(
            store: store, table: table, members: memberTable, book: book, consent: consent, directory: directory,
            answers: ground.opened.answers, logger: runtime.logger, now: now)
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
        desk.register(in: &methods)
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
