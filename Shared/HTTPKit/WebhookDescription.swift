// What a service posts to somebody else's address, as the `webhooks` of the OpenAPI document describe it.

import Contracts

/// One kind of message, and what the answers to it mean. Described only: whoever sends it keeps to it.
package struct WebhookDescription: Sendable {
    /// An answer of whoever takes the message.
    package struct Reply: Sendable {
        /// `2XX`, one status, or `default` for whatever is not named.
        let status: String
        /// CommonMark: what follows from it.
        let description: String
        let contents: [BodyShape.Content]

        package init(_ status: String, _ description: String, contents: [BodyShape.Content] = []) {
            (self.status, self.description, self.contents) = (status, description, contents)
        }
    }

    /// The message's type, unique in a service.
    package let name: String
    /// One line.
    package let summary: String
    /// CommonMark; empty for none.
    package let description: String
    /// What is sent beside the body.
    package let headers: [Parameter]
    package let body: BodyShape.Content
    /// One for each status that means something of its own.
    package let replies: [Reply]

    package init(
        _ name: String, summary: String, description: String = "", headers: [Parameter], body: BodyShape.Content, replies: [Reply]
    ) {
        (self.name, self.summary, self.description) = (name, summary, description)
        (self.headers, self.body, self.replies) = (headers, body, replies)
    }

    /// `webhookGrantRevoked`: unlike any of a route, which begin with their method.
    var operationID: String {
        "webhook" + name.split { !$0.isLetter && !$0.isNumber }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
