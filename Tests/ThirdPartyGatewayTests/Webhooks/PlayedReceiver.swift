// A receiver of webhooks that takes, refuses, loses or holds messages as a test says, and applies what it takes as a program would.

import Contracts
import Foundation
import Synchronization
import TestKit

@testable import ThirdPartyGateway

final class PlayedReceiver: Sendable {
    enum Mood: Sendable {
        case take
        /// Takes it, and its answer is lost.
        case takeAndLoseAnswer
        case refuse(Int)
        case silent
        /// Answers only when it is called off.
        case hang
    }

    struct Message: Decodable, Sendable {
        struct Content: Decodable, Sendable {
            struct Batch: Decodable, Sendable {
                struct Item: Decodable, Sendable {
                    var number: Int64
                    var value: Double?
                    var withdrawn: Bool?
                }

                var subscription: RequestID
                var after: Int64
                var through: Int64
                var head: Int64
                var items: [Item]
            }

            var batches: [Batch]?
            var subscription: RequestID?
            var reason: String?
            var types: [String]?
            var isWhole: Bool?
        }

        var type: String
        var timestamp: String
        var data: Content
    }

    private struct State {
        var moods: [Mood] = []
        var usual = Mood.take
        var attempts: [(id: String, body: [UInt8])] = []
        var taken: [(id: String, message: Message)] = []
        var seen: Set<String> = []
        var numbers: [RequestID: [Int64]] = [:]
        var hanging = 0
    }

    private let state = Mutex(State())

    /// Of the next attempts; afterwards the usual one.
    func play(_ moods: [Mood], usual: Mood = .take) {
        state.withLock { ($0.moods, $0.usual) = (moods, usual) }
    }

    var attempts: [(id: String, body: [UInt8])] { state.withLock { $0.attempts } }
    var taken: [(id: String, message: Message)] { state.withLock { $0.taken } }
    var hanging: Int { state.withLock { $0.hanging } }
    /// In the order in which they were applied, each message once.
    func numbers(_ subscription: RequestID) -> [Int64] { state.withLock { $0.numbers[subscription, default: []] } }

    var transport: WebhookDeliveryWorker.Transport {
        { [self] post in await attempt(post) }
    }

    private func attempt(_ post: WebhookPost) async -> WebhookOutcome {
        WebhookForm.check(post.body)
        let mood = state.withLock { state in
            state.attempts.append((post.id, post.body))
            return state.moods.isEmpty ? state.usual : state.moods.removeFirst()
        }
        switch mood {
        case .take:
            apply(post)
            return .answered(status: 200, retryAfter: nil)
        case .takeAndLoseAnswer:
            apply(post)
            return .failed("timeout")
        case .refuse(let status): return .answered(status: status, retryAfter: nil)
        case .silent: return .failed("not-connected")
        case .hang:
            state.withLock { $0.hanging += 1 }
            // Sleeping is hanging: it ends when the attempt is called off.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
            state.withLock { $0.hanging -= 1 }
            return .failed("cancelled")
        }
    }

    private func apply(_ post: WebhookPost) {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(post.body)) else { return }
        state.withLock { state in
            guard state.seen.insert(post.id).inserted else { return }
            state.taken.append((post.id, message))
            for batch in message.data.batches ?? [] {
                state.numbers[batch.subscription, default: []] += batch.items.map(\.number)
            }
        }
    }
}
