// Log-ins as a whole in a temporary folder: real store, real sockets, real HTTP, a clock that can be moved and a mailbox to look into.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Consent

/// One running consent, as far as log-ins go, with two peers beside it.
final class LogInHarness: HTTPHarness {
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
    private let harness: Harness

    private static let migration = Migration(1, "log-ins alone") { db in
        try StreamLog.create(in: db)
        try Confirmations.create(in: db)
        try AnswerTable.create(in: db)
        try AccountRepository.create(in: db)
        try AnonymousSharingStore.create(in: db)
        try CohortSharerStore.create(in: db)
        try LogInMigration.create(in: db)
        try LogInMigration.addSecondFactors(in: db)
        try SessionStore.createEnds(in: db)
        try JobTable.create(in: db)
        try StoreLife.create(in: db)
        try StreamLog.createFormerEpochs(in: db)
        try RestoredSessionStore.create(in: db)
        try SessionStore.addLapsed(in: db)
        try SecondFactorTable.addUsedSteps(in: db)
    }

    private init(_ folder: URL, _ environment: [String: String], _ clock: TestClock) async throws {
        let usual = [
            "TRACKME_HTTP_PUBLIC_ORIGIN": Self.origin, "TRACKME_ACC_LOG_INS_PER_MINUTE": "10000",
            "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "10000", "TRACKME_ACC_SECOND_FACTOR": "offered",
        ]
        let harness = Harness(folder, usual.merging(environment) { $1 })
        let others = try [Peer.trackme, .thirdPartyGateway, .ingest].map(harness.runtime)
        let own = try harness.runtime(.consent)
        try Self.grant(to: .thirdPartyGateway, [InviteMember.method, RemoveMember.method], in: own.keys)
        own.admitPeers()

        let restored = RestoredSessionStore(on: own) { clock.now }
        let ground = try await OpenedStore(
            on: own, applicationID: 1, migrations: [Self.migration], restored: { db in try restored.apply(db) })
        var reader = harness.reader
        let settings = LogInSettings(&reader)
        try await restored.begin(in: ground.store, life: settings.longestLife)
        let outbox = MessageOutbox(in: ground.store, sealedUnder: try own.key("outbox"), logger: own.logger) { [mail] in mail.take($0) }
        vault = ProfileVault(keys: ground.keys, serviceKey: try own.key("accounts"))
        lookups = try AccountLookups(own.lookupKey)
        let relay = try await ground.relay(of: .accounts)
        let parts = try await LogInModule(
            settings,
            .init(
                store: ground.store, epoch: ground.epoch, answers: ground.answers, relay: relay,
                people: try await ground.relay(of: .people), vault: vault, lookups: lookups, outbox: outbox, revoked: restored.list,
                now: { clock.now }, cost: PasswordHash.Cost(n: 1 << 8, r: 8, p: 1)), on: own)
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
            publicOrigin: Self.origin, edge: EdgeSecret(AccountHarness.edgeSecret), health: Health(missing: { [] }, metrics: { "" }),
            authenticate: parts.authenticate, logger: own.logger)
        (self.parts, store, self.clock) = (parts, ground.store, clock)
        self.harness = harness
        trackme = try await others[0].client(of: .consent)
        gateway = try await others[1].client(of: .consent)
        hearing = try await others[2].consumer(of: .accounts)
        harness.run { try await server.run() }
        harness.run { try await outbox.run() }
        harness.run { try await parts.recoveries.run() }
        harness.closeAtEnd(ground)
        port = await server.boundPort
    }

    /// A further peer's public file names what it may ask.
    private static func grant(to peer: Peer, _ methods: [String], in keys: KeyFiles) throws {
        let file = keys.publicFile(of: peer)
        var members = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
        members["ask"] = methods
        try JSONSerialization.data(withJSONObject: members).write(to: file)
    }

    /// Runs `body` with the service up in the folder; again in the same folder is a restart.
    static func run<Value>(
        in folder: URL, environment: [String: String] = [:], clock: TestClock = TestClock(), _ body: (LogInHarness) async throws -> Value
    ) async throws -> Value {
        try await withHarness(LogInHarness(folder, environment, clock), body) { await $0.harness.stop() }
    }

    static func run<Value>(environment: [String: String] = [:], _ body: (LogInHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in try await run(in: folder, environment: environment, body) }
    }

    /// With somebody in it who can log in.
    static func runWithPerson<Value>(
        environment: [String: String] = [:], _ body: (LogInHarness) async throws -> Value
    ) async throws -> Value {
        try await run(environment: environment) { harness in
            try await harness.addPerson()
            return try await body(harness)
        }
    }
}

// MARK: Accounts

extension LogInHarness {
    /// An account as registration leaves it.
    @discardableResult
    func addPerson(
        _ email: String = "anna@example.org", password: String? = LogInHarness.password, fiscalCode: String? = nil, userName: String? = nil,
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

extension LogInHarness {
    /// A log-in, whatever comes of it.
    func tryLogIn(
        _ login: String = "anna@example.org", _ password: String = LogInHarness.password, kind: String? = nil,
        from address: String = "10.0.0.1",
        device: String = "phone"
    ) async throws -> HarnessAnswer {
        var body = ["login": login, "password": password, "device": device]
        body["kind"] = kind
        return try await request("POST", "/consent/v1/sessions", json: body, headers: AccountHarness.forwarded(address))
    }

    /// A log-in that must succeed.
    func logIn(
        _ login: String = "anna@example.org", _ password: String = LogInHarness.password, device: String = "phone"
    ) async throws -> SessionAnswer {
        try await tryLogIn(login, password, device: device).expect(status: 200).decoded()
    }

    func refresh(_ token: String?, key: String? = nil) async throws -> HarnessAnswer {
        let token = try #require(token)
        return try await request(
            "POST", "/consent/v1/sessions/refresh", json: ["refreshToken": token], headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    /// Whether the access token opens something.
    func isOpen(_ token: String?) async throws -> Bool {
        try await request("GET", "/consent/v1/sessions", token: token).status == 200
    }
}

extension Optional {
    func asyncMap<Value>(_ transform: (Wrapped) async throws -> Value) async rethrows -> Value? {
        guard let self else { return nil }
        return try await transform(self)
    }
}
