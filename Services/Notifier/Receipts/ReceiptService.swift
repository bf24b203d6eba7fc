// Takes the word of providers about messages that they had taken.

import Contracts
import ServiceKit

struct ReceiptService: Sendable {
    let store: MessageRepository
    let pace: Pace
    /// The providers of each channel, the preferred one first.
    let orders: [Channel: [String]]
    let metrics: NotifierMetrics
    /// Wakes the worker of a channel.
    let wake: @Sendable (Channel) -> Void

    /// The same receipt again changes nothing.
    /// - Parameter attempt: nil for a provider that knows only the message: its word is about the latest attempt.
    /// - Returns: false where there is no such message, or not any more.
    func take(
        _ receipt: Delivery.Receipt, of message: MessageID, on channel: Channel, attempt: Int?, from provider: String
    ) async throws -> Bool {
        let now = store.clock.now
        let order = orders[channel] ?? []
        let pace = pace
        let delivery = try await store.change(DeliveryID(message, channel), at: .now) { delivery in
            delivery.receive(receipt, attempt: attempt ?? delivery.attempts, order: order, pace: pace, at: now)
        }
        guard let delivery else { return false }
        metrics.receipt(provider, receipt)
        if delivery.isSettled { metrics.settled(channel, delivery) } else { wake(channel) }
        return true
    }
}
