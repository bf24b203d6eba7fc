// How device stories are told: people with accounts, devices that offer themselves, and what they see of each other.

import Contracts
import Foundation
import HTTPKit
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import Ingest

extension IngestHarness {
    /// Somebody with an account, logged in.
    struct Account: Sendable {
        let person: PersonID
        let token: String
        let session: SessionID
    }

    /// A new person; ingest has heard of them when this returns.
    func account(active: Bool = true) async throws -> Account {
        let account = try await strangerAccount()
        try await state(of: account, active: active)
        return account
    }

    /// Somebody who is logged in, of whom consent has not said anything yet.
    func strangerAccount() async throws -> Account {
        let (person, session) = (PersonID.random(), SessionID.random())
        let account = Account(person: person, token: try consent.token(of: person, session: session), session: session)
        try await eventually("tokens can be checked", isTrue: { ingest.deviceModule.tokens.isReady })
        return account
    }

    func state(of account: Account, active: Bool) async throws {
        try await consent.say(PersonState(person: account.person, active: active, termsVersion: active ? "1" : "", language: .english))
        try await eventually(
            "ingest has heard of the account",
            isTrue: { self.ingest.deviceModule.registry.bar(of: account.person) == (active ? nil : .inactive) })
    }

    func send(_ method: String, _ path: String, _ body: JSONValue? = nil, token: String?) async throws -> HarnessAnswer {
        try await request(
            method, path, token: token, body: body.map { Data($0.text.utf8) },
            headers: body == nil ? [:] : ["Content-Type": "application/json"])
    }

    // MARK: Pairing

    /// A device's side of a pairing.
    struct Offer: Sendable {
        let pairing: PairingID
        let secret: String
        let number: String

        /// A number that is not shown.
        var wrongNumber: String { number == "000000" ? "000001" : "000000" }
    }

    func offer(
        _ model: String = "Watch 3", kind: String = "wearable", measures: [Metric] = [.heartRate, .position], intervalMs: Int = 1000,
        publicKey: String? = nil
    ) async throws -> Offer {
        var members: [JSONValue.Member] = [
            .init("model", .string(model)), .init("kind", .string(kind)), .init("measures", .array(measures.map { .string($0.code) })),
            .init("intervalMs", .integer(intervalMs)),
        ]
        if let publicKey { members.append(.init("publicKey", .string(publicKey))) }
        let offered: PairingOffered = try await send("POST", "/ingest/v1/pairings", .object(members), token: nil)
            .expect(status: 201).decoded()
        return Offer(pairing: offered.pairing, secret: offered.secret, number: offered.number)
    }

    func poll(_ offer: Offer, signature: String? = nil) async throws -> HarnessAnswer {
        var body: [JSONValue.Member] = [.init("secret", .string(offer.secret))]
        if let signature { body.append(.init("signature", .string(signature))) }
        return try await send("POST", "/ingest/v1/pairings/\(offer.pairing)/poll", .object(body), token: nil)
    }

    func confirm(_ offer: Offer, _ number: String, by account: Account, replacing old: DeviceID? = nil) async throws -> HarnessAnswer {
        var body: [JSONValue.Member] = [.init("number", .string(number))]
        if let old { body.append(.init("replaces", .string("\(old)"))) }
        return try await send("POST", "/ingest/v1/pairings/\(offer.pairing)/confirmation", .object(body), token: account.token)
    }

    /// A paired device and its token.
    struct Paired: Sendable {
        let device: DeviceID
        let token: String
        let success: PairingSuccess
    }

    func pair(
        _ account: Account, _ model: String = "Watch 3", kind: String = "wearable", measures: [Metric] = [.heartRate, .position],
        intervalMs: Int = 1000, replacing old: DeviceID? = nil
    ) async throws -> Paired {
        let offer = try await offer(model, kind: kind, measures: measures, intervalMs: intervalMs)
        let success: PairingSuccess = try await confirm(offer, offer.number, by: account, replacing: old).expect(status: 200).decoded()
        let progress: PairingProgress = try await poll(offer).decoded()
        return Paired(device: success.device, token: try #require(progress.token), success: success)
    }

    func devices(of account: Account) async throws -> [DeviceItem] {
        try await send("GET", "/ingest/v1/devices", token: account.token).decoded(as: Page<DeviceItem>.self).items
    }

    func monitoring(_ token: String) async throws -> MonitoringAnswer {
        try await send("GET", "/ingest/v1/monitoring", token: token).decoded()
    }

    func reason(_ metric: Metric, in answer: MonitoringAnswer) -> String? {
        answer.parameters.first { $0.code == metric.code }?.reason
    }
}

extension Sample {
    static func place(_ at: Int64) -> Sample {
        Sample(
            type: .position, at: Timestamp(milliseconds: at), value: nil, position: Position(latitude: 45.5, longitude: 9.25, accuracy: 5))
    }
}
