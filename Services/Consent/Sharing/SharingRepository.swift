// One change of a request, written down with everything that must be durable with it.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit

/// Joins, in the caller's transaction, the row, the signed receipt, the facts of both streams and the notice to the person: a
/// crash leaves all of it or nothing.
struct SharingRepository: Sendable {
    let events: SharingEventStore
    let receipts: ReceiptService
    let people: SharingPersonStore
    let keys: PersonKeys
    let outbox: MessageOutbox
    private let table = SharingStore()
    private let receiptTable = ReceiptStore()

    init(events: SharingEventStore, receipts: ReceiptService, people: SharingPersonStore, keys: PersonKeys, outbox: MessageOutbox) {
        (self.events, self.receipts, self.people, self.keys, self.outbox) = (events, receipts, people, keys, outbox)
    }

    /// When and in the course of which work something happens.
    struct Moment: Sendable {
        let now: Timestamp
        let trace: String
    }

    // MARK: Details

    static func seal(_ details: RequestDetails, of request: RequestID, key: SymmetricKey) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(details), key: key, context: context(request))
    }

    /// - Throws: `KeyDestroyed` where the person was erased.
    func details(of row: StoredRequest) throws -> RequestDetails {
        let plain = try Seal.open(row.details, key: key(of: row.request.person), context: Self.context(row.request.id))
        return try JSONDecoder().decode(RequestDetails.self, from: Data(plain))
    }

    private func key(of person: PersonID) throws -> SymmetricKey {
        guard let key = try keys.key(of: person) else { throw KeyDestroyed() }
        return key
    }

    private static func context(_ request: RequestID) -> [UInt8] {
        Array("sharing_requests \(request)".utf8)
    }

    // MARK: Changes

    /// A request that was just made: exactly one row, PENDING, and no grant (INV-07). The person is told at once (SHR-04), and the
    /// guardian of a child is asked.
    func opened(
        _ db: Database, _ request: SharingRequest, by person: SharingPerson, _ details: RequestDetails, sealed: [UInt8], _ moment: Moment
    ) throws {
        let number = try table.add(db, request, of: person.account, details: sealed)
        let row = StoredRequest(number: number, account: person.account, request: request, details: sealed)
        let receipt = try sign(db, row, details, nil, by: .organisation, language: person.language, moment)
        let hours = max(1, Int(((request.answerBy - moment.now) / .seconds(3600)).rounded(.up)))
        try outbox.enqueue(
            db,
            SendMessage(
                message: .random(), recipient: person.recipient, channels: person.channels, template: .requestReceived,
                language: person.language,
                values: [
                    "name": person.name, "organisation": details.organisationName, "purpose": details.purpose, "hours": String(hours),
                ], notAfter: request.answerBy))
        if person.needsGuardian { try people.askGuardian(db, person, request.id, details, request.answerBy) }
        try events.publish(db, request, receipt: receipt, at: moment.now, trace: moment.trace)
    }

    /// A request that has changed, `row` being as it is now.
    /// - Parameters:
    ///   - event: what the receipt says where the status does not: single types were withdrawn.
    ///   - notice: what the person is told; of what was done in their name, only what gives something away.
    func changed(
        _ db: Database, _ row: StoredRequest, event: ConsentEvent? = nil, by actor: ConsentActor, notice: MessageTemplate? = nil,
        _ moment: Moment
    ) throws {
        let request = row.request
        try table.save(db, request)
        let details = try details(of: row)
        let person = try people.withID(db, request.person, moment.now)
        let receipt = try sign(db, row, details, event, by: actor, language: person?.language ?? .english, moment)
        if let notice, let person {
            try outbox.enqueue(
                db,
                SendMessage(
                    message: .random(), recipient: person.recipient, channels: person.channels, template: notice,
                    language: person.language, values: ["name": person.name, "organisation": details.organisationName]))
        }
        try events.publish(db, request, receipt: receipt, at: moment.now, trace: moment.trace)
    }

    /// Nobody has answered in time.
    func expire(_ db: Database, _ row: inout StoredRequest, _ moment: Moment) throws {
        try row.request.expired(at: moment.now)
        try changed(db, row, by: .suite, notice: .requestExpired, moment)
    }

    /// As `changed`, for a person who is being erased: nothing that the person's key seals is written any more, and what is told of
    /// the request names nobody.
    func closed(_ db: Database, _ row: StoredRequest, _ moment: Moment) throws {
        try table.save(db, row.request)
        try events.publish(db, row.request, receipt: nil, at: moment.now, trace: moment.trace)
    }

    private func sign(
        _ db: Database, _ row: StoredRequest, _ details: RequestDetails, _ event: ConsentEvent?, by actor: ConsentActor,
        language: Language, _ moment: Moment
    ) throws -> String {
        let id = ReceiptID.random()
        let receipt = ConsentReceipt(id, of: row.request, details, event: event, by: actor, language: language)
        let text = try receipts.sign(receipt)
        try receiptTable.add(
            db, id, of: (row.number, row.account), receipt.event.eventState, jws: text, key: key(of: row.request.person), at: moment.now)
        return text
    }
}
