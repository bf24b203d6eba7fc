// Where stories about money play: the gateway's store and payments in a temporary folder, a handler that does what it is told.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import ThirdPartyGateway

/// A payment handler in memory that remembers keys as Stripe does.
final class ScriptedHandler: PaymentProvider {
    enum Mood: Sendable {
        case willing
        case declines(String)
        case refusesToOpen(String)
        /// Does not answer, and does nothing.
        case away
        /// Does what it is asked, and its answer is lost.
        case losesAnswers
        /// Takes another amount than it is asked for.
        case takes(Amount)
        /// Never gives back.
        case keeps(String)
    }

    struct State: Sendable {
        var mood = Mood.willing
        var calls: [PaymentJob] = []
        var open: [String: String] = [:]
        var charged: Set<String> = []
        var cancelled: Set<String> = []
        var refunded: Set<String> = []
        var charges = 0
        /// Where the money of a process is by what a bank or the handler has done, past what was asked for here.
        var standings: [String: MoneyStatus] = [:]
        /// Whose process it is.
        var payments: [String: PaymentID] = [:]
    }

    let name: String
    let takesToken = true
    let state = Mutex(State())
    /// Run after the handler has acted and before its answer is heard.
    let meanwhile = Mutex<(@Sendable () async -> Void)?>(nil)

    init(_ name: String = "scripted") {
        self.name = name
    }

    var charges: Int { state.withLock { $0.charges } }
    var refunds: Int { state.withLock { $0.refunded.count } }
    /// How often a payment was charged, and how often that went back.
    func money(_ payment: PaymentID) -> (charges: Int, refunds: Int) {
        state.withLock { state in
            let own = state.payments.filter { $0.value == payment }.map(\.key)
            return (own.filter(state.charged.contains).count, own.filter(state.refunded.contains).count)
        }
    }

    func kinds() -> [PaymentJob.Kind] { state.withLock { $0.calls.map(\.kind) } }
    func become(_ mood: Mood) { state.withLock { $0.mood = mood } }

    func carry(_ job: PaymentJob) async -> ProviderStatus {
        let word = state.withLock { Self.act(job, &$0) }
        if let body = meanwhile.withLock({ body in
            defer { body = nil }
            return body
        }) {
            await body()
        }
        if case .losesAnswers = state.withLock({ $0.mood }) { return .unreachable }
        return word
    }

    func forgotten(_ payment: PaymentID, besides known: Set<String>) async -> ForgottenPayment {
        state.withLock { state -> ForgottenPayment in
            let paid = state.payments.filter { $0.value == payment }.map(\.key).first { reference in
                state.charged.contains(reference) && !state.refunded.contains(reference) && !known.contains(reference)
            }
            return if let paid { .paid(reference: paid, amount: nil) } else { .unknown }
        }
    }

    private static func act(_ job: PaymentJob, _ state: inout State) -> ProviderStatus {
        if case .away = state.mood { return .unreachable }
        state.calls.append(job)
        switch job.kind {
        case .open:
            if case .refusesToOpen(let reason) = state.mood { return .ended(reason: reason) }
            let reference = state.open[job.key] ?? "process\(state.open.count + 1)"
            (state.open[job.key], state.payments[reference]) = (reference, job.payment)
            return .opened(reference: reference, step: PayerStep(clientSecret: "\(reference)_secret"))
        case .confirm:
            guard let reference = job.reference else { return .unreachable }
            if state.charged.contains(reference) { return .succeeded(charge: nil) }
            if case .declines(let reason) = state.mood { return .declined(reason: reason) }
            if state.cancelled.contains(reference) { return .ended(reason: "cancelled") }
            if state.charged.insert(reference).inserted { state.charges += 1 }
            if case .takes(let amount) = state.mood { return .succeeded(charge: "charge of \(reference)", amount: amount) }
            return .succeeded(charge: "charge of \(reference)", amount: job.amount)
        case .cancel:
            guard let reference = job.reference else { return .unreachable }
            if state.charged.contains(reference) { return .succeeded(charge: nil) }
            state.cancelled.insert(reference)
            return .ended(reason: "cancelled")
        case .look:
            guard let reference = job.reference else { return .unreachable }
            if state.charged.contains(reference) { return .succeeded(charge: nil) }
            return state.cancelled.contains(reference) ? .ended(reason: "cancelled") : .needsPayer(nil)
        case .refund:
            guard let reference = job.reference else { return .unreachable }
            if case .keeps(let reason) = state.mood { return .stands(.refundRefused(reason: reason)) }
            if let standing = state.standings[reference] { return .stands(standing) }
            state.refunded.insert(reference)
            return .refunded
        case .review:
            guard let standing = job.reference.flatMap({ state.standings[$0] }) else { return .pending }
            return .stands(standing)
        }
    }

    /// What the handler says of the money from now on; nil: nothing.
    func stands(_ standing: MoneyStatus?, _ reference: String) {
        state.withLock { $0.standings[reference] = standing }
    }

