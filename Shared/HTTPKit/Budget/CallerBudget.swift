// How much of one server its callers may have at once: requests, bodies under way and their bytes, event streams, processor time.

import Contracts
import Synchronization

/// Counts what each caller holds, and what all hold together. Whoever asks for more than there is gets 429 where it is their own share
/// that is used up, 503 where it is the server's. A caller who uses the reserve is bounded like every other.
final class CallerBudget: Sendable {
    /// What is counted.
    struct Held: Sendable {
        var requests = 0
        var bodies = 0
        var bytes = 0
        var streams = 0
        var processor = ProcessorDebt()

        fileprivate var isNothing: Bool { requests == 0 && bodies == 0 && bytes == 0 && streams == 0 }
    }

    private struct State {
        var holders: [BudgetHolder: Held] = [:]
        var all = Held()
    }

    private let limits: HTTPLimits
    private let state = Mutex(State())

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// Leave to work on one request; what it holds is given back by `BudgetPermit.release`.
    /// - Parameters:
    ///   - isReserved: may use the reserve, and is not refused for the processor time that its caller has used.
    ///   - hasBodyUnderWay: a body that is still coming.
    func admit(
        _ holder: BudgetHolder, isReserved: Bool, hasBodyUnderWay: Bool, at now: ContinuousClock.Instant = .now
    ) throws(Refusal) -> BudgetPermit {
        let most = limits.requests(of: holder)
        let bodies = limits.bodies + (isReserved ? limits.reserve : 0)
        let refusal = state.withLock { state -> Refusal? in
            var held = state.holders[holder, default: Held()]
            guard held.requests < most, !hasBodyUnderWay || held.bodies < limits.bodiesPerCaller else {
                return Refusal(.tooManyRequests, retryAfter: .seconds(1))
            }
            if !isReserved, let wait = held.processor.wait(limits, at: now) { return Refusal(.tooManyRequests, retryAfter: wait) }
            guard !hasBodyUnderWay || state.all.bodies < bodies else { return Refusal(.unavailable, retryAfter: .seconds(1)) }
            held.requests += 1
            if hasBodyUnderWay {
                held.bodies += 1
                state.all.bodies += 1
            }
            state.holders[holder] = held
            return nil
        }
        if let refusal { throw refusal }
        return BudgetPermit(holder, self, hasBody: hasBodyUnderWay)
    }

    /// How many callers are remembered.
    var count: Int { state.withLock { $0.holders.count } }

    /// What all hold together.
    var held: Held { state.withLock { $0.all } }

    /// Forgets callers who hold nothing and owe no processor time. Called now and then, so that those are remembered who come, not those
    /// who came.
    func forget(at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.holders = state.holders.filter { !$0.value.isNothing || $0.value.processor.isOwed(limits, at: now) }
        }
    }
}

// MARK: For permits

extension CallerBudget {
    fileprivate func addBytes(_ bytes: Int, to holder: BudgetHolder) throws(Refusal) {
        let refusal = state.withLock { state -> Refusal? in
            guard state.holders[holder, default: Held()].bytes + bytes <= limits.bodyBytesPerCaller else {
                return Refusal(.tooManyRequests, retryAfter: .seconds(5))
            }
            guard state.all.bytes + bytes <= limits.bodyBytes else { return Refusal(.unavailable, retryAfter: .seconds(1)) }
            state.holders[holder, default: Held()].bytes += bytes
            state.all.bytes += bytes
            return nil
        }
        if let refusal { throw refusal }
    }

    fileprivate func charge(_ spent: Duration, to holder: BudgetHolder) {
        guard limits.processorsPerCaller > 0 else { return }
        state.withLock { $0.holders[holder, default: Held()].processor.add(spent, limits, at: .now) }
    }

    /// A request becomes a stream.
    fileprivate func beginStream(of holder: BudgetHolder) throws(Refusal) {
        let most = limits.streams(of: holder)
        let refusal = state.withLock { state -> Refusal? in
            guard state.holders[holder, default: Held()].streams < most else {
                return Refusal(.tooManyStreams(most), retryAfter: .seconds(5))
            }
            guard state.all.streams < limits.eventStreams else { return Refusal(.unavailable, retryAfter: .seconds(5)) }
            state.holders[holder, default: Held()].streams += 1
            state.holders[holder]?.requests -= 1
            state.all.streams += 1
            return nil
        }
        if let refusal { throw refusal }
    }

