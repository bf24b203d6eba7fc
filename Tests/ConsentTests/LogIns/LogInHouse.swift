// Log-ins as a whole in a temporary folder: real store, real sockets, real HTTP, a clock that can be moved and a mailbox to look into.

import Bus
import Contracts
import Foundation
import FoundationNetworking
import GRDB
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Consent

/// One running consent, as far as log-ins go, with two peers beside it.
final class LogInHouse: Sendable {
    static let origin = "https://trackme.test"
    static let password = "una frase che ricordo"

    let parts: LogInModule
    let store: Store
    let vault: ProfileVault
    let lookups: AccountLookups
    let mail = Mailbox()
    let clock: TestClock
    let port: Int
    let trackme: BusClient
    let gateway: BusClient
    let hearing: StreamConsumer
    private let keys: PersonKeys
    private let runtimes: [Runtime]
    private let running: [Task<Void, any Error>]

    private static let migration = Migration(1, "log-ins alone") { db in
        try StreamLog.create(in: db)
        try Confirmations.create(in: db)
        try AnswerTable.create(in: db)
        try AccountRepository.create(in: db)
        try LogInMigration.create(in: db)
        try LogInMigration.addSecondFactors(in: db)
        try SessionStore.createEnds(in: db)
        try JobTable.create(in: db)
        try StoreLife.create(in: db)
        try StreamLog.createFormerEpochs(in: db)
        try RestoredSessionStore.create(in: db)
    }

    private init(_ folder: URL, _ environment: [String: String], _ clock: TestClock) async throws {
        var variables = [
            "TRACKME_STORE_DIRECTORY": folder.appendingPathComponent("store").path,
            "TRACKME_BUS_DIRECTORY": folder.appendingPathComponent("bus").path,
            "TRACKME_BUS_KEYS": folder.appendingPathComponent("keys").path,
            "TRACKME_HTTP_PORT": "0", "TRACKME_HTTP_PUBLIC_ORIGIN": Self.origin,
            "TRACKME_ACC_LOG_INS_PER_MINUTE": "10000", "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "10000",
            "TRACKME_ACC_SECOND_FACTOR": "offered",
        ]
        variables.merge(environment) { $1 }
        // What one log-in is given must not go with the next: requests say their cookies themselves.
        HTTPCookieStorage.shared.cookieAcceptPolicy = .never
        var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        func runtime(_ peer: Peer) throws -> Runtime {
            var reader = SettingsReader(environment: variables)
            return try Runtime(peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0), logger: logger)
        }
        let others = try [runtime(.trackme), runtime(.thirdPartyGateway), runtime(.ingest)]
        let own = try runtime(.consent)
        try Self.grant(to: .thirdPartyGateway, [InviteMember.method, RemoveMember.method], in: own.keys)
        own.admitPeers()

        let restored = RestoredSessionStore(on: own) { clock.now }
        let ground = try await OpenedStore(
            on: own, applicationID: 1, migrations: [Self.migration], restored: { db in try restored.apply(db) })
        var reader = SettingsReader(environment: variables)
        let settings = LogInSettings(&reader)
        try await restored.begin(in: ground.store, life: settings.longestLife)
        let outbox = MessageOutbox(in: ground.store, sealedUnder: try own.key("outbox"), logger: logger) { [mail] in mail.take($0) }
        vault = ProfileVault(keys: ground.keys, serviceKey: try own.key("accounts"))
        lookups = try AccountLookups(own.lookupKey)
        let relay = try await ground.relay(of: .accounts)
        let parts = try await LogInModule(
            settings,
            .init(
                store: ground.store, epoch: ground.epoch, answers: ground.answers, relay: relay, vault: vault, lookups: lookups,
                outbox: outbox, revoked: restored.list, now: { clock.now }, cost: PasswordHash.Cost(n: 1 << 8, r: 8, p: 1)), on: own)
        var methods = Methods(memory: ground.answers)
        parts.register(in: &methods)
        let streams = StreamSource(
            families: [.accounts], store: ground.store, render: { _, row in row.body },
            snapshot: { request in
                guard let reply = try await parts.snapshot(request) else { throw Failure(.invalid, "no such stream here") }
                return reply
            })
        streams.register(in: &methods)
        try await own.answer(methods)
        let server = HTTPServer(
            .init(title: "Log-ins", version: "1.0.0", summary: "Under test.", prefix: "consent"), routes: parts.routes, port: 0,
            publicOrigin: Self.origin, edge: EdgeSecret(AccountHouse.edgeSecret), health: Health(missing: { [] }, metrics: { "" }),
            authenticate: parts.authenticate, logger: logger)
        (self.parts, store, keys, self.clock) = (parts, ground.store, ground.keys, clock)
        runtimes = others + [own]
        trackme = try await others[0].client(of: .consent)
        gateway = try await others[1].client(of: .consent)
        hearing = try await others[2].consumer(of: .accounts)
        running = [
            Task { try await server.run() }, Task { try await outbox.run() }, Task { try await parts.recoveries.run() },
        ]
        port = await server.boundPort
    }

    /// A further peer's public file names what it may ask.
    private static func grant(to peer: Peer, _ methods: [String], in keys: KeyFiles) throws {
        let file = keys.publicFile(of: peer)
        var members = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
        members["ask"] = methods
        try JSONSerialization.data(withJSONObject: members).write(to: file)
    }

    private func stop() async {
        for task in running { task.cancel() }
        for task in running { _ = try? await task.value }
        for runtime in runtimes { await runtime.bus.shutdown() }
        await store.close()
        await keys.close()
    }

    /// Runs `body` with the service up in the folder; again in the same folder is a restart.
    static func run<Value>(
        in folder: URL, environment: [String: String] = [:], clock: TestClock = TestClock(), _ body: (LogInHouse) async throws -> Value
    ) async throws -> Value {
        let house = try await LogInHouse(folder, environment, clock)
        do {
            let value = try await body(house)
            await house.stop()
            return value
        } catch {
            await house.stop()
            throw error
        }
    }

    static func run<Value>(environment: [String: String] = [:], _ body: (LogInHouse) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in try await run(in: folder, environment: environment, body) }
    }
}

