// What happens to requests and grants: fetch, ask the domain, one transaction.

import Bus
import Contracts
import Logging
import Sealing
import ServiceKit
import Storage

/// Who gives an answer: the person, or for a child the guardian, by a link of their own.
enum AnswerSource: Sendable {
    case person, guardian

    var actor: ConsentActor { self == .person ? .person : .guardian }
}

/// A request with what the person is shown of it.
struct ShownRequest: Sendable {
    let row: StoredRequest
    let details: RequestDetails
}

/// Single-person requests from their opening to their end (SHR). Every method is one transaction of the store, which has one
/// writer, so that two answers, or an answer and the clock, never meet.
struct SharingService: Sendable {
    /// What came of something that the person asked for.
    enum Outcome: Sendable {
        case done(StoredRequest, RequestDetails)
        /// It was so already.
        case unchanged(StoredRequest, RequestDetails)
        case refused(RequestRefusal)
        /// A child cannot accept; the guardian can (ACC-36).
        case guardianMustAnswer
        case notFound
    }

    let store: Store
    let settings: SharingSettings
    let repository: SharingRepository
    let answers: StoredAnswers
    let unknownCodes: LookupKey
    let wakeUp: WakeUpSignal
    let logger: Logger
    let clock: @Sendable () -> Timestamp
    private let table = SharingStore()

