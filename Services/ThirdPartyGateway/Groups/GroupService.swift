// Asking the anonymiser for the data of groups: every form is written down first and asked under one id until there is an answer.

import Contracts
import Logging
import ServiceKit
import Storage

/// A group request as its organisation sees it.
struct ShownGroupRequest: Sendable {
    let stored: StoredGroupRequest
    let draft: GroupDraft
    /// Nil until the anonymiser has answered.
    let outcome: ReleaseGroup.Reply?
    /// Of what was released or opened.
    let bill: Bill?
    /// Whether the period of a subscription is over.
    let isOver: Bool

    /// Of a subscription: by its organisation, or since its period is over. The last windows may come some minutes later.
    var isEnded: Bool { isOver || stored.endedAt != nil }
}

struct GroupService: Sendable {
    /// Forms that the anonymiser is asked about at the same time.
    private static let atOnce = 4
    /// While the anonymiser does not answer.
    private static let backoff = Backoff(.milliseconds(250), upTo: .seconds(15))
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(10)
    /// A release of a million people takes seconds.
    private static let longestAnswer = Duration.seconds(10)
    /// How long a request of which nothing came can be looked at.
    static let refusedKept = Duration.seconds(30 * 86_400)

    let store: Store
    let vault: GroupVault
    let payments: PaymentRepository
    let organisations: OrganisationRepository
    let questions: GroupQuestions
    let firstAnswers: FirstAnswers<GroupRequestID>
    let hub: FeedHub
    let logger: Logger
    let clock: @Sendable () -> Timestamp
    private let wakeUp = WakeUpSignal()
    private let table = GroupRequestStore()
    private let windowTable = GroupWindowStore()

