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

    /// What stands for `title` and `detail` where an Italian reader is answered; not coded.
    private var italianTitle: String?
    package var italianDetail: String?

    private enum CodingKeys: String, CodingKey {
        case type, title, status, detail, errors, requestId
    }

    /// One field or entry that is wrong.
    package struct FieldError: Hashable, Sendable {
        /// JSON Pointer (RFC 6901) into the body, or `query:name`, `header:name`.
        package var pointer: String
        package private(set) var fault: FieldFault

        package init(pointer: String, _ fault: FieldFault) {
            (self.pointer, self.fault) = (pointer, fault)
        }

        package var code: String { fault.code }
        /// What is wrong and what to do, without the value that was sent; in English until `Problem.said`.
        package var detail: String { fault.english }

        fileprivate func said(in language: Language) -> FieldError {
            let text = fault.text(in: language)
            return FieldError(pointer: pointer, FieldFault(code, english: text, italian: text))
        }
    }

    /// Takes the kebab-case name without the prefix. What has no Italian detail is for programs, or says it in English to everybody.
    package init(
        _ name: String, status: Int, title: String, italianTitle: String? = nil, detail: String? = nil, italianDetail: String? = nil,
        errors: [FieldError]? = nil
    ) {
        type = Problem.prefix + name
        (self.title, self.status, self.detail, self.errors) = (title, status, detail, errors)
        (self.italianTitle, self.italianDetail) = (italianTitle, italianDetail)
    }

    /// The same problem with its texts in that language, where it has them.
    package func said(in language: Language) -> Problem {
        guard language == .italian else { return self }
        var problem = self
        problem.title = italianTitle ?? title
        problem.detail = italianDetail ?? detail
        problem.errors = errors?.map { $0.said(in: language) }
        return problem
    }

    /// The same with another detail; without `errors` the fields that are wrong stay.
    package func saying(_ detail: String, italian: String? = nil, errors: [FieldError]? = nil) -> Problem {
        var problem = self
        (problem.detail, problem.italianDetail, problem.errors) = (detail, italian, errors ?? self.errors)
        return problem
    }

    package static let prefix = "urn:trackme:problem:"

    /// The kebab-case name alone, as documents list it.
    package var name: String { String(type.dropFirst(Problem.prefix.count)) }
}

extension Problem.FieldError: Codable {
    private enum CodingKeys: String, CodingKey {
        case pointer, code, detail
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let detail = try container.decode(String.self, forKey: .detail)
        pointer = try container.decode(String.self, forKey: .pointer)
        fault = FieldFault(try container.decode(String.self, forKey: .code), english: detail, italian: detail)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(pointer, forKey: .pointer)
        try container.encode(code, forKey: .code)
        try container.encode(detail, forKey: .detail)
    }
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