    /// - Parameter unknownCodes: hides the fiscal codes of nobody that were asked for, which are counted.
    init(
        store: Store, settings: SharingSettings, repository: SharingRepository, answers: StoredAnswers, unknownCodes: LookupKey,
        logger: Logger, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, self.settings, self.repository) = (store, settings, repository)
        (self.answers, self.unknownCodes, self.logger, self.clock) = (answers, unknownCodes, logger, clock)
        wakeUp = WakeUpSignal()
    }

    // MARK: Opening

    /// Puts a request before a person (SHR-01 to SHR-03, SHR-18).
    func open(_ asked: OpenRequest, _ context: RequestContext) async throws -> OpenRequest.Reply {
        let now = clock()
        let form: RequestForm
        do {
            form = try RequestForm(asked, at: now)
        } catch {
            throw Failure(.invalid, "\(error.field): \(error.detail)")
        }
        // A refusal is a value: what is counted and what has expired is kept.
        let opening = try await store.write { [self] db -> Result<OpenRequest.Reply, Failure> in
            let moment = SharingRepository.Moment(now: now, trace: context.trace)
            let day = now.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient
            guard try table.unknownCodes(db, of: form.organisation, day: day) < settings.unknownPerDay else {
                return .failure(
                    Failure(
                        .forbidden,
                        "too many unknown fiscal codes were asked for today (at most \(settings.unknownPerDay)); ask again tomorrow"))
            }
            guard let person = try repository.people.withFiscalCode(db, form.fiscalCode, now),
                let key = try repository.keys.key(of: person.person)
            else {
                try table.noteUnknown(db, unknownCodes.lookup(form.fiscalCode.uppercased()), of: form.organisation, day: day)
                return .failure(Failure(.notFound, "fiscalCode: no such person; check the code"))
            }
            let earlier = try table.all(db, of: person.account, by: form.organisation).map { row in
                guard row.request.isOverdue(at: now) else { return row.request }
                var late = row
                try repository.expire(db, &late, moment)
                return late.request
            }
            if let reason = RequestHistory(earlier).refusal(of: form.scope, at: now, wait: settings.retryWait) {
                return .failure(Failure(.conflict, reason.text))
            }
            let request = SharingRequest(
                id: .random(), organisation: form.organisation, person: person.person, scope: form.scope, granularity: form.granularity,
                openedAt: now, answerWithin: settings.answerTime)
            let details = RequestDetails(organisationName: form.organisationName, purpose: form.purpose)
            let sealed = try SharingRepository.seal(details, of: request.id, key: key)
            try repository.opened(db, request, by: person, details, sealed: sealed, moment)
            let reply = OpenRequest.Reply(
                request: request.id, status: request.status, isSubscription: request.scope.isSubscription(at: now),
                answerBy: request.answerBy)
            try answers.remember(reply, to: context, in: db)
            return .success(reply)
        }
        switch opening {
        case .success(let reply):
            wakeUp.notify()
            logger.notice("a request was opened", metadata: ["request": "\(reply.request)", "trace": "\(context.trace)"])
            return reply
        case .failure(let failure):
            if failure.code == .notFound || failure.code == .forbidden {
                logger.notice(
                    "a request names an unknown fiscal code",
                    metadata: ["organisation": "\(asked.organisation)", "trace": "\(context.trace)"])
            }
            throw failure
        }
    }

    // MARK: What the organisation asks later

    /// The state of one's own request; a request of another organisation does not exist for this one.
    func read(_ asked: ReadRequest) async throws -> RequestState {
        let row = try await store.readBriefly { [table] db in try table.find(db, asked.request) }
        guard var row, row.request.organisation == asked.organisation else { throw Failure(.notFound, "there is no such request") }
        // The clock's word may not be written down yet, but it counts.
        if row.request.isOverdue(at: clock()) { try? row.request.expired(at: clock()) }
        return RequestState(row.request, receipt: nil)
    }

    /// The organisation stops, or has delivered everything (SHR-15, SHR-25). Stopping again is the same as once.
    func end(_ asked: EndRequest, _ context: RequestContext) async throws -> RequestState {
        let now = clock()
        return try await store.write { [self] db -> RequestState in
            guard var row = try table.find(db, asked.request), row.request.organisation == asked.organisation else {
                throw Failure(.notFound, "there is no such request")
            }
            if row.request.status != .ended {
                do {
                    try row.request.ended(at: now)
                } catch {
                    throw Failure(.conflict, "only an approved request can be ended; this one is \(row.request.status.rawValue)")
                }
                try repository.changed(
                    db, row, by: .organisation, notice: .grantEnded, SharingRepository.Moment(now: now, trace: context.trace))
            }
            let state = RequestState(row.request, receipt: nil)
            try answers.remember(state, to: context, in: db)
            return state
        }
    }

    // MARK: What the person decides

    /// Accepts or denies (SHR-06). The first answer stands; the same answer again changes nothing.
    func answer(
        _ id: RequestID, of person: PersonID, accept: Bool, by source: AnswerSource = .person, trace: String
    ) async throws -> Outcome {
        let now = clock()
        return try await change(id, of: person, now, trace) { row, child in
            if accept, child, source == .person, row.request.status == .pending, now < row.request.answerBy { throw GuardianMustAnswer() }
            do throws(RequestRefusal) {
                if accept { try row.request.accepted(as: .random(), at: now) } else { try row.request.denied(at: now) }
                // A stolen token is enough to accept: whoever did not do it hears of it where the thief does not read.
                return Transition(by: source.actor, notice: accept ? .accessGiven : nil)
            } catch {
                guard case .alreadyAnswered(let accepted, _) = error, accepted == accept else { throw error }
                return nil
            }
        }
    }

    /// Withdraws a grant wholly, or single types of it (SHR-16). Withdrawing again changes nothing.
    func withdraw(_ grant: GrantID, of person: PersonID, types: Set<Metric>? = nil, trace: String) async throws -> Outcome {
        let now = clock()
        let id = try await store.readBriefly { [table] db in try table.find(db, grant: grant)?.request.id }
        guard let id else { return .notFound }
        return try await change(id, of: person, now, trace) { row, _ in
            guard row.request.status != .revoked else { return nil }
            guard let types else {
                try row.request.withdrawn(at: now)
                return Transition(by: .person)
            }
            guard try row.request.withdrawn(types, at: now) else { return nil }
            return Transition(event: .withdrawn, by: .person)
        }
    }

    private struct Transition {
        var event: ConsentEvent?
        var by: ConsentActor
        var notice: MessageTemplate?
    }

    private struct GuardianMustAnswer: Error {}

    /// One transition of one of the person's own requests. `decide` gives nil where nothing changes.
    private func change(
        _ id: RequestID, of person: PersonID, _ now: Timestamp, _ trace: String,
        _ decide: @escaping @Sendable (inout StoredRequest, _ isChild: Bool) throws -> Transition?
    ) async throws -> Outcome {
        try await store.write { [self] db -> Outcome in
            guard var row = try table.find(db, id), row.request.person == person else { return .notFound }
            let moment = SharingRepository.Moment(now: now, trace: trace)
            let details = try repository.details(of: row)
            guard !row.request.isOverdue(at: now) else {
                // Committed, so that what the person is told now stays true.
                let since = row.request.answerBy
                try repository.expire(db, &row, moment)
                return .refused(.noLongerOpen(since: since))
            }
            do {
                let isChild = try repository.people.withID(db, person, now)?.needsGuardian ?? false
                guard let transition = try decide(&row, isChild) else { return .unchanged(row, details) }
                try repository.changed(db, row, event: transition.event, by: transition.by, notice: transition.notice, moment)
                return .done(row, details)
            } catch let refusal as RequestRefusal {
                return .refused(refusal)
            } catch is GuardianMustAnswer {
                return .guardianMustAnswer
            }
        }
    }

    // MARK: What the person sees

    /// All requests ever received, newest first (ACC-20); `next` is what to go on before.
    func requests(
        of person: PersonID, pending: Bool?, before: Int64?, limit: Int
    ) async throws -> (rows: [ShownRequest], next: Int64?) {
        let now = clock()
        return try await store.read { [self] db -> ([ShownRequest], Int64?) in
            guard let account = try repository.people.withID(db, person, now)?.account else { return ([], nil) }
            let found = try table.page(db, of: account, pending: pending, before: before, limit: limit + 1)
            let rows = try found.prefix(limit).map { row in ShownRequest(row: row, details: try repository.details(of: row)) }
            return (rows, found.count > limit ? rows.last?.row.number : nil)
        }
    }

    func request(_ id: RequestID, of person: PersonID) async throws -> ShownRequest? {
        try await store.readBriefly { [self] db -> ShownRequest? in
            guard let row = try table.find(db, id), row.request.person == person else { return nil }
            return ShownRequest(row: row, details: try repository.details(of: row))
        }
    }

    /// Who may see what now (ACC-21).
    func grants(of person: PersonID) async throws -> [ShownRequest] {
        let now = clock()
        return try await store.read { [self] db -> [ShownRequest] in
            guard let account = try repository.people.withID(db, person, now)?.account else { return [] }
            return try table.inForce(db, of: account).map { ShownRequest(row: $0, details: try repository.details(of: $0)) }
        }
    }
}
