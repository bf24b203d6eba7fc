// Brings changes to the store, many in one commit, in their order.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage
import Synchronization

/// Collects changes and commits them: urgent ones as soon as somebody waits for them, patient ones (states in which nothing
/// happened, stream positions) every `laziness`, in slices between which urgent ones go first. A commit that fails is tried again
/// with everything that has come since; supervision goes on meanwhile (rescue fails open).
final class Journal: Sendable {
    typealias Save = @Sendable (StoreBatch) async throws -> Void
    /// One state as it is stored; nil for a person of whom nothing may be stored any more.
    typealias Seal = @Sendable (PersonID, Watched) throws -> [UInt8]?

    /// How long a change may wait that nobody waits for: lost in a crash, it is made again by hearing the same entries again.
    static let laziness = Duration.milliseconds(500)
    /// The longest that a sound disk takes.
    private static let busy = Duration.seconds(1)
    /// Most states in one patient commit, so that an emergency never waits for many.
    static let slice = 100

    private struct State {
        var urgent = StoreBatch()
        /// What of it is being stored, and since when.
        var inHand = StoreBatch()
        var inHandSince = ContinuousClock.now
        /// Whether the last attempt failed.
        var isRefused = false
        var patient = StoreBatch()
        /// What is being stored slice by slice, its positions last: they count only once all states are stored.
        var slices = StoreBatch()
        /// Whose turn comes in `slices`, the next one last; may name some who are not in there any more.
        var order: [PersonID] = []
        /// Whose state has been noted as urgent while a slice was on its way.
        var overtaken: Set<PersonID> = []
        var isUrgentDue = false
        var isPatientDue = false
        /// Whether what nobody waited for goes with the next urgent round.
        var isEverythingDue = false
        var isWriting = false
        var waiting: [CheckedContinuation<Void, any Error>] = []
        /// By stream, how far what was heard is on disk with all that follows from it.
        var durable: [String: StreamPosition] = [:]
    }

    private enum Round {
        case urgent(StoreBatch, [CheckedContinuation<Void, any Error>])
        case patient(StoreBatch)
    }

    private let save: Save
    private let seal: Seal
    private let logger: Logger
    private let state = Mutex(State())

    init(save: @escaping Save, seal: @escaping Seal, logger: Logger) {
        (self.save, self.seal, self.logger) = (save, seal, logger)
    }

    /// How far a family is heard with everything that follows from it on disk; what its publisher may be told, since its log then forgets.
    /// - Parameter begun: what the file said when this process began.
    func durablePositions(of family: StreamFamily, begun: [StreamPosition]) -> [StreamPosition] {
        let durable = state.withLock { $0.durable }
        let known = Dictionary(begun.map { ($0.stream, $0) }, uniquingKeysWith: { $1 })
        return family.streams.compactMap { durable[$0] ?? known[$0] }
    }

    func note(_ urgent: StoreBatch, patient: StoreBatch = StoreBatch()) {
        state.withLock { state in
            for person in urgent.removed.union(urgent.subscribers.keys) {
                state.patient.subscribers[person] = nil
                state.slices.subscribers[person] = nil
                state.overtaken.insert(person)
            }
            state.urgent.add(urgent)
            state.patient.add(patient)
        }
    }

    /// What is urgent and the disk does not take: it has refused it, or is busy with it for longer than a sound one is. Nothing else: what is
    /// merely on its way is known to nobody before it is stored.
    var unstored: StoreBatch {
        state.withLock { state in
            let isHanging = !state.inHand.isEmpty && ContinuousClock.now - state.inHandSince > Journal.busy
            guard state.isRefused || isHanging else { return StoreBatch() }
            var unstored = state.inHand
            unstored.add(state.urgent)
            return unstored
        }
    }