    fileprivate func giveBack(_ used: Held, of holder: BudgetHolder) {
        state.withLock { state in
            state.all.bodies -= used.bodies
            state.all.bytes -= used.bytes
            state.all.streams -= used.streams
            guard var held = state.holders[holder] else { return }
            held.requests -= used.requests
            held.bodies -= used.bodies
            held.bytes -= used.bytes
            held.streams -= used.streams
            state.holders[holder] = held.isNothing && !held.processor.isOwed(limits, at: .now) ? nil : held
        }
    }
}

extension HTTPLimits {
    fileprivate func requests(of holder: BudgetHolder) -> Int {
        if case .organisation = holder { requestsPerOrganisation } else { requestsPerCaller }
    }

    fileprivate func streams(of holder: BudgetHolder) -> Int {
        if case .organisation = holder { requestsPerOrganisation } else { streamsPerCaller }
    }
}

/// What one request holds of its caller's budget. Whatever is forgotten goes back with the permit itself.
final class BudgetPermit: Sendable {
    private let holder: BudgetHolder
    private let budget: CallerBudget
    private let used: Mutex<CallerBudget.Held>

    fileprivate init(_ holder: BudgetHolder, _ budget: CallerBudget, hasBody: Bool) {
        (self.holder, self.budget) = (holder, budget)
        var used = CallerBudget.Held()
        (used.requests, used.bodies) = (1, hasBody ? 1 : 0)
        self.used = Mutex(used)
    }

    deinit {
        release()
    }

    /// So many more bytes of a body that was still coming are in memory from now on; of others nothing is counted, they fit a packet.
    func hold(_ bytes: Int) throws(Refusal) {
        guard used.withLock({ $0.bodies > 0 }) else { return }
        try budget.addBytes(bytes, to: holder)
        used.withLock { $0.bytes += bytes }
    }

    /// The body has come, or no more of it is read.
    func endBody() {
        let ended = used.withLock { used in
            defer { used.bodies = 0 }
            return used.bodies
        }
        guard ended > 0 else { return }
        var body = CallerBudget.Held()
        body.bodies = ended
        budget.giveBack(body, of: holder)
    }

    /// The answer will be an event stream.
    func beginStream() throws(Refusal) {
        try budget.beginStream(of: holder)
        used.withLock { used in
            used.requests -= 1
            used.streams += 1
        }
    }

    /// Processor time that the request took, also after `release`.
    func charge(_ spent: Duration) {
        budget.charge(spent, to: holder)
    }

    /// The request has been answered. Again is the same as once.
    func release() {
        let all = used.withLock { used in
            defer { used = CallerBudget.Held() }
            return used
        }
        guard all.requests + all.streams > 0 else { return }
        budget.giveBack(all, of: holder)
    }
}

/// Processor time that was used and is forgiven bit by bit. A pure value; time is told.
struct ProcessorDebt: Hashable, Sendable {
    /// In seconds, at `last`.
    private var owed = 0.0
    private var last: ContinuousClock.Instant?

    mutating func add(_ spent: Duration, _ limits: HTTPLimits, at now: ContinuousClock.Instant) {
        owed = left(limits, at: now) + spent / .seconds(1)
        last = now
    }

    /// How long until requests are taken again; nil where they are.
    func wait(_ limits: HTTPLimits, at now: ContinuousClock.Instant) -> Duration? {
        let over = left(limits, at: now) - limits.processorBurst / .seconds(1)
        return over > 0 ? .seconds(over / limits.processorsPerCaller) : nil
    }

    func isOwed(_ limits: HTTPLimits, at now: ContinuousClock.Instant) -> Bool {
        left(limits, at: now) > 0
    }

    private func left(_ limits: HTTPLimits, at now: ContinuousClock.Instant) -> Double {
        guard let last else { return 0 }
        return max(0, owed - (now - last) / .seconds(1) * limits.processorsPerCaller)
    }
}
