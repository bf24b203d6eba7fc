// Places for attempts under way: who hangs takes none from who answers, and nobody takes them all.

import Contracts
import Synchronization

/// Attempts at endpoints that answer at once, and at those that do not, have places apart; an organisation has a few of each. An attempt
/// that lasts goes over to the slow ones, and is called off where those have no place left: the next one waits for a place there, and has
/// all the time that a receiver is given.
final class DeliveryPermits: Sendable {
    struct Bounds: Sendable {
        var prompt = 200
        var slow = 300
        var promptOfOrganisation = 8
        var slowOfOrganisation = 4

        var all: Int { prompt + slow }
    }

    /// How often it is looked who is slow by now.
    static let pollInterval = Duration.milliseconds(500)

    /// A place that was given; to be given back.
    struct Permit: Sendable {
        fileprivate let number: Int
        /// Whether it was waited for: what was looked up before may hold no longer.
        let hasWaited: Bool
    }

    private struct Holder {
        let organisation: OrganisationID
        var isSlow: Bool
        var since: ContinuousClock.Instant?
        var callOff: (@Sendable () -> Void)?
        var isCalledOff = false
    }

    private struct Waiter {
        let number: Int
        let organisation: OrganisationID
        let isSlow: Bool
        let continuation: CheckedContinuation<Permit?, Never>
    }

    private struct State {
        let bounds: Bounds
        var last = 0
        var holders: [Int: Holder] = [:]
        var waiting: [Waiter] = []
        var taken = Tally()
        var takenSlow = Tally()

        func hasRoom(_ organisation: OrganisationID, isSlow: Bool) -> Bool {
            let (tally, most, own) =
                isSlow ? (takenSlow, bounds.slow, bounds.slowOfOrganisation) : (taken, bounds.prompt, bounds.promptOfOrganisation)
            return tally.count < most && tally.organisations[organisation, default: 0] < own
        }

        mutating func put(_ number: Int, _ organisation: OrganisationID, isSlow: Bool) {
            holders[number] = Holder(organisation: organisation, isSlow: isSlow)
            if isSlow { takenSlow.add(organisation) } else { taken.add(organisation) }
        }

        /// Those who waited longest first; one whose organisation has its share lets others pass.
        mutating func admitWaiting() -> [Waiter] {
            var (admitted, left): ([Waiter], [Waiter]) = ([], [])
            for waiter in waiting {
                guard hasRoom(waiter.organisation, isSlow: waiter.isSlow) else {
                    left.append(waiter)
                    continue
                }
                put(waiter.number, waiter.organisation, isSlow: waiter.isSlow)
                admitted.append(waiter)
            }
            waiting = left
            return admitted
        }
    }

    /// How many places are taken, and by whom.
    private struct Tally {
        var count = 0
        var organisations: [OrganisationID: Int] = [:]

        mutating func add(_ organisation: OrganisationID) {
            count += 1
            organisations[organisation, default: 0] += 1
        }

        mutating func remove(_ organisation: OrganisationID) {
            count -= 1
            let left = organisations[organisation, default: 0] - 1
            organisations[organisation] = left > 0 ? left : nil
        }
    }

    private let state: Mutex<State>

    init(_ bounds: Bounds = Bounds()) {
        state = Mutex(State(bounds: bounds))
    }

    /// How many attempts are under way, and how many of them are slow.
    var counts: (all: Int, slow: Int) {
        state.withLock { ($0.holders.count, $0.takenSlow.count) }
    }

    /// How many wait for a place.
    var waitingCount: Int {
        state.withLock { $0.waiting.count }
    }

    /// - Parameter isSlow: whether the endpoint's last attempt was.
    /// - Returns: nil where the task was cancelled while it waited.
    func take(for organisation: OrganisationID, isSlow: Bool) async -> Permit? {
        let (number, isFree) = state.withLock { state -> (Int, Bool) in
            state.last += 1
            guard state.hasRoom(organisation, isSlow: isSlow) else { return (state.last, false) }
            state.put(state.last, organisation, isSlow: isSlow)
            return (state.last, true)
        }
        guard !isFree else { return Permit(number: number, hasWaited: false) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let admitted = state.withLock { state in
                    state.waiting.append(
                        Waiter(number: number, organisation: organisation, isSlow: isSlow, continuation: continuation))
                    return state.admitWaiting()
                }
                resume(admitted)
                if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    /// The attempt begins.
    func begin(_ permit: Permit, at now: ContinuousClock.Instant, callOff: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.holders[permit.number]?.since = now
            state.holders[permit.number]?.callOff = callOff
        }
    }

    /// - Returns: whether the attempt was called off.
    @discardableResult
    func giveBack(_ permit: Permit) -> Bool {
        let (admitted, isCalledOff) = state.withLock { state -> ([Waiter], Bool) in
            guard let holder = state.holders.removeValue(forKey: permit.number) else { return ([], false) }
            if holder.isSlow { state.takenSlow.remove(holder.organisation) } else { state.taken.remove(holder.organisation) }
            return (state.admitWaiting(), holder.isCalledOff)
        }
        resume(admitted)
        return isCalledOff
    }

    /// Attempts that have lasted go over to the slow ones, or are called off.
    func sweep(at now: ContinuousClock.Instant) {
        let (admitted, late) = state.withLock { state -> ([Waiter], [@Sendable () -> Void]) in
            var late: [@Sendable () -> Void] = []
            let lasting = state.holders.filter { !$0.value.isSlow && !$0.value.isCalledOff }
                .filter { $0.value.since.map { now - $0 >= EndpointHealth.promptness } ?? false }
            for (number, holder) in lasting {
                if state.takenSlow.count < state.bounds.slow {
                    state.holders[number]?.isSlow = true
                    state.taken.remove(holder.organisation)
                    state.takenSlow.add(holder.organisation)
                } else {
                    state.holders[number]?.isCalledOff = true
                    if let callOff = holder.callOff { late.append(callOff) }
                }
            }
            return (state.admitWaiting(), late)
        }
        resume(admitted)
        for callOff in late { callOff() }
    }

    private func resume(_ admitted: [Waiter]) {
        for waiter in admitted { waiter.continuation.resume(returning: Permit(number: waiter.number, hasWaited: true)) }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiting.remove(at: index)
        }
        waiter?.continuation.resume(returning: nil)
    }
}
