// Asking people through consent: every form is written down first and asked under one question id until consent has answered.

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage

/// What consent is asked about requests; in tests somebody plays it.
struct RequestBusRoutes: Sendable {
    /// Repeated under the same id, consent gives its first answer again.
    var open: @Sendable (_ question: String, OpenRequest) async throws -> OpenRequest.Reply
    var end: @Sendable (_ question: String, EndRequest) async throws -> RequestState

    init(
        open: @escaping @Sendable (_ question: String, OpenRequest) async throws -> OpenRequest.Reply,
        end: @escaping @Sendable (_ question: String, EndRequest) async throws -> RequestState
    ) {
        (self.open, self.end) = (open, end)
    }

    init(on runtime: Runtime) async throws {
        let consent = try await runtime.client(of: .consent)
        @Sendable func ask<R: BusRequest>(_ question: String, _ asked: R) async throws -> R.Reply {
            // Consent answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
            let answer = try await consent.ask(
                id: question, method: R.method, body: Array(try JSONEncoder().encode(asked)), trace: String(question.prefix(16)),
                deadline: .seconds(2), attempts: 2)
            return try JSONDecoder().decode(R.Reply.self, from: Data(answer))
        }
        self.init(open: { try await ask($0, $1) }, end: { try await ask($0, $1) })
    }
}

struct RequestService: Sendable {
    /// Forms that consent is asked about at the same time.
    private static let atOnce = 8
    /// While consent does not answer.
    private static let backoff = Backoff(.milliseconds(250), upTo: .seconds(15))
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(10)
    /// How long a list that is settled can be looked at.
    static let listKept = Duration.seconds(30 * 86_400)

    let store: Store
    let vault: RequestVault
    let events: RequestEventStore
    let payments: PaymentRepository
    let questions: RequestBusRoutes
    let sealer: RequestSealer
    let firstAnswers: FirstAnswers<JobID>
    let logger: Logger
    let clock: @Sendable () -> Timestamp
    private let wakeUp = WakeUpSignal()
    private let table = RequestStore()
    private let pending = PendingRequestStore()

