// Accounts as a whole in a temporary folder: a real store, real HTTP, other services that answer as the test says, and a mailbox.

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

/// What registration asks of other services, and what they were asked.
final class AccountNeighbourhood: Sendable {
    private struct State {
        var entries: [RecordEntries] = []
        var subscriptions: [SubscribePerson] = []
        var ids: [String] = []
        var ingestSays: Failure?
        var dispatcherSays: Failure?
        var answersForChildren: [Bool] = []
    }

    private let state = Mutex(State())

    var entries: [RecordEntries] { state.withLock { $0.entries } }
    var subscriptions: [SubscribePerson] { state.withLock { $0.subscriptions } }
    /// Ids of the questions to ingest, in order.
    var ids: [String] { state.withLock { $0.ids } }
    var answersForChildren: [Bool] { state.withLock { $0.answersForChildren } }

    func ingest(says failure: Failure?) { state.withLock { $0.ingestSays = failure } }
    func dispatcher(says failure: Failure?) { state.withLock { $0.dispatcherSays = failure } }
    func answered(_ accept: Bool) { state.withLock { $0.answersForChildren.append(accept) } }

    var dependencies: AccountDependencies {
        AccountDependencies(
            recordEntries: { [self] id, body in
                let asked = try? JSONDecoder().decode(RecordEntries.self, from: Data(body))
                let failure = state.withLock { state in
                    state.ids.append(id)
                    if state.ingestSays == nil, let asked { state.entries.append(asked) }
                    return state.ingestSays
                }
                if let failure { throw failure }
            },
            subscribePerson: { [self] _, body in
                let asked = try? JSONDecoder().decode(SubscribePerson.self, from: Data(body))
                let failure = state.withLock { state in
                    if let asked { state.subscriptions.append(asked) }
                    return state.dispatcherSays
                }
                if let failure { throw failure }
            })
    }
}

/// One running part of consent.
final class AccountHarness: HTTPHarness {
    static let origin = "https://trackme.test"
    static let password = "una frase che ricordo"
    /// What the edge in front of it shows.
    static let edgeSecret = String(repeating: "e", count: 64)

    /// As the edge says from where a request comes.
    static func forwarded(_ address: String) -> [String: String] {
        ["X-Forwarded-For": address, "TrackMe-Edge": edgeSecret]
    }

    let parts: AccountModule
    let opened: OpenedStore
    let mail = Mailbox()
    let around = AccountNeighbourhood()
    let port: Int
    let runtime: Runtime
    private let harness: Harness

    private init(_ folder: URL, _ environment: [String: String], background: Bool) async throws {
        let harness = Harness(folder, ["TRACKME_ACC_CONFIRM_REQUIRED": "false"].merging(environment) { $1 })
        let (runtime, logger) = (try harness.runtime(.consent), harness.logger)
        opened = try await OpenedStore(
            on: runtime, applicationID: ConsentSchema.applicationID, migrations: ConsentSchema.migrations)
        let outbox = MessageOutbox(in: opened.store, sealedUnder: try runtime.key("outbox"), logger: logger) { [mail] in mail.take($0) }
        var reader = harness.reader
        let settings = AccountSettings(&reader, temporaryPasswordTime: .seconds(24 * 3600))
        parts = try AccountModule(
            on: .init(
                store: opened.store, keys: opened.keys, epoch: opened.epoch, outbox: outbox,
                hasher: try PasswordHasher(cost: PasswordHash.Cost(n: 1 << 8, r: 8, p: 1)), passwordRule: PasswordRule(),
                credentials: CredentialStore(key: try runtime.key("credentials")),
                lookups: try AccountLookups { try runtime.lookupKey(for: $0) }, serviceKey: try runtime.key("accounts"),
                answersKey: try runtime.key("answers"), publicOrigin: Self.origin, logger: logger,
                ending: SessionEndingStore(
                    facts: FactStream(
                        stream: StreamFamily.sessionsStream, epoch: opened.epoch, relay: try await opened.relay(of: .accounts)),
                    checker: try TokenChecker(store: opened.store, issuer: Self.origin)),
                people: try await opened.relay(of: .people)),
            settings: settings, places: try AccountModule.places(settings), dependencies: around.dependencies)
        let server = HTTPServer(
            .init(title: "Accounts", version: "1.0.0", summary: "Under test.", prefix: "consent"),
            routes: parts.routes { [around] _, _, accept, _ in
                around.answered(accept)
                return true
            }, port: 0, publicOrigin: Self.origin, edge: EdgeSecret(Self.edgeSecret), health: Health(missing: { [] }, metrics: { "" }),
            authenticate: Self.authenticate, logger: logger)
        (self.harness, self.runtime) = (harness, runtime)
        harness.run { try await server.run() }
        harness.run { try await outbox.run() }
        if background {
            for job in parts.jobs.all { harness.run { try await job.run() } }
            harness.run { [announcements = parts.announcements] in try await announcements.run() }
        }
        harness.closeAtEnd(opened)
        port = await server.boundPort
    }

