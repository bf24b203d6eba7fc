// Calls payment handlers until they have answered: each call as it was decided, each answer in one transaction with its effect.

import Contracts
import Logging
import Metrics
import ServiceKit
import Storage

/// A process that dies between a call and its answer makes the same call again, with the same key.
actor PaymentJobRunner {
    /// Calls at the same time.
    private static let atOnce = 16
    /// Pauses between attempts at a handler that does not answer: doubled from the first to the last.
    private static let pauses = Duration.seconds(1)...Duration.seconds(300)
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(5)
    /// One payment's calls in a row: to call off, to open, to confirm, and what follows from each.
    private static let rounds = 8
    /// How long a payer's own form is looked after; whoever asks later is looked up then.
    private static let watched: Duration = .seconds(3600)

    private let store: Store
    private let paymentStore: PaymentStore
    private let checkInterval: Duration
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private var inFlight: [Int64: Task<Bool, any Error>] = [:]
    /// The last call of each payment that is on its way.
    private var last: [PaymentID: Task<Bool, any Error>] = [:]

    init(
        store: Store, paymentStore: PaymentStore, checkInterval: Duration, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, self.paymentStore, self.checkInterval, self.logger, self.clock) = (store, paymentStore, checkInterval, logger, clock)
    }

    // MARK: In the background

    /// Calls what is due, oldest first, until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.pollInterval, signal: paymentStore.wakeUp).run { try await self.callDue() }
    }

    private func callDue() async throws -> NextRound {
        let now = clock()
        let due = try await store.read { [jobs = paymentStore.jobs] db in
            try jobs.due(db, at: now, longest: Self.pauses.upperBound, limit: Self.atOnce)
        }
        guard !due.isEmpty else { return .whenWoken }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for job in due { group.addTask { _ = try await self.carry(job) } }
            try await group.waitForAll()
        }
        return .atOnce
    }

    /// Asks handlers about what is under way, for notifications that never came; until it is cancelled.
    func watch() async throws {
        while true {
            try await Task.sleep(for: checkInterval)
            try await checkAll()
            try await count()
        }
    }

    /// What waits for the operator, and what waits for handlers, for whoever watches over the service.
    func count() async throws {
        let (attention, tries) = try await store.read { [paymentStore] db in
            (try paymentStore.table.attention(db), try paymentStore.jobs.mostTries(db))
        }
        for what in PaymentAttention.allCases {
            Gauge(label: "payments_need_attention", dimensions: [("what", what.rawValue)]).record(attention[what] ?? 0)
        }
        Gauge(label: "payment_calls_most_tries").record(tries)
    }

    func checkAll() async throws {
        var after: Int64 = 0
        while true {
            let (now, from, page) = (clock(), after, 100)
            let last = try await store.write { [paymentStore] db -> Int64? in
                let bills = try paymentStore.table.live(db, after: from, limit: page)
                for stored in bills {
                    guard let live = stored.bill.live, live.method != .bankTransfer else { continue }
                    switch live.state {
                    case .confirming, .cancelling: try paymentStore.look(db, stored.bill, live)
                    case .open where stored.bill.status == .due && now - stored.bill.changedAt < Self.watched:
                        try paymentStore.look(db, stored.bill, live)
                    default: continue
                    }
                }
                return bills.count < page ? nil : bills.last?.number
            }
            guard let last else { return }
            after = last
        }
    }

    // MARK: One after the other

    /// Carries what waits of one payment, and what follows from it, as far as handlers answer.
    func settle(_ payment: PaymentID) async throws {
        for _ in 0..<Self.rounds {
            let waiting = try await store.read { [jobs = paymentStore.jobs] db in try jobs.waiting(db, payment) }
            guard let next = waiting.first else { return }
            guard try await carry(next) else { return }
        }
    }

    /// Whether the handler answered. Somebody who asks for the same call meanwhile gets the same answer. One payment's calls go one
    /// after the other: a process that is called off while its charge is on its way would be told to have charged nothing.
    @discardableResult
    private func carry(_ job: StoredPaymentJob) async throws -> Bool {
        if let task = inFlight[job.number] { return try await task.value }
        let before = last[job.payment]
        let task = Task {
            _ = await before?.result
            return try await self.perform(job)
        }
        inFlight[job.number] = task
        last[job.payment] = task
        defer {
            inFlight[job.number] = nil
            if last[job.payment] == task { last[job.payment] = nil }
        }
        return try await task.value
    }

    private func perform(_ job: StoredPaymentJob) async throws -> Bool {
        let (found, isRestored) = try await store.read { [paymentStore] db in
            (
                try paymentStore.jobs.find(db, job.number) == nil ? nil : paymentStore.table.find(db, job.payment),
                try GatewayRestoreStore().restoredAt(db) != nil
            )
        }
        guard let bill = found?.bill else { return true }
        guard bill.wants(job.kind, job.attempt), let attempt = bill.attempts.first(where: { $0.number == job.attempt }) else {
            try await store.write { [paymentStore] db in try paymentStore.jobs.answered(db, job.number) }
            return true
        }
        // Whatever was begun before is known here to have charged nothing. What was begun after the copy that was restored is not.
        if job.kind == .open, isRestored,
            let before = await paymentStore.providers.forgotten(
                job.payment, besides: Set(bill.attempts.compactMap(\.reference)), opening: attempt.provider)
        {
            guard try await receive(before, job) else { return false }
            try await store.write { [paymentStore] db in
                guard let bill = try paymentStore.table.find(db, job.payment)?.bill, let live = bill.live else { return }
                try paymentStore.look(db, bill, live)
            }
            return true
        }
        let word: ProviderStatus
        if let provider = paymentStore.providers.named(attempt.provider) {
            word = await provider.carry(
                PaymentJob(
                    key: job.key, kind: job.kind, payment: job.payment, attempt: job.attempt, provider: attempt.provider,
                    method: attempt.method,
                    amount: job.kind == .refund || job.kind == .review ? attempt.taken ?? bill.amount : bill.amount,
                    reference: attempt.reference, charge: attempt.charge, token: job.token))
        } else {
            logger.warning("a payment waits for a provider that is not configured", metadata: ["payment": "\(job.payment)"])
            word = .unreachable
        }
        Counter(
            label: "payment_calls_total",
            dimensions: [("handler", attempt.provider), ("call", job.kind.rawValue), ("answered", word == .unreachable ? "no" : "yes")]
        ).increment()
        return try await receive(word, job)
    }

    private func receive(_ word: ProviderStatus, _ job: StoredPaymentJob) async throws -> Bool {
        let now = clock()
        let isOpenStill = word == .pending && (job.kind == .cancel || job.kind == .refund)
        guard word != .unreachable, !isOpenStill else {
            // Checks are repeated by their own interval.
            let pause = min(Self.pauses.upperBound, Self.pauses.lowerBound * (1 << min(job.tries, 10)))
            try await store.write { [paymentStore] db in
                if job.kind == .look {
                    try paymentStore.jobs.answered(db, job.number)
                } else {
                    try paymentStore.jobs.postpone(db, job.number, to: now + pause)
                }
            }
            if job.tries == 0, job.kind != .look {
                logger.warning(
                    "a payment provider does not answer; retrying",
                    metadata: ["payment": "\(job.payment)", "call": "\(job.kind.rawValue)"])
            }
            return false
        }
        if let bill = try await take(word, of: job.payment, attempt: job.attempt, answering: job.number) {
            logger.notice(
                "a payment provider has answered",
                metadata: [
                    "payment": "\(job.payment)", "call": "\(job.kind.rawValue)", "status": "\(bill.status.rawValue)",
                ])
        }
        return true
    }

    /// - Parameter job: that it answers; it is done with the word's effect.
    private func take(_ word: ProviderStatus, of payment: PaymentID, attempt: Int, answering job: Int64?) async throws -> Bill? {
        let now = clock()
        let (before, bill) = try await store.write { [paymentStore] db -> (Bill?, Bill?) in
            if let job { try paymentStore.jobs.answered(db, job) }
            var before: Bill?
            let bill = try paymentStore.change(db, payment, at: now) { bill in
                before = bill
                return bill.receive(word, of: attempt, at: now)
            }
            return (before, bill)
        }
        if let bill { seen(bill, since: before) }
        return bill
    }

    /// The operator does not have to look for what waits for one.
    private func seen(_ bill: Bill, since before: Bill?) {
        guard let attention = bill.attention, attention.what != before?.attention?.what else { return }
        Counter(label: "payment_faults_total", dimensions: [("what", attention.what.rawValue)]).increment()
        logger.error(
            "a payment waits for the operator: trackme payment list --attention",
            metadata: ["payment": "\(bill.payment)", "what": "\(attention.what.rawValue)", "reason": "\(attention.reason ?? "")"])
    }

    // MARK: Notifications of payment providers

    /// A notification that has been proved; again changes nothing.
    func receive(_ provider: String, _ reference: String, _ word: ProviderStatus) async throws {
        guard let found = try await store.read({ [table = paymentStore.table] db in try table.find(db, provider, reference: reference) })
        else { return }
        _ = try await take(word, of: found.payment, attempt: found.attempt, answering: nil)
    }

    /// A notification that has not been proved, or that says less than the handler can tell by now: the handler itself is asked.
    func hinted(_ provider: String, _ reference: String) async throws {
        // Anybody may hint: what means nobody here does not cost a write.
        guard try await store.read({ [table = paymentStore.table] db in try table.find(db, provider, reference: reference) }) != nil
        else { return }
        try await store.write { [paymentStore] db in
            guard let found = try paymentStore.table.find(db, provider, reference: reference),
                let bill = try paymentStore.table.find(db, found.payment)?.bill,
                let attempt = bill.attempts.first(where: { $0.number == found.attempt }),
                bill.wants(.look, found.attempt) || bill.wants(.review, found.attempt)
            else { return }
            try paymentStore.look(db, bill, attempt)
        }
    }
}