// MARK: Accounts

extension LogInHouse {
    /// An account as registration leaves it.
    @discardableResult
    func addPerson(
        _ email: String = "anna@example.org", password: String? = LogInHouse.password, fiscalCode: String? = nil, userName: String? = nil,
        state: AccountState = .active, temporary: Bool = false, name: String = "Anna"
    ) async throws -> PersonID {
        let person = PersonID.random()
        try await vault.makeKey(for: person)
        let hash = try await password.asyncMap(parts.hasher.hash)
        let address = try #require(EmailAddress(email))
        let keys = AccountStore.Keys(
            email: lookups.email(address), fiscalCode: try fiscalCode.map { lookups.fiscalCode(try #require(PersonIdentifier($0))) },
            userName: try userName.map { lookups.userName(try #require(UserName($0))) })
        let profile = try vault.seal(
            AccountContact(name: name, surname: "Bianchi", email: address, language: .italian), of: .person(person))
        let now = clock.now
        try await store.write { [parts] db in
            let number = try AccountStore().add(db, .person(person), keys: keys, profile: profile, state: state, at: now)
            if let hash {
                try parts.credentials.set(
                    db, account: number, hash: hash, temporaryUntil: temporary ? now + .seconds(72 * 3600) : nil, at: now)
            }
        }
        return person
    }

    func addMember(_ email: String, of organisation: OrganisationID = .random()) async throws -> MemberID {
        try await gateway.ask(
            InviteMember(organisation: organisation, organisationName: "Ricerca S.p.A.", email: email, language: .english),
            deadline: .seconds(5)
        ).member
    }
}

// MARK: HTTP

extension LogInHouse {
    struct Response {
        let status: Int
        let headers: [String: String]
        let body: Data

        func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(Value.self, from: body)
        }

        /// The name of the problem, without the prefix.
        var problem: String? {
            (try? decoded(as: Problem.self))?.type.replacing(Problem.prefix, with: "")
        }

        /// Where the problem points to.
        var pointers: [String] {
            (try? decoded(as: Problem.self))?.errors?.map(\.pointer) ?? []
        }

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    func request(
        _ method: String, _ path: String, token: String? = nil, json: [String: Any]? = nil, form: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> Response {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        request.httpShouldHandleCookies = false
        if let json {
            request.httpBody = try JSONSerialization.data(withJSONObject: json)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        if let form {
            request.httpBody = Data(form.utf8)
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let http = response as? HTTPURLResponse
        let fields = (http?.allHeaderFields ?? [:]).reduce(into: [String: String]()) { fields, field in
            fields["\(field.key)".lowercased()] = "\(field.value)"
        }
        return Response(status: http?.statusCode ?? 0, headers: fields, body: data)
    }

    /// A log-in, whatever comes of it.
    func tryLogIn(
        _ login: String = "anna@example.org", _ password: String = LogInHouse.password, kind: String? = nil,
        from address: String = "10.0.0.1",
        device: String = "phone"
    ) async throws -> Response {
        var body = ["login": login, "password": password, "device": device]
        body["kind"] = kind
        return try await request("POST", "/consent/v1/sessions", json: body, headers: AccountHouse.forwarded(address))
    }

    /// A log-in that must succeed.
    func logIn(
        _ login: String = "anna@example.org", _ password: String = LogInHouse.password, device: String = "phone"
    ) async throws -> SessionAnswer {
        let response = try await tryLogIn(login, password, device: device)
        guard response.status == 200 else { throw Unexpected(status: response.status, text: response.text) }
        return try response.decoded()
    }

    struct Unexpected: Error {
        let status: Int
        let text: String
    }

    func refresh(_ token: String?, key: String? = nil) async throws -> Response {
        let token = try #require(token)
        return try await request(
            "POST", "/consent/v1/sessions/refresh", json: ["refreshToken": token], headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    /// Whether the access token opens something.
    func isOpen(_ token: String?) async throws -> Bool {
        try await request("GET", "/consent/v1/sessions", token: token).status == 200
    }

    /// The token at the end of a mailed link.
    func token(of message: SendMessage) throws -> String {
        String(try #require(message.values["link"]?.split(separator: "/").last))
    }
}

extension Optional {
    func asyncMap<Value>(_ transform: (Wrapped) async throws -> Value) async rethrows -> Value? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