    /// A bearer is the id of whoever asks: proving it is the subject of log-ins.
    private static let authenticate: Authenticate = { credentials, access in
        let session = SessionID.random()
        if access == .person || access == .personAnew, let person = PersonID(credentials.bearer) { return .person(person, session) }
        if access == .operator, let anOperator = OperatorID(credentials.bearer) { return .operator(anOperator, session) }
        throw Problem.notForThisAccount
    }

    /// Runs `body` with the service up in the folder; again in the same folder is a restart.
    static func run<Value>(
        in folder: URL, _ environment: [String: String] = [:], background: Bool = true, _ body: (AccountHarness) async throws -> Value
    ) async throws -> Value {
        try await withHarness(AccountHarness(folder, environment, background: background), body) { await $0.harness.stop() }
    }

    static func run<Value>(
        _ environment: [String: String] = [:], background: Bool = true, _ body: (AccountHarness) async throws -> Value
    ) async throws -> Value {
        try await withTemporaryFolder { folder in try await run(in: folder, environment, background: background, body) }
    }

    // MARK: What is stored

    func count(_ table: String) async throws -> Int {
        try await opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    func row(_ person: PersonID) async throws -> AccountRow? {
        try await opened.store.read { db in try AccountStore().find(db, person: person) }
    }

    /// What was said on `consent.people`, in order.
    func facts() async throws -> [PersonState] {
        try await opened.store.read { db in
            try StreamLog().rows(db, StreamFamily.people.streams[0], from: 1, limit: 1000).map { row in
                try JSONDecoder().decode(PersonState.self, from: Data(row.body))
            }
        }
    }

    static let messages = "jobs WHERE kind = 'message'"
    static let accountJobs = "jobs WHERE kind <> 'message'"

    /// Tables that a registration writes to.
    static let written = [
        "accounts", "credentials", "consent_records", "account_mails", accountJobs, "mail_links", messages, "stream_log",
        "anonymous_sharing", "idempotency_keys",
    ]

    func countAll() async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in Self.written { counts[table] = try await count(table) }
        return counts
    }
}

// MARK: Over HTTP

extension AccountHarness {
    func register(_ form: [String: Any], key: String? = nil, from remote: String? = nil) async throws -> HarnessAnswer {
        var headers = remote.map(Self.forwarded) ?? [:]
        headers["Idempotency-Key"] = key
        return try await request("POST", "/consent/v1/accounts", json: form, headers: headers)
    }

    /// The path of the newest link in a mail of that kind.
    func link(to mailAddress: String, _ template: MessageTemplate, count: Int = 1) async throws -> String {
        let message = try await mail.arrived(to: mailAddress, template, count: count)
        let link = try #require(message.values["link"])
        try #require(link.hasPrefix(Self.origin))
        return String(link.dropFirst(Self.origin.count))
    }
}

// MARK: People

/// People who fill in forms.
enum Applicant {
    /// A valid fiscal code of somebody born on 1 May 1940 in Rome, a woman.
    static func fiscalCode(surname: String = "Esposito", name: String = "Anna", birth: String = "40E41", place: String = "H501") -> String {
        let plain = FiscalCode.code(surname: surname) + FiscalCode.code(name: name) + birth + place
        return plain + String(decoding: [FiscalCode.checkCharacter(plain.utf8)], as: UTF8.self)
    }

    /// A form in which every mandatory field is right.
    static func form(
        email: String = "anna@example.org", surname: String = "Esposito", name: String = "Anna", _ changes: [String: Any] = [:]
    ) -> [String: Any] {
        let right: [String: Any] = registrationForm(
            name: name, surname: surname, email: email, password: AccountHarness.password, terms: Conditions.version)
        return right.merging(changes) { $1 }
    }

    /// A child born on 1 June 2020 in Rome, a boy.
    static func child(guardian: String? = "mamma@example.org", _ changes: [String: Any] = [:]) -> [String: Any] {
        var form = form(email: "luca@example.org", surname: "Verdi", name: "Luca", changes)
        form["birthDate"] = "2020-06-01"
        form["fiscalCode"] = fiscalCode(surname: "Verdi", name: "Luca", birth: "20H01")
        form["occupation"] = "student"
        form["guardianEmail"] = guardian
        return form
    }
}
