// The confirmation of a pairing as one transaction: the number is counted, the device made, an old one ended, the person notified.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import Storage

/// What is kept of offers: keyed digests of what devices show and hold, and a sealed description.
struct PairingSeals: Sendable {
    private let key: SymmetricKey
    private let secretKey: LookupKey
    private let numberKey: LookupKey

    /// - Parameter key: of the service, since an offer is nobody's yet.
    init(key: SymmetricKey) {
        self.key = key
        secretKey = LookupKey(key, purpose: "pairing-secret")
        numberKey = LookupKey(key, purpose: "pairing-number")
    }

    func lookup(_ secret: PairingSecret, of pairing: PairingID) -> [UInt8] {
        secretKey.lookup("\(pairing)|\(secret.text)")
    }

    func lookup(number: String, of pairing: PairingID) -> [UInt8] {
        numberKey.lookup("\(pairing)|\(number)")
    }

    func seal(_ device: OfferedDevice, of pairing: PairingID) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(device), key: key, context: Self.context(pairing))
    }

    func open(_ row: PairingRow) throws -> OfferedDevice {
        try JSONDecoder().decode(OfferedDevice.self, from: Data(Seal.open(row.sealed, key: key, context: Self.context(row.pairing))))
    }

    private static func context(_ pairing: PairingID) -> [UInt8] {
        Array("pairings|\(pairing)".utf8)
    }
}

struct PairingRepository: Sendable {
    let offers: PairingSeals
    let vault: ChunkVault
    let events: DeviceEventStore
    let ending: DeviceEndingStore
    let outbox: MessageOutbox
    private let table = PairingStore()
    private let devices = DeviceStore()

    init(offers: PairingSeals, vault: ChunkVault, events: DeviceEventStore, ending: DeviceEndingStore, outbox: MessageOutbox) {
        (self.offers, self.vault, self.events, self.ending, self.outbox) = (offers, vault, events, ending, outbox)
    }

    /// Counts the number, and where it is right makes the device the person's, all in this transaction.
    func confirm(_ db: Database, _ pairing: PairingID, _ request: PairingRequest, _ household: Household) throws -> PairingOutcome {
        guard var row = try table.find(db, pairing) else { throw Problem.notFound }
        let shown = row.numberLookups[min(row.offer.wrong, PairingOffer.wrongNumbers - 1)]
        let isRight = Digest.constantTimeEqual(offers.lookup(number: request.number, of: pairing), shown)
        // Asked again after an answer that got lost.
        if isRight, row.offer.state == .confirmed, let device = row.device.flatMap(household.device) {
            return .paired(PairingSuccess(device: device.device, tracked: device.chosenCodes, trackedElsewhere: [], replaced: nil))
        }
        if isRight { try check(request, household) }
        let verdict = row.offer.typed(isRight: isRight, at: request.at)
        if verdict == .confirmed { row.device = request.device }
        try table.keep(db, row)
        switch verdict {
        case .wrong(let left): return .wrong(left: left)
        case .over(let state): return .over(state)
        case .confirmed: return .paired(try pair(db, row, request, household))
        }
    }

    private func check(_ request: PairingRequest, _ household: Household) throws {
        if let old = request.replaces, household.device(old) == nil {
            throw Problem.noSuchDevice.saying(
                "Nothing was changed; the list of devices has the ones that can be replaced.",
                italian: "Nulla è stato cambiato; l'elenco dei dispositivi contiene quelli che si possono sostituire.",
                errors: [.init(pointer: "/replaces", .noSuchDevice)])
        }
        guard household.active.count < Devices.perPerson || request.replaces != nil else {
            throw Problem.tooManyDevices.saying(
                "A person has at most \(Devices.perPerson) devices. Remove one, or replace one by the new one.",
                italian: "Una persona ha al massimo \(Devices.perPerson) dispositivi. Ne tolga uno, o lo sostituisca con il nuovo.")
        }
    }

    /// The right number was typed: from here on the device is the person's, and the replaced one is not.
    private func pair(_ db: Database, _ row: PairingRow, _ request: PairingRequest, _ household: Household) throws -> PairingSuccess {
        let offered = try offers.open(row)
        let name = request.name ?? offered.model
        func seal(_ text: String, at place: String) throws -> [UInt8] {
            try vault.seal(text: Array(text.utf8), at: place, of: request.person, key: request.key)
        }
        var plan = household.plan
        let source = TrackedSource(
            device: request.device, kind: offered.kind, measures: MetricSet(offered.measures.compactMap { Metric(code: $0) }),
            tracking: .chosen(MetricSet()))
        let elsewhere = plan.paired(source, replacing: request.replaces)
        let tracking = plan.source(request.device)?.tracking ?? .chosen(MetricSet())
        let new = NewDevice(
            device: request.device, tokenLookup: row.tokenLookup, name: try seal(name, at: Devices.place(ofNameOf: request.device)),
            model: try seal(offered.model, at: Devices.place(ofModelOf: request.device)),
            publicKey: offered.publicKey.flatMap { Base64URL.decode($0) }, intervalMs: offered.intervalMs, kind: offered.kind,
            origin: .paired, measures: source.measures, tracking: tracking)
        try devices.add(db, new, of: household.number, at: request.at)
        guard let stored = try devices.device(db, request.device) else { throw Failure(.internal, "the device was not stored") }
        try events.publish(db, stored, at: request.at, trace: request.trace)
        if let old = request.replaces { try ending.end(db, old, at: request.at, trace: request.trace) }
        try outbox.enqueue(
            db,
            SendMessage(
                message: .random(), recipient: Recipient(person: request.person), channels: [.inbox, .push], template: .devicePaired,
                language: request.language, values: ["device": name]))
        return PairingSuccess(
            device: request.device, tracked: stored.chosenCodes, trackedElsewhere: elsewhere.map(TrackedElsewhereItem.init),
            replaced: request.replaces)
    }
}

/// Everything about a confirmation that is known before the transaction.
struct PairingRequest: Sendable {
    let person: PersonID
    let key: SymmetricKey
    /// The id of the device, if it becomes one.
    let device: DeviceID
    let number: String
    let name: String?
    let replaces: DeviceID?
    let language: Language
    let at: Timestamp
    let trace: String
}

extension DeviceRow {
    fileprivate var chosenCodes: [String] {
        if case .chosen(let set) = tracking { return set.metrics.map(\.code) }
        return measures.metrics.map(\.code)
    }
}
