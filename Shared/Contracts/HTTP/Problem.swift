// RFC 9457 problem details: how every service says over HTTP what went wrong.

/// The body of every refusal, as `application/problem+json`. Never holds personal data or a value that was sent.
package struct Problem: Error, Hashable, Codable, Sendable {
    /// `urn:trackme:problem:` and a kebab-case name; stable, what programs act on.
    package var type: String
    /// The same at every occurrence of the type.
    package var title: String
    /// That of the answer it is the body of, 400 to 599.
    package var status: Int
    /// What happened and what can be done, for people (UI-14).
    package var detail: String?
    /// Which fields are wrong, each with what to do.
    package var errors: [FieldError]?
    /// Of the request, to be quoted to whoever runs the suite.
    package var requestId: String?

    /// One field or entry that is wrong.
    package struct FieldError: Hashable, Codable, Sendable {
        /// JSON Pointer (RFC 6901) into the body, or `query:name`, `header:name`.
        package var pointer: String
        /// What is wrong and what to do, without the value that was sent.
        package var detail: String

        package init(pointer: String, detail: String) {
            (self.pointer, self.detail) = (pointer, detail)
        }
    }

    /// Takes the kebab-case name without the prefix.
    package init(_ name: String, status: Int, title: String, detail: String? = nil, errors: [FieldError]? = nil) {
        type = Problem.prefix + name
        (self.title, self.status, self.detail, self.errors) = (title, status, detail, errors)
    }

    package static let prefix = "urn:trackme:problem:"
}

/// A list over HTTP: `next` is what to send as `after` for the following page, null at the end.
package struct Page<Item: Codable & Sendable>: Codable, Sendable {
    package var items: [Item]
    package var next: String?

    package init(items: [Item], next: String?) {
        (self.items, self.next) = (items, next)
    }

    /// At the end `next` is written as null; it is never left out.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(items, forKey: .items)
        try container.encode(next, forKey: .next)
    }
}
