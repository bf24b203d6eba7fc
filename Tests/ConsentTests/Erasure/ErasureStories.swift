// Erasure as consent carries it: ordered, confirmed by every service, certified; with one of them silent, and with all.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

/// The whole of consent, with neighbours on the bus that do what the test says.
private struct ErasureHarness: Sendable {
    let parts: ConsentModule
    let mail: Mailbox
    let ingest: BusClient
    let dispatcher: BusClient
    let notifier: BusClient
    let gateway: BusClient
    let anonymiser: BusClient
    let trackme: BusClient

    static func run(_ body: (ErasureHarness) async throws -> Void) async throws {
        try await withTemporaryHarness { harness in
            try harness.introducePeers()
            let neighbours = try [Peer.ingest, .sosDispatcher, .notifier, .thirdPartyGateway, .anonymiser, .trackme].map(harness.runtime)
            let mail = Mailbox()
            try await neighbours[2].answer(mail.methods)
            let own = try harness.runtime(.consent)
            var reader = SettingsReader(environment: ["TRACKME_ACC_CONFIRM_REQUIRED": "false", "TRACKME_ACC_SECOND_FACTOR": "offered"])
            let parts = try await ConsentModule(ConsentSettings(&reader), on: own)
            harness.start(parts.services)
            let clients = try await neighbours.asyncMap { try await $0.client(of: .consent) }
            try await body(
                ErasureHarness(
                    parts: parts, mail: mail, ingest: clients[0], dispatcher: clients[1], notifier: clients[2], gateway: clients[3],
                    anonymiser: clients[4], trackme: clients[5]))
        }
    }

    /// Somebody with an account, made as registration makes one.
    func person(_ email: String = "anna@example.org", surname: String = "Esposito") async throws -> PersonID {
        let form = try RegistrationTests.form(Applicant.form(email: email, surname: surname))
        let origin = RegistrationOrigin(
            request: RepeatableRequest(key: nil, body: [], scope: ""), remote: "-", trace: "", at: .now)
        _ = try await parts.accounts.registrations.register(form, origin)
        let address = try #require(EmailAddress(email))
        let lookups = parts.accounts.repository.lookups
        let row = try await parts.opened.store.read { db in try AccountStore().find(db, email: lookups.email(address)) }
        return try #require(row?.subject.person)
    }

    func order(_ scope: ErasureScope, of person: PersonID, at now: Timestamp = .now) async throws -> OrderedErasure {
        let wish = await parts.erasure.service.ask(person, scope, at: now)
        return try await parts.erasure.service.confirm(person, wish.confirmation, password: AccountHarness.password, at: now, trace: "")
    }

    func confirm(_ ordered: OrderedErasure, by client: BusClient) async throws {
        let store = ErasedStore(store: "some.db", removed: 1, at: .now, kept: nil)
        _ = try await client.ask(ConfirmErasure(erasure: ordered.order.erasure, stores: [store]))
    }

    func state(of ordered: OrderedErasure) async throws -> ErasureRow {
        try #require(try await parts.erasure.repository.find(capability: ordered.capability))
    }

    func count(_ sql: String) async throws -> Int {
        try await parts.opened.store.read { db in try Int.fetchOne(db, sql: sql) ?? 0 }
    }
}

