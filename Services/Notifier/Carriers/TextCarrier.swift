// SMS and calls: several providers, the preferred one first.

import Contracts
import Outbound

/// Takes a short text for a telephone number.
protocol TextProvider: Sendable {
    /// As in `notify.sms_order`.
    var name: String { get }

    func send(_ letter: Letter, as channel: Channel) async -> Delivery.Outcome
}

struct TextCarrier: Carrier {
    let channel: Channel
    let list: [any TextProvider]

    var providers: [String] { list.map(\.name) }

    func carry(_ letter: Letter, by provider: String) async -> Delivery.Outcome {
        guard let chosen = list.first(where: { $0.name == provider }) else { return .unreachable }
        return await chosen.send(letter, as: channel)
    }
}

extension HTTPSender.Attempt {
    /// Answers that are about us or about now, not about the message.
    private static let notNow: Set<Int> = [401, 403, 407, 408, 425, 429]

    /// What an answer over HTTP means for the message.
    /// - Parameters:
    ///   - taken: for a 2xx.
    ///   - refusal: the word for an answer that will always be the same.
    func outcome(taken: Delivery.Outcome, refusal: (Int) -> String) -> Delivery.Outcome {
        switch outcome {
        case .success(let response) where response.isSuccess: return taken
        case .success(let response):
            return response.status >= 500 || HTTPSender.Attempt.notNow.contains(response.status)
                ? .postponed : .refused(refusal(response.status))
        case .failure: return wasHandedOver ? .unknown : .unreachable
        }
    }
}