    /// The payer pays in the handler's own form.
    func payerPays(_ reference: String) {
        state.withLock { if $0.charged.insert(reference).inserted { $0.charges += 1 } }
    }
}

final class PaymentHarness: Sendable {
    static let quiet = Running.quiet
    static let start = Timestamp(milliseconds: 1_767_312_000_000)

    let runtime: Runtime
    let folder: URL
    let card: ScriptedHandler
    let payPal: ScriptedHandler
    let clock = Mutex(PaymentHarness.start)
    private let harness: Harness
    private let settings: GatewaySettings
    private let current = Mutex<(stores: GatewayStores, parts: PaymentModule)?>(nil)

    private var open: (stores: GatewayStores, parts: PaymentModule) {
        guard let open = current.withLock({ $0 }) else { preconditionFailure("the harness is open from its beginning") }
        return open
    }

    var parts: PaymentModule { open.parts }
    var store: Store { open.stores.opened.store }
    var answers: StoredAnswers { open.stores.opened.answers }
    var now: Timestamp { clock.withLock { $0 } }

    private init(_ folder: URL, _ environment: [String: String]) async throws {
        self.folder = folder
        let usual = [
            "TRACKME_PAY_BANK_IBAN": "IT60X0542811101000000123456", "TRACKME_PAY_BANK_HOLDER": "TrackMe",
            "TRACKME_PAY_SELLER_NAME": "TrackMe S.r.l.",
        ]
        harness = Harness(folder, usual.merging(environment) { $1 })
        try harness.introducePeers()
        runtime = try harness.runtime(.thirdPartyGateway)
        var reader = harness.reader
        settings = GatewaySettings(&reader)
        (card, payPal) = (ScriptedHandler(), ScriptedHandler("other"))
        try await reopen()
    }

    private func reopen() async throws {
        let opened = try await OpenedStore(
            on: runtime, applicationID: 1, migrations: GatewaySchema.migrations,
            restored: { [self] db in try GatewayRestoreStore().begin(db, at: now) })
        let bank = settings.payments.bank.map { BankTransferProvider(bank: $0) }
        let stores = try GatewayStores(
            settings, opened: opened,
            outbox: MessageOutbox(in: opened.store, sealedUnder: try runtime.key("outbox"), logger: Self.quiet) { _ in }, on: runtime,
            providers: PaymentProviders([.card: card, .paypal: payPal, .bankTransfer: bank ?? card]), clock: { [self] in now })
        let parts = try PaymentModule(
            settings.payments, on: stores, runtime: runtime,
            admit: { exchange, right in
                guard case .client(let client, let organisation, let scopes) = exchange.caller, scopes.contains(right.rawValue) else {
                    throw Problem.forbidden
                }
                return Standing(
                    id: organisation, name: "Cardiolab", actor: "\(client)", rights: Right.named(by: scopes), role: nil)
            })
        current.withLock { $0 = (stores, parts) }
    }

