// The second channel: one text of one segment, handed to the notifier. It needs no disk of this service's own.

import Contracts
import Foundation
import ServiceKit

struct TextSender: Sendable {
    typealias Hand = @Sendable (SendMessage) async throws -> Void

    /// A text that is so late is of no use: the next one is due.
    private static let life = Duration.seconds(60)

    let names: Names
    let hand: Hand

    /// Hands over one text. The same number of the same message is the same text, however often it is handed over.
    /// - Parameter person: whose erasure erases the text; nil in a drill.
    func send(_ message: OutboxMessage, number: Int, to integrator: Integrator, about person: PersonID?) async -> Delivery {
        guard let phone = integrator.settings.number else { return .failed("no number for texts") }
        guard let said = try? JSONDecoder().decode(DispatchMessage.self, from: Data(message.body)) else {
            return .failed("the message cannot be read")
        }
        let text = DispatchText(said, code: names.code(of: message.id)).text
        do {
            try await hand(
                SendMessage(
                    message: names.text(of: message.id, to: integrator.id, number: number),
                    recipient: Recipient(person: person, phone: phone), channels: [.sms], template: .sosDispatch,
                    language: integrator.settings.language, values: ["text": text], notAfter: .now + TextSender.life))
            return .texted
        } catch let failure as Failure where failure.code == .conflict {
            // It was taken before, with another last moment.
            return .texted
        } catch let failure as Failure {
            return .failed("the notifier: \(failure.code.rawValue)")
        } catch {
            return .failed("the notifier cannot be asked")
        }
    }
}
