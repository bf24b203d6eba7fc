// Pairing: a device offers itself and shows a number, a logged-in person types it, the device fetches its token (ACC-22 to ACC-24).

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// What came of a number that the person typed.
enum PairingOutcome: Sendable {
    case paired(PairingSuccess)
    case wrong(left: Int)
    case over(PairingOffer.State)
}

struct Pairings: Sendable {
    /// Offers that may be open at the same time; further ones are refused for a while.
    static let mostOffers = 10_000
    /// Offers that one request can name: as many devices are nearby.
    static let mostNearby = 20
    /// How long an offer that is over is still known, so that its device can read the end of it.
    private static let afterlife = Duration.seconds(600)

    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let households: HouseholdRepository
    let people: People
    let pairingStore: PairingRepository
    let logger: Logger
    private let table = PairingStore()

    init(
        store: Store, vault: ChunkVault, registry: DeviceRegistry, households: HouseholdRepository, people: People,
        pairingStore: PairingRepository,
        logger: Logger
    ) {
        (self.store, self.vault, self.registry, self.households) = (store, vault, registry, households)
        (self.people, self.pairingStore, self.logger) = (people, pairingStore, logger)
    }

    private var offers: PairingSeals { pairingStore.offers }

    // MARK: The device's side

    func offer(_ device: OfferedDevice, at now: Timestamp) async throws -> PairingOffered {
        let (pairing, secret) = (PairingID.random(), PairingSecret.random())
        let numbers = secret.numbers(of: pairing)
        let row = PairingRow(
            pairing: pairing, secretLookup: offers.lookup(secret, of: pairing),
            numberLookups: numbers.map { offers.lookup(number: $0, of: pairing) },
            tokenLookup: registry.tokenLookup(secret.token(of: pairing)),
            sealed: try offers.seal(device, of: pairing), offer: PairingOffer(at: now), device: nil)
        let isTaken = try await store.write { [table] db in
            try table.expire(db, before: now - Self.afterlife)
            guard try table.count(db) < Self.mostOffers else { return false }
            try table.add(db, row)
            return true
        }
        guard isTaken else { throw Refusal(.unavailable, retryAfter: PairingOffer.life) }
        return PairingOffered(
            pairing: pairing, secret: secret.text, number: numbers[0], expiresAt: row.offer.expiresAt.rfc3339)
    }

    /// How the offer stands. Once it is confirmed the token is given to whoever holds the secret, until it is first used: an answer
    /// that is lost on the way can be asked for again.
    func poll(_ pairing: PairingID, _ poll: PairingPoll, at now: Timestamp) async throws -> PairingProgress {
        // What cannot be a secret costs no look at the store.
        guard let secret = PairingSecret(text: poll.secret),
            let row = try await store.readBriefly({ [table] db in try table.find(db, pairing) }), isRight(secret, row)
        else { throw Problem.notFound }
        let state = row.offer.state(at: now)
        var progress = PairingProgress(state: state.rawValue, expiresAt: row.offer.expiresAt.rfc3339)
        let number = secret.numbers(of: pairing)[min(row.offer.wrong, PairingOffer.wrongNumbers - 1)]
        switch state {
        case .waiting: progress.number = number
        case .confirmed:
            try requireSignature(poll.signature, row, number)
            try await giveToken(secret, row, &progress)
        case .refused, .cancelled, .expired: break
        }
        return progress
    }

    private func isRight(_ secret: PairingSecret, _ row: PairingRow) -> Bool {
        Digest.constantTimeEqual(offers.lookup(secret, of: row.pairing), row.secretLookup)
    }

    private func requireSignature(_ signature: String?, _ row: PairingRow, _ number: String) throws {
        guard let publicKey = try offers.open(row).publicKey.flatMap({ Base64URL.decode($0) }) else { return }
        let signed = signature.flatMap { Base64URL.decode($0) } ?? []
        let isProved = try VerifyingKey(bytes: publicKey).verify(signed, of: PairingTranscript.text(row.pairing, number: number))
        guard isProved else {
            throw Problem.wrongSignature.saying(
                "Sign `trackme-pairing.v1|<pairing>|<number shown>` with the key that was offered.",
                errors: [.init(pointer: "/signature", .otherSignature)])
        }
    }

    private func giveToken(_ secret: PairingSecret, _ row: PairingRow, _ progress: inout PairingProgress) async throws {
        var token = secret.token(of: row.pairing)
        guard let known = registry.device(withToken: token.text), !known.pulse.hasBeenHeard else {
            try await store.write { [table] db in try table.delete(db, row.pairing) }
            throw Problem.notFound
        }
        token.shard = VirtualShard(of: known.person)
        (progress.device, progress.token) = (known.device, token.text)
    }

    /// The device leaves by itself.
    func withdraw(_ pairing: PairingID, _ poll: PairingPoll, at now: Timestamp) async throws {
        guard let secret = PairingSecret(text: poll.secret) else { throw Problem.notFound }
        try await end(pairing, at: now) { isRight(secret, $0) }
    }

    private func end(_ pairing: PairingID, at now: Timestamp, where isAllowed: @escaping @Sendable (PairingRow) -> Bool) async throws {
        // Refused before a write begins; within it is decided.
        let known = try await store.readBriefly { [table] db in try table.find(db, pairing) }
        guard let known, isAllowed(known) else { throw Problem.notFound }
        try await store.write { [table] db in
            guard var row = try table.find(db, pairing), isAllowed(row) else { throw Problem.notFound }
            row.offer.left(at: now)
            try table.keep(db, row)
        }
    }

    // MARK: The person's side

    /// Those of the named offers that wait to be confirmed.
    func nearby(_ pairings: [PairingID], at now: Timestamp) async throws -> [PairingItem] {
        let rows = try await store.read { [table] db in try pairings.compactMap { try table.find(db, $0) } }
        return try rows.filter { $0.offer.state(at: now) == .waiting }.map { row in
            let device = try offers.open(row)
            return PairingItem(
                pairing: row.pairing, model: device.model, kind: device.kind, measures: device.measures, intervalMs: device.intervalMs,
                keyFingerprint: device.publicKey.flatMap { Base64URL.decode($0) }.map(DeviceService.fingerprint),
                expiresAt: row.offer.expiresAt.rfc3339)
        }
    }

    /// Leaving: the device stops offering itself, and one that was to be replaced stays.
    func leave(_ pairing: PairingID, at now: Timestamp) async throws {
        try await end(pairing, at: now) { _ in true }
    }

    /// The person has typed the number. A wrong one counts, and makes the device show another.
    func confirm(
        _ pairing: PairingID, _ typed: PairingConfirmation, by person: PersonID, at now: Timestamp, trace: String
    ) async throws -> PairingOutcome {
        let number = try await people.number(of: person)
        let request = PairingRequest(
            person: person, key: try vault.key(of: person), device: .random(), number: typed.number.filter { !$0.isWhitespace },
            name: typed.name, replaces: typed.replaces, language: registry.language(of: person), at: now, trace: trace)
        let outcome = try await households.change(number) { [pairingStore] db, household in
            try pairingStore.confirm(db, pairing, request, household)
        }
        if case .paired(let success) = outcome {
            logger.notice("a device was paired", metadata: ["device": "\(success.device)", "trace": "\(trace)"])
        }
        return outcome
    }
}
