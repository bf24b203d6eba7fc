// The whole gateway with two organisations in it: everybody who might come, and nobody else's services beside it.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

/// An organisation with a member of every role and a program for each set of rights.
struct MatrixOrganisation: Sendable {
    struct Visitor: Sendable {
        let id: MemberID
        let token: String
    }

    struct Program: Sendable {
        let id: ClientID
        /// By the rights that it was asked for.
        let tokens: [Set<Right>: String]
    }

    let id: OrganisationID
    let members: [Role: Visitor]
    let client: Program
}

final class MatrixHarness: Sendable {
    let parts: GatewayModule
    let logIns: TokenIssuer
    let port: Int
    private let declared: DeclaredAnswers
    private let outboxKey: SymmetricKey
    private let harness: Harness

    private init(_ folder: URL) async throws {
        let harness = Harness(
            folder, ["TRACKME_HTTP_PUBLIC_ORIGIN": OrganisationHarness.origin, "TRACKME_ORG_CALLS_PER_MINUTE": "1000000"])
        try harness.introducePeers()
        // Whoever is asked something else says at once that it knows no such question.
        let neighbours: [(Peer, Methods)] = [
            (.consent, TestConsent().methods), (.ingest, Methods()), (.notifier, Methods()), (.anonymiser, Methods()),
        ]
        let others = try neighbours.map { (try harness.runtime($0.0), $0.1) }
        for (other, methods) in others { try await other.answer(methods) }
        var reader = harness.reader
        let own = try harness.runtime(.thirdPartyGateway)
        let parts = try await GatewayModule(GatewayAssembly.settings(&reader), on: own)
        logIns = try TokenIssuer(OrganisationHarness.origin)
        parts.checker.learn(.key(logIns.state))
        outboxKey = try own.key("outbox")
        self.parts = parts
        declared = try DeclaredAnswers(parts.server.routes)
        self.harness = harness
        harness.run { try await parts.server.run() }
        harness.closeAtEnd(parts.opened)
        port = await parts.server.boundPort
    }

    static func run(_ body: (MatrixHarness) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in try await withHarness(MatrixHarness(folder), body) { await $0.harness.stop() } }
    }

    var ask: GatewayCaller { GatewayCaller(port: port, declared: declared) }

    /// Nobody empties the outbox.
    func waitingMails() async throws -> [SendMessage] {
        try await parts.opened.store.read { [outboxKey] db in try OrganisationRepository.waitingMails(db, sealedUnder: outboxKey) }
    }

    /// Put straight into the store, in this state.
    func organisation(_ state: OrganisationState, named name: String, vatNumber: String) async throws -> MatrixOrganisation {
        let organisations = parts.organisations
        let id = OrganisationID.random()
        let address = "\(name)@example.org"
        let form = OrganisationHarness.form { form in
            form["businessName"] = name
            form["vatNumber"] = vatNumber
            form["email"] = address
            form["emailAgain"] = address
        }
        let value = try JSONTree(Array(JSONSerialization.data(withJSONObject: form)))
        let details = try OrganisationForm.check(value, version: OrganisationConditions.version, in: .italy, at: .now).details
        let members = Dictionary(uniqueKeysWithValues: Role.allCases.map { ($0, MemberID.random()) })
        let (client, secret) = (ClientID.random(), ClientToken.makeSecret())
        let sets: [Set<Right>] = [Set(Right.allCases)] + Right.allCases.map { [$0] }
        let tokens = Dictionary(uniqueKeysWithValues: sets.map { ($0, ClientToken.makeToken()) })
        try await parts.opened.store.write { db in
            let (table, memberTable) = (organisations.repository.table, organisations.members.table)
            try table.add(db, id, details, at: .now)
            try table.setState(db, id, state, founder: members[.owner], at: .now)
            for (role, member) in members {
                try memberTable.add(
                    db,
                    MemberRow(
                        id: member, organisation: id, role: role, contact: MemberContact(email: details.email, language: .english),
                        since: .now))
            }
            let clients = ClientStore(key: memberTable.key)
            try clients.add(
                db,
                ClientRow(
                    id: client, organisation: id, label: "matrix", rights: Set(Right.allCases), secret: ClientToken.digest(secret),
                    oldSecret: nil, oldUntil: nil, createdAt: .now, usedAt: nil))
            for (rights, token) in tokens {
                try clients.addToken(db, digest: ClientToken.digest(token), of: client, rights: rights, until: .now + .seconds(3600))
            }
        }
        return MatrixOrganisation(
            id: id,
            members: try members.mapValues { .init(id: $0, token: try logIns.token($0, of: id)) },
            client: .init(id: client, tokens: tokens))
    }
}