    init(
        store: Store, vault: GroupVault, payments: PaymentRepository, organisations: OrganisationRepository, questions: GroupQuestions,
        firstAnswers: FirstAnswers<GroupRequestID>, hub: FeedHub, logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.vault, self.payments, self.questions) = (store, vault, payments, questions)
        (self.organisations, self.firstAnswers, self.hub, self.logger, self.clock) = (organisations, firstAnswers, hub, logger, clock)
    }

    // MARK: Asking

    /// Keeps the form, whatever is killed when, and asks at once.
    /// - Parameter request: tells a repetition of the same form.
    /// - Returns: it as it is then, `sending` where the anonymiser is silent; nil where its organisation is gone meanwhile.
    /// - Throws: `statistics-only`; then nothing is kept.
    func submit(
        _ form: TypedGroupForm, of standing: Standing, _ request: RepeatableRequest
    ) async throws -> (shown: ShownGroupRequest?, isRepeated: Bool) {
        let (now, new) = (clock(), GroupRequestID.random())
        let draft = try vault.seal(GroupDraft(form: form, askedBy: standing.actor), of: new)
        let (id, isRepeated) = try await store.write { [organisations, table, firstAnswers] db -> (GroupRequestID, Bool) in
            guard try organisations.groupProducts(db, standing.id).allows(form.product) else { throw Problem.statisticsOnly }
            if let first = try firstAnswers.find(db, request) { return (first, true) }
            try table.add(db, new, of: standing.id, draft: draft, at: now)
            try firstAnswers.remember(db, new, of: request, status: 201, at: now)
            return (new, false)
        }
        let waiting = try await store.read { [table] db in try table.find(db, id) }
        if let waiting, waiting.status == .sending, try await !ask(waiting) { wakeUp.notify() }
        return (try await find(id, of: standing.id), isRepeated)
    }

    /// Asks what waits, until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.pollInterval, signal: wakeUp, backoff: Self.backoff).run {
            let waiting = try await store.write { [table, clock] db in
                try table.expire(db, before: clock() - Self.refusedKept)
                return try table.waiting(db, limit: Self.atOnce)
            }
            let areEnded = try await endOwed()
            guard !waiting.isEmpty else { return areEnded ? .whenWoken : .backOff }
            let areAnswered = try await withThrowingTaskGroup(of: Bool.self) { group in
                for request in waiting { group.addTask { try await ask(request) } }
                return try await group.reduce(true) { $0 && $1 }
            }
            return areAnswered && areEnded ? .atOnce : .backOff
        }
    }

    /// False where the anonymiser did not answer.
    private func ask(_ stored: StoredGroupRequest) async throws -> Bool {
        // As of when it was sent, however often it is asked: whether its period was over then makes it a subscription or not.
        let form = try vault.draft(stored).form.read(at: stored.createdAt)
        let guardsAtoms = try await products(of: stored.organisation) == .guarded ? true : nil
        do {
            let reply = try await questions.release(
                ReleaseGroup(request: stored.id, organisation: stored.organisation, form: form, guardsAtoms: guardsAtoms))
            if let status = GroupRequestStatus(reply) {
                try await settle(stored, status, reply)
                return true
            }
            logger.error("the anonymiser's answer to a group request says nothing")
        } catch let failure as Failure {
            logger.notice("the anonymiser did not answer a group request", metadata: ["code": "\(failure.code.rawValue)"])
        }
        try await store.write { [table, clock] db in try table.triedInVain(db, stored.id, at: clock()) }
        return false
    }

    /// The answer, and with it what its data cost, in one transaction.
    private func settle(_ stored: StoredGroupRequest, _ status: GroupRequestStatus, _ reply: ReleaseGroup.Reply) async throws {
        let sealed = try vault.seal(reply, of: stored.id)
        try await store.write { [table, payments, clock] db in
            let isNew = try table.settle(
                db, stored.id, status, outcome: sealed, isSubscription: reply.subscription != nil, at: clock())
            guard isNew else { return }
            if let release = reply.release {
                try payments.released(
                    db, GroupScope(request: stored.id, entries: release.entries), of: stored.organisation, from: release.from,
                    to: release.to)
            } else if let opened = reply.subscription {
                // It is paid once, whatever its windows hold: nobody knows that yet, and some may be withheld.
                try payments.released(
                    db, GroupScope(request: stored.id, entries: 0), of: stored.organisation, from: opened.from, to: opened.to)
            }
        }
    }

    /// That the anonymiser keeps organisations waiting, for whoever looks at the gateway alone.
    func remarks() async -> [String] {
        let waiting = try? await store.readBriefly { [table, clock] db in try table.waiting(db, since: clock() - Self.longestAnswer) }
        guard let waiting, waiting > 0 else { return [] }
        return [(waiting == 1 ? "a group request waits" : "\(waiting) group requests wait") + " for the anonymiser's answer"]
    }

    // MARK: Ending

    /// No further window comes once the anonymiser has heard of it, which may be later. Nothing happens to what is no subscription, and
    /// again is the same as once.
    /// - Returns: it as it is then; nil where there is none, or it is another organisation's.
    func end(_ id: GroupRequestID, of organisation: OrganisationID) async throws -> ShownGroupRequest? {
        let now = clock()
        let isNew = try await store.write { [table, windowTable] db -> Bool in
            guard let stored = try table.find(db, id), stored.organisation == organisation, try table.end(db, id, at: now) else {
                return false
            }
            try windowTable.owe(db, id, of: organisation, at: now)
            return true
        }
        if isNew, try await !tellEnd(EndGroupSubscription(request: id, organisation: organisation)) { wakeUp.notify() }
        return try await find(id, of: organisation)
    }

    /// False where the anonymiser did not answer.
    private func endOwed() async throws -> Bool {
        let owed = try await store.read { [windowTable] db in try windowTable.owed(db, limit: Self.atOnce) }
        var areTold = true
        for ending in owed { areTold = try await tellEnd(ending) && areTold }
        if areTold, owed.count == Self.atOnce { wakeUp.notify() }
        return areTold
    }

    private func tellEnd(_ ending: EndGroupSubscription) async throws -> Bool {
        do {
            try await questions.end(ending)
        } catch let failure as Failure where failure.code != .notFound {
            logger.notice("the anonymiser was not told that a subscription ends", metadata: ["code": "\(failure.code.rawValue)"])
            try await store.write { [windowTable, clock] db in try windowTable.triedInVain(db, ending.request, at: clock()) }
            return false
        } catch is Failure {
            // It was never opened.
        }
        try await store.write { [windowTable] db in try windowTable.told(db, ending.request) }
        return true
    }

    // MARK: Looking

    /// Nil where there is none, or it is another organisation's.
    func find(_ id: GroupRequestID, of organisation: OrganisationID) async throws -> ShownGroupRequest? {
        try await store.read { [self] db in
            guard let stored = try table.find(db, id), stored.organisation == organisation else { return nil }
            return try shown(stored, payments.bill(db, of: id.billed))
        }
    }

    /// Newest first.
    func list(of organisation: OrganisationID, before: Int64?, limit: Int) async throws -> (items: [ShownGroupRequest], next: Int64?) {
        try await store.read { [self] db in
            let rows = try table.page(db, of: organisation, before: before, limit: limit + 1)
            let items = try rows.prefix(limit).map { try shown($0, payments.bill(db, of: $0.id.billed)) }
            return (items, rows.count > limit ? items.last?.stored.number : nil)
        }
    }

    private func shown(_ stored: StoredGroupRequest, _ bill: Bill?) throws -> ShownGroupRequest {
        let outcome = try vault.outcome(stored)
        let end = outcome?.subscription?.to
        return ShownGroupRequest(
            stored: stored, draft: try vault.draft(stored), outcome: outcome, bill: bill, isOver: end.map { $0 <= clock() } ?? false)
    }

    /// The windows of a subscription, in their order.
    /// - Parameter after: the last number that the caller has; `cursor-ahead` above the last that was given.
    /// - Returns: nil where there is no such request, or it is another organisation's.
    func windows(
        of id: GroupRequestID, _ organisation: OrganisationID, after: Int, limit: Int
    ) async throws -> (items: [GroupWindow], next: Int?)? {
        try await store.read { [table, windowTable] db in
            guard let stored = try table.find(db, id), stored.organisation == organisation else { return nil }
            let rows = try windowTable.windows(db, of: id, after: after, limit: limit + 1)
            if rows.isEmpty, after > 0 {
                let head = try windowTable.head(db, of: id)
                guard after <= head else { throw Problem.cursorAhead(of: Int64(head)) }
            }
            let items = Array(rows.prefix(limit))
            return (items, rows.count > limit ? items.last?.sequence : nil)
        }
    }

    /// How far a subscription is: the number of its last window, 0 before the first.
    /// - Returns: nil for what is none, or another organisation's.
    func progress(of id: GroupRequestID, _ organisation: OrganisationID) async throws -> (head: Int, isEnded: Bool)? {
        guard let shown = try await find(id, of: organisation), shown.outcome?.subscription != nil else { return nil }
        let head = try await store.read { [windowTable] db in try windowTable.head(db, of: id) }
        return (head, shown.isEnded)
    }

    /// What the organisation may ask for. - Throws: `Failure`.
    func catalogue(of organisation: OrganisationID) async throws -> ReadGroupCatalogue.Reply {
        let allowed = try await products(of: organisation)
        var reply = try await questions.catalogue(ReadGroupCatalogue())
        reply.products.removeAll { !allowed.allows($0) }
        return reply
    }

    private func products(of organisation: OrganisationID) async throws -> GroupProducts {
        try await store.readBriefly { [organisations] db in try organisations.groupProducts(db, organisation) }
    }

    // MARK: Reading

    /// What entries are of.
    struct Released: Sendable {
        let types: [String]
        let attributes: [String]
    }

    /// Of entries that may leave now (ANO-12).
    /// - Parameter window: of a subscription alone.
    /// - Throws: `not-found`, `statistics-only`, `group-not-released`, or the problem of a `DataAccess.Refusal`.
    func released(_ id: GroupRequestID, of organisation: OrganisationID, window: Int?) async throws -> Released {
        guard let shown = try await find(id, of: organisation) else { throw Problem.absent }
        let product = shown.outcome?.release?.product ?? shown.outcome?.subscription?.product
        if let product, try await !products(of: organisation).allows(product) { throw Problem.statisticsOnly }
        guard let released = try await released(shown, window) else {
            if shown.outcome?.subscription != nil {
                throw Problem.groupNotReleased.saying(
                    "Name a window that is released: see the list of windows.",
                    italian: "Indichi una finestra rilasciata: veda l'elenco delle finestre.")
            }
            throw Problem.groupNotReleased.saying(
                "It is \(shown.stored.status.rawValue). Look at the request; send another one with other filters.",
                italian: "È nello stato \(shown.stored.status.rawValue). Guardi la richiesta; ne invii un'altra con altri filtri.")
        }
        guard shown.bill?.status == .paid else {
            try await requireRelease(shown)
            throw (shown.bill?.hold.map { DataAccess.Refusal.held($0) } ?? .paymentOutstanding).problem
        }
        return released
    }

    /// Nil where nothing is released.
    private func released(_ shown: ShownGroupRequest, _ window: Int?) async throws -> Released? {
        guard let window else { return shown.outcome?.release.map { Released(types: $0.types, attributes: $0.attributes) } }
        guard let subscription = shown.outcome?.subscription else { return nil }
        let id = shown.stored.id
        let told = try await store.read { [windowTable] db in try windowTable.find(db, window, of: id) }
        guard told?.status == .released else { return nil }
        return Released(types: subscription.types, attributes: subscription.attributes)
    }

    /// One page of the entries. Looked at anew before each: what was paid may go back meanwhile.
    /// - Throws: as `released`; `group-release-lost`; `DataRefusal`.
    func page(
        _ id: GroupRequestID, of organisation: OrganisationID, window: Int?, after: String?, limit: Int
    ) async throws -> ReadGroupRelease.Reply {
        _ = try await released(id, of: organisation, window: window)
        let reply: ReadGroupRelease.Reply
        do {
            reply = try await questions.read(
                ReadGroupRelease(
                    request: id, organisation: organisation, after: after, limit: min(limit, ReadGroupRelease.mostEntries),
                    window: window))
        } catch let failure as Failure {
            switch failure.code {
            case .invalid: throw DataRefusal.invalid(failure.reason)
            // It keeps what it releases before it says so: a copy of its store from before that time was put in its place.
            case .notFound:
                if window == nil { try await dropBill(of: id) }
                throw Problem.groupReleaseLost
            case .forbidden, .conflict, .unavailable, .deadline, .internal, .unknownMethod: throw DataRefusal.silent
            }
        }
        if !reply.entries.isEmpty { try await noteDelivery(of: id) }
        return reply
    }

    /// Before somebody pays for what was released: nobody pays for what is lost.
    /// - Throws: `group-release-lost`.
    func review(_ bill: StoredBill) async throws {
        guard let group = bill.scope.group, let shown = try await find(group.request, of: bill.bill.organisation) else { return }
        try await requireRelease(shown)
    }

    /// - Throws: `group-release-lost` where the anonymiser has it no more; while it is silent it may be there.
    private func requireRelease(_ shown: ShownGroupRequest) async throws {
        let (id, organisation) = (shown.stored.id, shown.stored.organisation)
        guard shown.outcome?.release != nil else { return }
        do {
            _ = try await questions.read(ReadGroupRelease(request: id, organisation: organisation, after: nil, limit: 0, window: nil))
        } catch let failure as Failure where failure.code == .notFound {
            try await dropBill(of: id)
            throw Problem.groupReleaseLost
        } catch is Failure {}
    }

    /// Nothing is owed for what is lost, and what was paid goes back, unless some of it was fetched.
    private func dropBill(of id: GroupRequestID) async throws {
        try await store.write { [payments] db in try payments.undeliverable(db, id.billed) }
    }

    /// From the first entry on, what was paid does not go back by itself: both in one transaction, or nothing leaves.
    private func noteDelivery(of id: GroupRequestID) async throws {
        let isNoted = try await store.readBriefly { [payments] db in try payments.bill(db, of: id.billed)?.isDelivered }
        guard isNoted == false else { return }
        try await store.write { [payments] db in
            guard try payments.isPaid(db, id.billed) else { throw DataAccess.Refusal.paymentOutstanding }
            try payments.delivered(db, id.billed)
        }
    }
}

extension GroupRequestStatus {
    /// Nil for an answer that says nothing.
    init?(_ reply: ReleaseGroup.Reply) {
        switch (reply.release, reply.refusal, reply.faults, reply.subscription) {
        case (.some, nil, nil, nil), (nil, nil, nil, .some): self = .accepted
        case (nil, .some, nil, nil): self = .refused
        case (nil, nil, .some(let faults), nil) where !faults.isEmpty: self = .invalid
        default: return nil
        }
    }
}