@Suite("Erasure in consent", .serialized, .timeLimit(.minutes(3)))
struct ErasureInConsentStories {
    @Test(
        "ACC-29, ACC-30, ACC-31, NFR-14: an erasure is complete when the last service has confirmed, however late; then nothing names its person"
    )
    func lastOneCounts() async throws {
        try await ErasureHarness.run { harness in
            let person = try await harness.person()
            _ = try await harness.person("bruno@example.org", surname: "Verdini")
            let ordered = try await harness.order(.account, of: person)
            let told = try await harness.mail.arrived(to: "anna@example.org", .erasureOrdered)
            #expect(told.values["hours"] == "24" && told.recipient.person == nil)
            // Its own part: the account is gone, another's is there.
            try await eventually("consent has confirmed") { try await harness.state(of: ordered).erased.confirmed[.consent] != nil }
            #expect(try await harness.count("SELECT count(*) FROM accounts") == 1)
            #expect(try await harness.count("SELECT count(*) FROM credentials") == 1)

            try await harness.confirm(ordered, by: harness.ingest)
            try await harness.confirm(ordered, by: harness.dispatcher)
            try await harness.confirm(ordered, by: harness.gateway)
            try await harness.confirm(ordered, by: harness.anonymiser)
            var row = try await harness.state(of: ordered)
            #expect(row.erased.waitingFor == [.notifier] && row.certificate == nil && row.person == person)
            let pending = try await harness.parts.erasure.repository.snapshot(
                SnapshotStream(stream: StreamFamily.erasuresStream, after: nil))
            #expect(pending.facts.count == 1 && pending.facts.first?.payload.contains("\(person)") == true)

            try await harness.confirm(ordered, by: harness.notifier)
            row = try await harness.state(of: ordered)
            #expect(row.erased.isConfirmedByAll && row.certificate != nil)
            #expect(row.person == nil && row.contact == nil)
            let certified = try await harness.mail.arrived(to: "anna@example.org", .erasureCompleted)
            #expect(certified.values["certificate"]?.contains("\(ordered.order.erasure)") == true)
            let after = try await harness.parts.erasure.repository.snapshot(SnapshotStream(stream: StreamFamily.erasuresStream, after: nil))
            #expect(after.facts.isEmpty)
            let bytes = Data(person.bytes)
            let left = try await harness.parts.opened.store.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM stream_log WHERE subject = ?", arguments: [bytes])
            }
            #expect(left == 0)
            // The same word again, late, changes nothing.
            try await harness.confirm(ordered, by: harness.notifier)
            #expect(try await harness.state(of: ordered).certificate == row.certificate)
            // Everything is free again.
            _ = try await harness.person()
        }
    }

    @Test(
        "S8: an erasure deleted all that was read of a person in one transaction, while log-ins waited: 500 rows at a time, the account last"
    )
    func accessesInSlices() async throws {
        try await ErasureHarness.run { harness in
            let person = try await harness.person()
            let (earlier, table) = (EarlierAccesses(), AccessStore(beside: harness.parts.opened.store))
            let read = DataRead(
                grant: .random(), organisation: .random(), metric: .heartRate, from: .init(milliseconds: 0), to: .init(milliseconds: 1),
                count: 1)
            let accesses = harness.parts.sharing.accesses.store
            try await accesses.write { db in for _ in 0..<1200 { try table.add(db, read, of: person, at: .now) } }
            var steps: [Int] = []
            repeat {
                steps.append(try await accesses.write { try table.erase($0, person) })
            } while steps.last != 0
            #expect(steps == [500, 500, 202, 0], "the grant and the person go with the last read")

            // What an earlier version kept beside the accounts, and has not been moved yet.
            let store = harness.parts.opened.store
            let slices = try await store.write { db in
                for _ in 0..<600 {
                    try db.execute(
                        sql: """
                            INSERT INTO data_accesses (person, grant_id, organisation, metric, from_at, to_at, count, at)
                            VALUES (?, x'01', x'02', 1, 0, 1, 1, 0)
                            """, arguments: [Data(person.bytes)])
                }
                return [try earlier.delete(db, of: person), try earlier.delete(db, of: person)]
            }
            #expect(slices == [500, 100])
        }
    }

    @Test("CON-09: a slow body of an order of erasure set back the brake on guessing: a wrong password counts when it has come")
    func slowBody() async throws {
        try await ErasureHarness.run { harness in
            let person = try await harness.person()
            let (service, store) = (harness.parts.erasure.service, harness.parts.opened.store)
            let server = HTTPServer(
                .init(title: "Erasure", version: "1.0.0", summary: "Under test.", prefix: "consent"),
                routes: ErasureRoutes(service: service, repository: harness.parts.erasure.repository).all, port: 0,
                health: Health(missing: { [] }, metrics: { "" }),
                authenticate: { credentials, _ in
                    guard let person = PersonID(credentials.bearer) else { throw Problem.unauthorised }
                    return .person(person, .random())
                }, logger: Running.quiet)
            let wish = await service.ask(person, .data, at: .now)
            let body = try JSONEncoder().encode(ErasureOrderBody(confirmation: wish.confirmation, password: "wrong wrong"))
            let request = RawConnection.request(
                "POST", "/consent/v1/erasures/orders", headers: ["Authorization": "Bearer \(person)"], json: body)
            @Sendable func lastTry() async throws -> Timestamp {
                try #require(try await store.read { db in try Timestamp.fetchOne(db, sql: "SELECT max(last_at) FROM log_in_runs") })
            }
            try await withHarness(Running([server])) { _ in
                let (slow, quick) = (try RawConnection(port: await server.boundPort), try RawConnection(port: await server.boundPort))
                await slow.send(Array(request.dropLast()))
                await quick.send(request)
                #expect(await quick.receiveAnswer()?.problem == "erasure-wrong-password")
                let between = try await lastTry()
                await slow.send(Array(request.suffix(1)))
                #expect(await slow.receiveAnswer()?.problem == "erasure-wrong-password")
                #expect(try await lastTry() > between)
            } stop: {
                await $0.stop()
            }
        }
    }

    @Test("ACC-29: what was read of a person is erased with the account before that is confirmed, and what is told of late finds nobody")
    func accessesErased() async throws {
        try await ErasureHarness.run { harness in
            let person = try await harness.person()
            let table = AccessStore(beside: harness.parts.opened.store)
            let accesses = harness.parts.sharing.accesses.store
            let read = DataRead(
                grant: .random(), organisation: .random(), metric: .heartRate, from: .init(milliseconds: 0), to: .init(milliseconds: 1),
                count: 1)
            @Sendable func add() async throws {
                try await accesses.write { db in try table.add(db, read, of: person, at: .now) }
            }
            @Sendable func rows() async throws -> Int {
                try await accesses.read { db in
                    try ["accesses", "access_hours", "access_grants", "access_people"].reduce(0) {
                        try $0 + (Int.fetchOne(db, sql: "SELECT count(*) FROM \($1)") ?? 0)
                    }
                }
            }
            try await add()
            let dataOnly = try await harness.order(.data, of: person)
            try await eventually("consent has confirmed") { try await harness.state(of: dataOnly).erased.confirmed[.consent] != nil }
            #expect(try await rows() == 3, "the record belongs to the account")
            let ordered = try await harness.order(.account, of: person)
            let stores = try await eventually("consent has confirmed") { try await harness.state(of: ordered).erased.confirmed[.consent] }
            #expect(stores.last?.store == "consent-accesses.db" && stores.last?.removed == 3 && stores.last?.kept == nil)
            #expect(try await rows() == 0)
            try await add()
            #expect(try await rows() == 0)
        }
    }

    @Test("ACC-29: with the data alone the account stays; a second order of the same waits for the first")
    func dataOnly() async throws {
        try await ErasureHarness.run { harness in
            let person = try await harness.person()
            let ordered = try await harness.order(.data, of: person)
            try await eventually("consent has confirmed") { try await harness.state(of: ordered).erased.confirmed[.consent] != nil }
            #expect(try await harness.count("SELECT count(*) FROM accounts WHERE state = 'active'") == 1)
            await #expect(throws: Problem.erasureUnderWay) { try await harness.order(.data, of: person) }
            // The account may still be ended meanwhile.
            _ = try await harness.order(.account, of: person)
        }
    }

    @Test("ACC-29: of two orders of an account's erasure at once one was answered 202 and the others 500: those are refused, as under way")
    func orderedAtOnce() async throws {
        try await ErasureHarness.run { harness in
            let person = try await harness.person()
            let service = harness.parts.erasure.service
            let wish = await service.ask(person, .account, at: .now)
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        do {
                            _ = try await service.confirm(
                                person, wish.confirmation, password: AccountHarness.password, at: .now, trace: "")
                            return true
                        } catch is Problem {
                            // Which one depends on how far the other is.
                            return false
                        }
                    }
                }
                return try await group.reduce(into: 0) { count, isTaken in count += isTaken ? 1 : 0 }
            }
            #expect(taken == 1)
            #expect(try await harness.count("SELECT count(*) FROM erasures") == 1)

            // The other order has destroyed the key and has not come to the account yet.
            let other = try await harness.person("bruno@example.org", surname: "Verdini")
            try await harness.parts.opened.keys.destroyKey(of: other)
            await #expect(throws: Problem.erasureUnderWay) { try await harness.order(.account, of: other) }
            #expect(try await harness.count("SELECT count(*) FROM erasures") == 1)
        }
    }

    @Test("ACC-29: not confirmed, confirmed too late, with another's confirmation or a wrong password: nothing is erased")
    func notConfirmed() async throws {
        try await ErasureHarness.run { harness in
            let (anna, bruno) = (try await harness.person(), try await harness.person("bruno@example.org", surname: "Verdini"))
            let service = harness.parts.erasure.service
            let now = Timestamp.now
            let wish = await service.ask(anna, .account, at: now)
            let password = AccountHarness.password
            await #expect(throws: Problem.erasureNotConfirmed) {
                try await service.confirm(bruno, wish.confirmation, password: password, at: now, trace: "")
            }
            await #expect(throws: Problem.erasureNotConfirmed) {
                try await service.confirm(anna, wish.confirmation, password: password, at: now + ErasureRequests.lasting, trace: "")
            }
            await #expect(throws: Problem.erasureWrongPassword) {
                try await service.confirm(anna, wish.confirmation, password: "something else", at: now, trace: "")
            }
            let other = await service.ask(anna, .data, at: now)
            await #expect(throws: Problem.erasureNotConfirmed) {
                try await service.confirm(anna, wish.confirmation, password: password, at: now, trace: "")
            }
            #expect(try await harness.count("SELECT count(*) FROM erasures") == 0)
            #expect(try await harness.count("SELECT count(*) FROM accounts WHERE state = 'active'") == 2)
            #expect(try await service.confirm(anna, other.confirmation, password: password, at: now, trace: "").order.scope == .data)
        }
    }

    @Test("ACC-35: an erasure that a service leaves unconfirmed for an hour is told to every operator once, and listed without whose it is")
    func reminder() async throws {
        try await ErasureHarness.run { harness in
            _ = try await harness.trackme.ask(MakeOperator(email: "op@example.org", language: .english), deadline: .seconds(5))
            let ordered = try await harness.order(.account, of: try await harness.person())
            let ledger = harness.parts.erasure.repository
            try await ledger.remind(at: ordered.order.orderedAt + .seconds(3000))
            #expect(harness.mail.messages(to: "op@example.org", .announcement).isEmpty)
            for _ in 0..<2 { try await ledger.remind(at: ordered.order.orderedAt + .seconds(3700)) }
            let told = try await harness.mail.arrived(to: "op@example.org", .announcement)
            #expect(told.values["text"]?.contains("sos-dispatcher") == true)
            #expect(try await harness.count("SELECT count(*) FROM erasures WHERE reminded_at IS NOT NULL") == 1)
            let page = try await ledger.page(before: .max, limit: 10)
            let item = try #require(
                page.first.map { ErasureItem($0, withCertificate: false, at: ordered.order.orderedAt + .seconds(3700)) })
            let text = String(decoding: try JSONEncoder().encode(item), as: UTF8.self)
            #expect(item.overdue && item.waitingFor.contains("ingest") && !text.contains("\(ordered.order.person)"))
        }
    }

    @Test(
        "a confirmation of what nobody ordered is not-found, one without stores is invalid, and one by a stranger to erasures is forbidden")
    func badConfirmations() async throws {
        try await ErasureHarness.run { harness in
            let store = ErasedStore(store: "some.db", removed: 1, at: .now, kept: nil)
            await #expect(throws: Failure.self) {
                try await harness.ingest.ask(ConfirmErasure(erasure: .random(), stores: [store]))
            }
            let ordered = try await harness.order(.data, of: try await harness.person())
            for stores in [[], [ErasedStore(store: "", removed: 1, at: .now)], [ErasedStore(store: "x", removed: -1, at: .now)]] {
                await #expect(throws: Failure.self) {
                    try await harness.ingest.ask(ConfirmErasure(erasure: ordered.order.erasure, stores: stores))
                }
            }
            await #expect(throws: Failure.self) {
                try await harness.trackme.ask(ConfirmErasure(erasure: ordered.order.erasure, stores: [store]))
            }
            #expect(try await harness.state(of: ordered).erased.confirmed[.ingest] == nil)
        }
    }
}
