// Following erasures to their end: what each service confirms, the certificate, and the reminder of those that take too long.

import Bus
import Contracts
import GRDB
import Logging
import Metrics
import Sealing
import ServiceKit
import Storage

struct ErasureRepository: Sendable {
    /// Stores that one service may name, and how long each text may be.
    private static let mostStores = 32
    private static let longestText = 200
    private static let snapshotPage = 500

    let store: Store
    let answers: StoredAnswers
    let facts: FactStream
    let outbox: MessageOutbox
    let vault: ProfileVault
    let secrets: ErasureSecrets
    let logger: Logger
    private let table = ErasureStore()
    private let overdue = Gauge(label: "trackme_erasures_overdue")

    init(
        store: Store, answers: StoredAnswers, facts: FactStream, outbox: MessageOutbox, vault: ProfileVault, secrets: ErasureSecrets,
        logger: Logger
    ) {
        (self.store, self.answers, self.facts, self.outbox) = (store, answers, facts, outbox)
        (self.vault, self.secrets, self.logger) = (vault, secrets, logger)
    }

    // MARK: Confirmations

    /// The word of another service, by its own key on the bus.
    func confirmed(_ request: ConfirmErasure, _ context: RequestContext) async throws -> Nothing {
        guard Self.isWellFormed(request.stores) else { throw Failure(.invalid, "1 to \(Self.mostStores) stores with short names") }
        try await confirmed(request, by: context.peer) { [answers] db in try answers.remember(Nothing(), to: context, in: db) }
        return Nothing()
    }

    /// - Parameter effect: in the same transaction.
    func confirmed(
        _ request: ConfirmErasure, by service: Peer, effect: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws {
        let isCompleted = try await store.write { [self] db in
            guard let row = try table.find(db, request.erasure) else { throw Failure(.notFound, "there is no such erasure") }
            try effect(db)
            guard row.erased.completedAt == nil else { return false }
            try table.confirm(db, row.number, by: service, request.stores)
            return try completeIfConfirmed(db, request.erasure, at: .now)
        }
        if isCompleted {
            try await store.emptyLog()
            logger.notice("an erasure is completed", metadata: ["erasure": "\(request.erasure)"])
        }
    }

    private func completeIfConfirmed(_ db: Database, _ erasure: ErasureID, at now: Timestamp) throws -> Bool {
        guard let row = try table.find(db, erasure), row.erased.isConfirmedByAll, let person = row.person else { return false }
        var erased = row.erased
        erased.completedAt = now
        guard let certificate = ErasureCertificate(erased) else { return false }
        try table.complete(db, row.number, at: now, certificate: try secrets.sign(certificate))
        try forgetOrder(db, person, unless: try table.isPending(db, person))
        guard let contact = try row.contact.map({ try secrets.open($0, of: erasure) }) else { return true }
        try outbox.enqueue(
            db,
            SendMessage(
                message: .random(), recipient: Recipient(person: nil, mail: contact.email), channels: [.mail],
                template: .erasureCompleted, language: contact.language, values: ["certificate": certificate.text]))
        return true
    }

    /// The order itself names the person: everybody has carried it out.
    private func forgetOrder(_ db: Database, _ person: PersonID, unless isPending: Bool) throws {
        guard !isPending else { return }
        let log = StreamLog()
        let (oldest, head) = (try log.oldest(db, facts.stream), try log.head(db, facts.stream))
        guard oldest <= head else { return }
        _ = try log.erase(db, person, in: facts.stream, range: oldest...head)
    }

    private static func isWellFormed(_ stores: [ErasedStore]) -> Bool {
        (1...mostStores).contains(stores.count)
            && stores.allSatisfy { store in
                store.removed >= 0 && [store.store, store.kept ?? "-"].allSatisfy { (1...longestText).contains($0.utf8.count) }
            }
    }

    // MARK: The stream

    /// The orders that not every service has confirmed.
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        try await store.read { [table, facts] db in
            try StateStream<PersonErased>(PersonErased.type, in: facts.log).snapshot(db, asked, limit: Self.snapshotPage) {
                (after: Int64, limit: Int) in
                try table.open(db, after: after, limit: limit).map { row in
                    let order = row.person.map {
                        PersonErased(erasure: row.erased.erasure, person: $0, scope: row.erased.scope, orderedAt: row.erased.orderedAt)
                    }
                    return (row.number, row.person, order)
                }
            }
        }
    }

    // MARK: Following up

    func find(capability: String) async throws -> ErasureRow? {
        let lookup = secrets.lookup(capability)
        return try await store.readBriefly { [table] db in try table.find(db, capability: lookup) }
    }

    /// Newest first.
    func page(before number: Int64, limit: Int) async throws -> [ErasureRow] {
        try await store.read { [table] db in try table.page(db, before: number, limit: limit) }
    }

    /// Looks once a minute for what is not confirmed within the hour; runs until it is cancelled.
    func run() async throws {
        while true {
            do {
                try await remind(at: .now)
            } catch let error where !(error is CancellationError) {
                logger.warning("erasures could not be checked; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
            }
            try await Task.sleep(for: .seconds(60))
        }
    }

    /// Tells every operator of each erasure that takes too long, and of whom it waits for.
    func remind(at now: Timestamp) async throws {
        let open = try await store.read { [table] db in try table.open(db) }
        overdue.record(open.count { $0.erased.isOverdue(at: now) })
        for row in open where row.erased.isReminderDue(at: now) {
            let waiting = row.erased.waitingFor.map(\.name).joined(separator: ", ")
            logger.error(
                "an erasure is not confirmed within the hour", metadata: ["erasure": "\(row.erased.erasure)", "waitsFor": "\(waiting)"])
            try await store.write { [self] db in
                try table.reminded(db, row.number, at: now)
                for operatorRow in try AccountStore().page(db, of: .operator, after: 0, limit: 100) {
                    try outbox.enqueue(db, Self.reminder(row.erased, waiting, to: vault.contact(operatorRow)))
                }
            }
        }
    }

    private static func reminder(_ erased: ErasureCase, _ waiting: String, to contact: AccountContact) -> SendMessage {
        let (title, text) =
            switch contact.language {
            case .italian:
                (
                    "Una cancellazione non è ancora confermata",
                    "La cancellazione \(erased.erasure), ordinata il \(erased.orderedAt.rfc3339), attende: \(waiting)."
                )
            case .english:
                (
                    "An erasure is not confirmed yet",
                    "The erasure \(erased.erasure), ordered at \(erased.orderedAt.rfc3339), waits for: \(waiting)."
                )
            }
        return SendMessage(
            message: .random(), recipient: Recipient(person: nil, mail: contact.email.text), channels: [.mail], template: .announcement,
            language: contact.language, values: ["title": title, "text": text])
    }
}
