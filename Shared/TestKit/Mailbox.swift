// The notifier's other end in tests of one service: what it was asked to send, to look into and to wait for.

package import Bus
package import Contracts
import Synchronization

extension SendMessage {
    /// The message has no link.
    package struct NoLink: Error {}

    /// The token at the end of its link.
    package var linkToken: String {
        get throws {
            guard let token = values["link"]?.split(separator: "/").last else { throw NoLink() }
            return String(token)
        }
    }
}

/// What the notifier was asked to send.
package final class Mailbox: Sendable {
    private let all = Mutex<[SendMessage]>([])

    package init() {}

    package func take(_ message: SendMessage) {
        all.withLock { $0.append(message) }
    }

    /// What a notifier answers that only takes.
    package var methods: Methods {
        var methods = Methods()
        methods.on(SendMessage.self) { [self] message, _ in
            take(message)
            return Nothing()
        }
        return methods
    }

    /// In the order in which they were asked for; nil stands for any.
    package func messages(to mail: String? = nil, _ template: MessageTemplate? = nil) -> [SendMessage] {
        all.withLock { all in
            all.filter { (mail == nil || $0.recipient.mail == mail) && (template == nil || $0.template == template) }
        }
    }

    /// A value that the template does not have, one that it lacks, or an empty one: the notifier takes none of these messages.
    package struct Unsendable: Error {
        package let template: MessageTemplate
        package let values: [String]
    }

    /// Waits until at least `count` messages of that kind are there, and gives the newest.
    /// - Throws: `Unsendable` where the notifier would refuse it.
    package func arrived(to mail: String, _ template: MessageTemplate, count: Int = 1) async throws -> SendMessage {
        let message = try await eventually("\(template.rawValue) is sent") {
            let found = self.messages(to: mail, template)
            return found.count >= count ? found.last : nil
        }
        let wrong = template.values.symmetricDifference(message.values.keys).union(message.values.filter(\.value.isEmpty).keys)
        guard wrong.isEmpty else { throw Unsendable(template: template, values: wrong.sorted()) }
        return message
    }
}