    /// Returns once everything urgent that was noted is on disk; throws if it is not.
    func commit() async throws {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.waiting.append(continuation) }
            startWriting()
        }
    }

    /// Begins to store what is urgent, without waiting for it.
    func hurry() {
        state.withLock { $0.isUrgentDue = true }
        startWriting()
    }

    /// As `commit`, together with everything patient that was noted.
    func commitEverything() async throws {
        state.withLock { $0.isEverythingDue = true }
        try await commit()
    }

    /// As `commit`, but waits no longer than `timeout`; false if it is not on disk by then.
    func commit(within timeout: Duration) async -> Bool {
        let (answers, answer) = AsyncStream<Bool>.makeStream()
        Task { answer.yield((try? await commit()) != nil) }
        let watch = Task {
            try await Task.sleep(for: timeout)
            answer.yield(false)
        }
        defer { watch.cancel() }
        return await answers.first { _ in true } ?? false
    }

    /// Commits what nobody waits for, until cancelled; then everything once more.
    func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Journal.laziness)
            state.withLock { $0.isPatientDue = true }
            startWriting()
        }
        await commitAll()
    }

    /// For a clean stop; gives up where the store refuses.
    private func commitAll() async {
        while state.withLock({ !($0.urgent.isEmpty && $0.patient.isEmpty && $0.slices.isEmpty) || $0.isWriting }) {
            do {
                try await commitEverything()
            } catch {
                logger.error("changes could not be stored before the stop", metadata: ["reason": "\(error.logReason)"])
                return
            }
        }
    }

    private func startWriting() {
        let begins = state.withLock { state in
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { Task { await write() } }
    }

    private func write() async {
        while let round = nextRound() {
            switch round {
            case .urgent(let batch, let waiting): await storeUrgent(batch, waiting)
            case .patient(let slice): await storePatient(slice)
            }
        }
    }

    /// False where the store refused; then it is kept.
    @discardableResult
    private func storeUrgent(_ batch: StoreBatch, _ waiting: [CheckedContinuation<Void, any Error>]) async -> Bool {
        do {
            try await store(batch)
            state.withLock { ($0.inHand, $0.isRefused) = (StoreBatch(), false) }
            for continuation in waiting { continuation.resume() }
            return true
        } catch {
            state.withLock { state in
                var kept = batch
                kept.add(state.urgent)
                (state.urgent, state.inHand, state.isRefused) = (kept, StoreBatch(), true)
                // Not again at once: the write failed with a retryable error.
                state.isPatientDue = false
            }
            for continuation in waiting { continuation.resume(throwing: error) }
            return false
        }
    }

    /// Sealing a slice takes longer than storing it: what is urgent goes in between.
    private func storePatient(_ slice: StoreBatch) async {
        var rest = slice
        var ready = slice
        ready.subscribers = [:]
        do {
            for person in slice.subscribers.keys {
                guard let watched = rest.subscribers[person] else { continue }
                ready.sealed[person] = try seal(person, watched)
                guard let (urgent, waiting) = urgentBetween() else { continue }
                guard await storeUrgent(urgent, waiting) else { return putBack(rest) }
                for stored in urgent.removed.union(urgent.subscribers.keys) {
                    rest.subscribers[stored] = nil
                    ready.sealed[stored] = nil
                }
            }
            try await store(ready)
        } catch {
            putBack(rest)
        }
    }

    /// What somebody waits for, but not what is to go with everything: that includes the slice in hand.
    private func urgentBetween() -> (StoreBatch, [CheckedContinuation<Void, any Error>])? {
        state.withLock { state in
            guard !state.waiting.isEmpty || state.isUrgentDue, !state.isEverythingDue else { return nil }
            return takeUrgent(&state)
        }
    }

    private func store(_ batch: StoreBatch) async throws {
        guard !batch.isEmpty else { return }
        do {
            try await save(batch)
            if !batch.positions.isEmpty { state.withLock { $0.durable.merge(batch.positions) { $1 } } }
        } catch {
            logger.error("changes could not be stored; they are kept and tried again", metadata: ["reason": "\(error.logReason)"])
            throw error
        }
    }

    private func putBack(_ slice: StoreBatch) {
        state.withLock { state in
            var kept = slice
            kept.subscribers = slice.subscribers.filter { !state.overtaken.contains($0.key) }
            kept.add(state.slices)
            state.slices = kept
            state.isPatientDue = false
        }
    }

    private func nextRound() -> Round? {
        state.withLock { state in
            if state.isEverythingDue {
                // Not before a slice on its way is stored or put back: the positions must not run ahead of its states.
                state.urgent.add(state.slices)
                state.urgent.add(state.patient)
                (state.slices, state.patient, state.isEverythingDue) = (StoreBatch(), StoreBatch(), false)
            }
            if !state.waiting.isEmpty || ((state.isPatientDue || state.isUrgentDue) && !state.urgent.isEmpty) {
                let (urgent, waiting) = takeUrgent(&state)
                return .urgent(urgent, waiting)
            }
            if state.isPatientDue, state.slices.isEmpty {
                (state.slices, state.patient) = (state.patient, StoreBatch())
            }
            guard state.isPatientDue, !state.slices.isEmpty else {
                (state.isWriting, state.isPatientDue, state.isUrgentDue) = (false, false, false)
                return nil
            }
            return .patient(takeSlice(&state))
        }
    }

    private func takeUrgent(_ state: inout State) -> (StoreBatch, [CheckedContinuation<Void, any Error>]) {
        defer {
            (state.inHand, state.inHandSince) = (state.urgent, .now)
            (state.urgent, state.waiting, state.isUrgentDue) = (StoreBatch(), [], false)
        }
        return (state.urgent, state.waiting)
    }

    private func takeSlice(_ state: inout State) -> StoreBatch {
        var slice = StoreBatch()
        state.overtaken = []
        // As they lie in the table: neighbours share pages, and each page that a slice touches is written and flushed whole.
        if state.order.isEmpty { state.order = state.slices.subscribers.keys.sorted { $0.bits > $1.bits } }
        while slice.subscribers.count < Journal.slice, let person = state.order.popLast() {
            slice.subscribers[person] = state.slices.subscribers.removeValue(forKey: person)
        }
        if state.slices.subscribers.isEmpty {
            slice.positions = state.slices.positions
            (state.slices, state.order, state.isPatientDue) = (StoreBatch(), [], false)
        }
        return slice
    }
}