    static func play(_ environment: [String: String] = [:], _ body: (PaymentHarness) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await withHarness(PaymentHarness(folder, environment), body) { await $0.close() }
        }
    }

    static func playWithPrices(_ environment: [String: String] = [:], _ body: (PaymentHarness) async throws -> Void) async throws {
        try await play(environment) { harness in
            try await harness.setPrices()
            try await body(harness)
        }
    }

    /// With prices, and a request that is asked for and accepted.
    static func playAccepted(_ body: (PaymentHarness, PayableRequest) async throws -> Void) async throws {
        try await playWithPrices { harness in try await body(harness, harness.accepted()) }
    }

    private func close() async {
        await store.close()
        await open.stores.opened.keys.close()
        await harness.stop()
    }

    /// As after a kill: whatever was not committed is gone, the file is opened anew.
    /// - Parameter copy: put in its place meanwhile.
    func restart(from copy: URL? = nil) async throws {
        await store.close()
        await open.stores.opened.keys.close()
        if let copy {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: runtime.storeFile.path + suffix) }
            try FileManager.default.copyItem(at: copy, to: runtime.storeFile)
        }
        try await reopen()
    }

    /// Another peer of the same suite.
    func runtime(of peer: Peer) throws -> Runtime {
        try harness.runtime(peer)
    }

    func pass(_ time: Duration) {
        clock.withLock { $0 = $0 + time }
    }

    // MARK: What happens

    static let organisation = OrganisationID(bits: 77)

    func setPrices(_ prices: PriceList = PaymentSamples.prices) async throws {
        let at = now
        _ = try await store.write { db in try PriceListStore().add(db, prices, at: at) }
    }

    @discardableResult
    func request(
        _ id: RequestID = .random(), of organisation: OrganisationID = PaymentHarness.organisation, types: [Metric] = [.heartRate]
    ) async throws -> PayableRequest {
        let request = PayableRequest(
            id: id, organisation: organisation,
            scope: RequestScope(types: types, from: Self.start, to: Self.start + .seconds(86_400), granularity: .minutes))
        let (repository, organisations, now) = (parts.repository, open.stores.organisations, now)
        try await store.write { db in
            try organisations.put(db, organisation, name: PaymentSamples.buyer)
            try RequestStore().add(
                db,
                MadeRequest(
                    id: id, organisation: organisation, person: nil, asked: types, types: types, from: request.scope.from,
                    to: request.scope.to, granularity: .minutes, isSubscription: false, status: .pending, grant: nil, answerBy: now,
                    createdAt: now, changedAt: now, paidAt: nil, deliveredAt: nil))
            try repository.opened(db, request)
        }
        try await carryAll()
        return request
    }

    /// Asked for and accepted.
    func accepted(
        _ id: RequestID = .random(), of organisation: OrganisationID = PaymentHarness.organisation, types: [Metric] = [.heartRate]
    ) async throws -> PayableRequest {
        let request = try await request(id, of: organisation, types: types)
        try await accept(request)
        return request
    }

    func accept(_ request: PayableRequest) async throws {
        let repository = parts.repository
        try await store.write { db in
            try Self.become(.approved, db, request)
            try repository.due(db, request)
        }
        try await carryAll()
    }

    func close(_ request: PayableRequest, as outcome: RequestStatus) async throws {
        let repository = parts.repository
        try await store.write { db in
            try Self.become(outcome, db, request)
            try repository.closed(db, request.id, as: outcome)
        }
        try await carryAll()
    }

    /// What consent says of it.
    private static func become(_ status: RequestStatus, _ db: Database, _ request: PayableRequest) throws {
        guard var made = try RequestStore().find(db, request.id) else { return }
        made.status = status
        if status == .approved { made.grant = .random() }
        try RequestStore().save(db, made)
    }

    func isPaid(_ request: PayableRequest) async throws -> Bool {
        let repository = parts.repository
        return try await store.read { db in try repository.isPaid(db, request.id) }
    }

    func bill(_ request: PayableRequest) async throws -> Bill {
        let repository = parts.repository
        guard let bill = try await store.read({ db in try repository.bill(db, of: request.id) }) else { throw Problem.notFound }
        return bill
    }

    @discardableResult
    func pay(_ request: PayableRequest, by method: PaymentMethod = .card, token: String? = "pm_token") async throws -> ShownPayment {
        let bill = try await bill(request)
        guard let shown = try await parts.service.pay(bill.payment, of: request.organisation, by: method, token: token) else {
            throw Problem.notFound
        }
        return shown
    }

    /// What the background would call now.
    func carryAll() async throws {
        let table = parts.service.paymentStore.table
        for stored in try await store.read({ db in try table.list(db, PaymentFilter(), before: nil, limit: 1000) }) {
            try await parts.jobs.settle(stored.bill.payment)
        }
    }

    func waiting() async throws -> Int {
        let jobs = parts.service.paymentStore.jobs
        return try await store.read { db in try jobs.waiting(db) }
    }

    func messages() async throws -> [SendMessage] {
        let key = try runtime.key("outbox")
        return try await store.read { db in try OrganisationRepository.waitingMails(db, sealedUnder: key) }
    }

    func mails() async throws -> [MessageTemplate] { try await messages().map(\.template) }

    /// Why nothing of it leaves although it was paid once.
    func hold(_ request: PayableRequest) async throws -> PaymentHold? {
        try await store.read { db in try RequestStore().find(db, request.id)?.hold }
    }

    /// Whose data may leave.
    func released() async throws -> [RequestID] {
        try await store.read { db in
            try RequestStore().page(db, of: Self.organisation, RequestFilter(), before: nil, limit: 1000)
        }.filter { $0.request.paidAt != nil }.map(\.request.id)
    }

    func invoices() async throws -> [Invoice] {
        let table = parts.service.paymentStore.invoices
        return try await store.read { db in try table.list(db, of: Self.organisation, before: nil, limit: 1000) }
    }
}

extension Bill {
    /// Asked for, and to be paid by card.
    static func byCard(minor: Int64 = 622, at now: Timestamp) -> Bill {
        var bill = Bill(
            payment: PaymentID(bits: 1), request: RequestID(bits: 2), organisation: OrganisationID(bits: 3),
            amount: Amount(minor: minor, currency: "EUR"), priceListVersion: 1, at: now)
        _ = bill.submitted(paidBy: .card, through: "stripe", at: now)
        return bill
    }
}

/// What everybody in the stories has.
enum PaymentSamples {
    static let buyer = "Cardiolab"
    static let prices = PriceList(
        currency: "EUR", perRequest: 500, usual: .init(seconds: 20, minutes: 10, hours: 5), taxBasisPoints: 2200)
}

/// The type name of the problem that is thrown.
func problemName(_ body: () async throws -> Void) async -> String? {
    do {
        try await body()
        return nil
    } catch let refusal as Refusal {
        return refusal.problem.name
    } catch let problem as Problem {
        return problem.name
    } catch {
        return "\(error)"
    }
}