    init(
        store: Store, vault: RequestVault, events: RequestEventStore, payments: PaymentRepository, questions: RequestBusRoutes,
        sealer: RequestSealer, firstAnswers: FirstAnswers<JobID>, logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.vault, self.events, self.payments) = (store, vault, events, payments)
        (self.questions, self.sealer, self.firstAnswers) = (questions, sealer, firstAnswers)
        (self.logger, self.clock) = (logger, clock)
    }

    // MARK: Sending

    /// Keeps the forms of one list; each of them will be asked, whatever is killed when.
    /// - Parameters:
    ///   - priceListVersion: of the price that was shown; nil where none was asked for.
    ///   - request: tells a repetition of the same list.
    /// - Returns: the list; the first one where it was sent before.
    func send(
        _ forms: [RequestForm], of standing: Standing, priceListVersion: Int?, _ request: RepeatableRequest
    ) async throws -> (list: JobID, isRepeated: Bool) {
        let now = clock()
        let batch = RequestBatch(
            id: .random(), organisation: standing.id, organisationName: standing.name, persons: forms.count,
            priceListVersion: priceListVersion, createdAt: now)
        let drafts = try forms.map { form in
            let question = Self.randomQuestion()
            return (question, try vault.seal(RequestDraft(form: form, askedBy: standing.actor), of: question))
        }
        return try await store.write { [pending, payments, firstAnswers] db in
            if let first = try firstAnswers.find(db, request) { return (first, true) }
            for form in forms {
                try payments.check(db, form.scope, persons: forms.count, version: priceListVersion)
            }
            try pending.add(db, batch)
            for (place, (question, sealed)) in drafts.enumerated() {
                try pending.add(db, batch.id, place: place, question: question, form: sealed)
            }
            try firstAnswers.remember(db, batch.id, of: request, status: 202, at: now)
            return (batch.id, false)
        }
    }

    /// The list's one form, asked at once: settled, or still waiting where consent is silent.
    func askNow(_ batch: JobID) async throws -> PendingRequest? {
        guard let entry = try await store.read({ [pending] db in try pending.requests(db, of: batch, limit: 1) }).first else { return nil }
        guard entry.outcome == nil else { return entry }
        if try await !ask(entry) { wakeUp.notify() }
        return try await store.read { [pending] db in try pending.find(db, question: entry.question) }
    }

    /// There is something to ask.
    func wake() {
        wakeUp.notify()
    }

    /// Asks what waits, until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.pollInterval, signal: wakeUp, backoff: Self.backoff).run {
            let waiting = try await store.write { [pending, clock] db in
                try pending.expire(db, before: clock() - Self.listKept)
                return try pending.waiting(db, limit: Self.atOnce)
            }
            guard !waiting.isEmpty else { return .whenWoken }
            let areAnswered = try await withThrowingTaskGroup(of: Bool.self) { group in
                for entry in waiting { group.addTask { try await ask(entry) } }
                return try await group.reduce(true) { $0 && $1 }
            }
            return areAnswered ? .atOnce : .backOff
        }
    }

    /// False where consent did not answer.
    private func ask(_ entry: PendingRequest) async throws -> Bool {
        guard let sealed = entry.form else { return true }
        let draft = try vault.open(sealed, of: entry.question)
        let form = draft.form
        do {
            let reply = try await questions.open(
                Hex.encode(entry.question),
                OpenRequest(
                    organisation: entry.organisation, organisationName: entry.organisationName, fiscalCode: form.fiscalCode,
                    types: form.types, from: form.from, to: form.to, granularity: form.granularity, purpose: form.purpose))
            try await opened(entry, draft, reply)
            return true
        } catch let failure as Failure {
            return try await refused(entry, draft, failure)
        }
    }

    private func opened(_ entry: PendingRequest, _ draft: RequestDraft, _ reply: OpenRequest.Reply) async throws {
        let particulars = RequestParticulars(
            fiscalCode: draft.form.fiscalCode, purpose: draft.form.purpose, askedBy: draft.askedBy)
        let sealed = try vault.seal(particulars, of: reply.request)
        try await store.write { [table, pending, payments, events, clock] db in
            guard try pending.settle(db, entry.question, .opened, request: reply.request, detail: nil) else { return }
            let form = draft.form
            if try table.find(db, reply.request) == nil {
                let now = clock()
                try table.add(
                    db,
                    MadeRequest(
                        id: reply.request, organisation: entry.organisation, person: nil, asked: form.types, types: form.types,
                        from: form.from, to: form.to, granularity: form.granularity, isSubscription: reply.isSubscription,
                        status: .pending, grant: nil, answerBy: reply.answerBy, createdAt: now, changedAt: now, paidAt: nil,
                        deliveredAt: nil))
            }
            guard let known = try table.find(db, reply.request) else { return }
            // What is over and names nobody was about somebody who is erased by now: nothing is kept of whom it was about.
            if known.isOpen || known.person != nil {
                try table.keep(db, sealed, isSubscription: reply.isSubscription, of: reply.request)
            }
            guard let request = try table.find(db, reply.request) else { return }
            try payments.asked(db, PayableRequest(request), persons: entry.persons, priceListVersion: entry.priceListVersion)
            // Refused while its answer was on its way: what was opened just now costs nothing.
            if request.status == .declined || request.status == .expired { try events.closed(db, request) }
            events.releases.notifyWatchers(db, of: entry.organisation)
        }
        sealer.wake()
    }

    private func refused(_ entry: PendingRequest, _ draft: RequestDraft, _ failure: Failure) async throws -> Bool {
        let outcome: PendingRequestOutcome
        var request: RequestID?
        switch failure.code {
        case .notFound: outcome = .noSuchPerson
        case .forbidden: outcome = .tooManyUnknown
        case .conflict:
            request = failure.reason.split(separator: " ").last.flatMap { RequestID($0) }
            outcome = request == nil ? .refused : .covered
            if let request, try await isOwn(request, draft) {
                // Consent had opened it and has forgotten the question since: this is its answer.
                try await adopt(entry, draft, request)
                return true
            }
        case .invalid: outcome = .refused
        case .unavailable, .deadline, .unknownMethod, .internal:
            logger.notice("consent did not answer a request", metadata: ["code": "\(failure.code.rawValue)"])
            return false
        }
        let detail = outcome == .refused ? failure.reason : nil
        try await store.write { [pending, request] db in
            _ = try pending.settle(db, entry.question, outcome, request: request, detail: detail)
        }
        return true
    }

    /// Whether the request that covers a form is the form's own, opened by a question whose answer was lost.
    private func isOwn(_ request: RequestID, _ draft: RequestDraft) async throws -> Bool {
        guard let stored = try await store.read({ [table] db in try table.stored(db, request) }) else { return false }
        let made = stored.request
        return stored.particulars == nil && made.isOpen && made.asked == draft.form.types && made.from == draft.form.from
            && made.to == draft.form.to && made.granularity == draft.form.granularity
    }

    private func adopt(_ entry: PendingRequest, _ draft: RequestDraft, _ id: RequestID) async throws {
        guard let made = try await store.read({ [table] db in try table.find(db, id) }) else { return }
        try await opened(
            entry, draft,
            OpenRequest.Reply(request: id, status: made.status, isSubscription: made.isSubscription, answerBy: made.answerBy))
    }

    static func randomQuestion() -> [UInt8] {
        Array(JobID.random().bytes)
    }

    // MARK: Ending

    /// The organisation stops by itself (SHR-25), or has everything. Stopping again is the same as once.
    /// - Throws: `Failure` as consent gave it.
    func end(_ request: RequestID, of organisation: OrganisationID) async throws {
        // The question's id follows from the request, so that a repetition after a crash gets the first answer.
        let question = Hex.encode(Digest.sha256(Array("end-request \(request)".utf8)).prefix(16))
        let state = try await questions.end(question, EndRequest(organisation: organisation, request: request))
        try await store.write { [events] db in try events.take(db, state, person: nil) }
    }
}

extension RequestForm {
    var scope: RequestScope { RequestScope(types: types, from: from, to: to, granularity: granularity) }
}

extension MadeRequest {
    /// As it was asked.
    var scope: RequestScope { RequestScope(types: asked, from: from, to: to, granularity: granularity) }
}
