// The consent service's side of the bus and of tokens, with a real log and replay, and nothing else.

import Bus
import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit

/// Says who has an account, signs their tokens, and ends sessions.
final class TalkingConsent: Sendable {
    private let runtime: Runtime
    private let store: Store
    private let accounts: FactStream
    private let people: FactStream
    let grants: FactStream
    private let tokens: TokenIssuer
    private let known: Mutex<[PersonID: PersonState]>
    /// How many grants of people whom nobody knows its snapshots hold.
    let manyGrants = Mutex(0)

    init(_ runtime: Runtime, folder: URL) async throws {
        self.runtime = runtime
        let store = try Store.open(
            folder.appendingPathComponent("talking-consent.db"), applicationID: 1, migrations: [.streams], logger: runtime.logger)
        self.store = store
        let (accountRelay, epoch) = try await runtime.relay(of: .accounts, in: store)
        let (peopleRelay, _) = try await runtime.relay(of: .people, in: store)
        let (grantRelay, _) = try await runtime.relay(of: .grants, in: store)
        let accounts = FactStream(stream: StreamFamily.sessionsStream, epoch: epoch, relay: accountRelay)
        let keys = FactStream(stream: StreamFamily.signingKeysStream, epoch: epoch, relay: accountRelay)
        let people = FactStream(stream: StreamFamily.people.streams[0], epoch: epoch, relay: peopleRelay)
        grants = FactStream(stream: StreamFamily.grants.streams[0], epoch: epoch, relay: grantRelay)
        (self.accounts, self.people) = (accounts, people)
        let seed = folder.appendingPathComponent("talking-consent.seed")
        let bytes = (try? Data(contentsOf: seed)).map { [UInt8]($0) } ?? Random.bytes(SigningKey.seedLength)
        try Data(bytes).write(to: seed)
        let tokens = try TokenIssuer("https://localhost:8443", key: SigningKey(seed: bytes))
        self.tokens = tokens
        let saved = try await store.read { db in
            try StreamLog().rows(db, StreamFamily.people.streams[0], from: 1, limit: 10_000).compactMap {
                try? JSONDecoder().decode(PersonState.self, from: Data($0.body))
            }
        }
        let known = Dictionary(saved.map { ($0.person, $0) }) { $1 }
        self.known = Mutex(known)
        var methods = Methods()
        let grantFacts = grants
        StreamSource(families: [.accounts, .people, .grants], store: store, render: { $1.body }) { [store, weak self] request in
            let grants = self?.manyGrants.withLock { $0 } ?? 0
            return try await store.read { db in
                switch request.stream {
                case StreamFamily.signingKeysStream:
                    return try keys.snapshot(db, type: SigningKeyState.type, facts: [(subject: nil, body: tokens.state)], next: nil)
                case StreamFamily.people.streams[0]:
                    let states = try StreamLog().rows(db, request.stream, from: 1, limit: 10_000).compactMap {
                        try? JSONDecoder().decode(PersonState.self, from: Data($0.body))
                    }
                    let newest = Dictionary(states.map { ($0.person, $0) }) { $1 }
                    return try people.snapshot(
                        db, type: PersonState.type, facts: newest.values.map { (subject: $0.person, body: $0) }, next: nil)
                case StreamFamily.grants.streams[0]:
                    let first = request.after.flatMap { Int($0) } ?? 0
                    let last = min(first + 1000, grants)
                    return try grantFacts.snapshot(
                        db, type: GrantState.type, facts: (first..<last).map(Self.grant).map { (subject: $0.person, body: $0) },
                        next: last < grants ? "\(last)" : nil)
                default:
                    return try accounts.snapshot(
                        db, type: SessionEnded.type, facts: [(subject: PersonID?, body: SessionEnded)](), next: nil)
                }
            }
        }.register(in: &methods)
        try await runtime.answer(methods)
    }

    static func grant(_ number: Int) -> GrantState {
        GrantState(
            grant: GrantID(bits: UInt128(number) &* 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835), request: RequestID(bits: UInt128(number)),
            person: PersonID(bits: UInt128(number + 1)), organisation: OrganisationID(bits: 7), types: [.heartRate],
            from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: .max), granularity: .seconds, active: true, version: 1)
    }

    func say(_ state: PersonState) async throws {
        try await store.write { [people] db in
            try people.publish(db, type: PersonState.type, subject: state.person, body: state, at: .now)
        }
        known.withLock { $0[state.person] = state }
    }

    func say(_ state: GrantState) async throws {
        try await store.write { [grants] db in
            try grants.publish(db, type: GrantState.type, subject: state.person, body: state, at: .now)
        }
    }

    func end(_ session: SessionID) async throws {
        try await store.write { [accounts] db in
            try accounts.publish(
                db, type: SessionEnded.type, subject: nil, body: SessionEnded(session: session, until: .now + .seconds(600)), at: .now)
        }
    }

    /// Asks ingest something.
    @discardableResult
    func ask<Request: BusRequest>(_ request: Request) async throws -> Request.Reply {
        try await runtime.client(of: .ingest).ask(request, deadline: .seconds(5))
    }

    /// An access token as a log-in gives it.
    func token(
        of person: PersonID, session: SessionID = .random(), kind: AccountKind = .person, proved: Timestamp = .now
    ) throws -> String {
        try tokens.token(
            kind, kind == .person ? "\(person)" : nil, of: kind == .member ? .random() : nil, session: session, proved: proved)
    }

    func close() async {
        await runtime.bus.shutdown()
        await store.close()
    }
}

/// The dispatcher as far as ingest asks and hears it.
final class TalkingDispatcher: Sendable {
    private let reply = Mutex<ReadSupervision.Reply?>(ReadSupervision.Reply(subscribed: false, paused: false))
    private let store: Store
    private let emergencies: FactStream

    init(_ runtime: Runtime, folder: URL) async throws {
        store = try Store.open(
            folder.appendingPathComponent("talking-dispatcher.db"), applicationID: 1, migrations: [.streams], logger: runtime.logger)
        let (relay, epoch) = try await runtime.relay(of: .emergencies, in: store)
        emergencies = FactStream(stream: StreamFamily.emergencies.streams[0], epoch: epoch, relay: relay)
        var methods = Methods()
        StreamSource(families: [.emergencies], store: store, render: { $1.body }).register(in: &methods)
        methods.on(ReadSupervision.self) { [self] _, _ in
            guard let reply = reply.withLock({ $0 }) else { throw Failure(.unavailable, "not now") }
            return reply
        }
        try await runtime.answer(methods)
    }

    func say(_ changed: EmergencyChanged) async throws {
        try await store.write { [emergencies] db in
            try emergencies.publish(db, type: EmergencyChanged.type, subject: changed.person, body: changed, at: .now)
        }
    }

    func close() async {
        await store.close()
    }

    /// nil: it does not know.
    func says(_ new: ReadSupervision.Reply?) {
        reply.withLock { $0 = new }
    }
}
