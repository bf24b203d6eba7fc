// Where passwords are hashed and checked: few at a time, since each takes a core and 32 MiB for a quarter of a second.

import Contracts
import Dispatch
import HTTPKit
import Sealing
import Synchronization

/// What a check came to.
enum PasswordFinding: Hashable, Sendable {
    case wrong
    /// `rehashed` is to be stored in place of the hash where that was made with other costs than today's.
    case right(rehashed: String?)
}

/// A bounded pool: `atOnce` hashes run, `waiting` wait, one more is refused with 429 and `Retry-After`. Hashing blocks, so it is
/// done on threads of its own and never on those of the tasks.
final class PasswordHasher: Sendable {
    /// What a password costs whoever tries them out: 32 MiB and about a quarter of a second each.
    static let cost = PasswordHash.Cost(n: 1 << 15, r: 8, p: 3)
    static let atOnce = 2
    static let waiting = 20
    /// How long a refused caller is asked to wait: the queue is through by then.
    static let retryAfter = Duration.seconds(3)

    private struct State {
        var running = 0
        var queue: [CheckedContinuation<Bool, Never>] = []
    }

    private let cost: PasswordHash.Cost
    private let state = Mutex(State())
    private let threads = DispatchQueue(label: "passwords", attributes: .concurrent)
    /// Of a password that nobody has: checking against it takes as long as against a real one.
    private let dummy: String

    init(cost: PasswordHash.Cost = PasswordHasher.cost) throws {
        self.cost = cost
        dummy = PasswordHash.ofNothing(cost: cost)
    }

    /// The salted hash to store.
    /// - Throws: `Refusal` with 429 where too many wait.
    func hash(_ password: String) async throws -> String {
        let password = PasswordLength.normalised(password)
        return try await work { [cost] in try PasswordHash.make(password, cost: cost) }
    }

    /// Takes as long whether there is a hash or not, so that it does not tell who has an account.
    /// - Parameter hash: what is stored; nil where there is no such account.
    /// - Throws: `Refusal` with 429 where too many wait.
    func check(_ password: String, against hash: String?) async throws -> PasswordFinding {
        let password = PasswordLength.normalised(password)
        return try await work { [cost, dummy] in
            let isRight = PasswordHash.verify(password, against: hash ?? dummy)
            guard let hash, isRight else { return .wrong }
            return .right(rehashed: PasswordHash.needsRehash(hash, cost: cost) ? try PasswordHash.make(password, cost: cost) : nil)
        }
    }

    // MARK: Taking turns

    private func work<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await withCheckedThrowingContinuation { continuation in
            threads.async { continuation.resume(with: Result { try body() }) }
        }
    }

    private func enter() async throws(Refusal) {
        let isAdmitted = await withCheckedContinuation { turn in
            let answer = state.withLock { state -> Bool? in
                if state.running < Self.atOnce {
                    state.running += 1
                    return true
                }
                guard state.queue.count < Self.waiting else { return false }
                state.queue.append(turn)
                return nil
            }
            if let answer { turn.resume(returning: answer) }
        }
        guard isAdmitted else { throw Refusal(.tooManyRequests, retryAfter: Self.retryAfter) }
    }

    /// Whoever waits longest takes over the place.
    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.queue.isEmpty else { return state.queue.removeFirst() }
            state.running -= 1
            return nil
        }
        next?.resume(returning: true)
    }
}
