// Pages for people: a template's content in the common layout, with the headers that keep a browser honest.

package import Contracts
import HTTPTypes
import Mustache
import Synchronization

extension HTTPAnswer {
    /// - Parameters:
    ///   - template: Mustache for what stands below the title; `{{name}}` escapes, so that a value never becomes markup. A constant of
    ///     the program: templates are kept once they have been read.
    ///   - values: texts, numbers, flags, arrays of such dictionaries.
    ///   - script: for browsers that run one; the page must work without it.
    /// - Throws: where the template itself is wrong.
    package static func page(
        title: String, template: String, values: [String: any Sendable] = [:], language: Language, status: Int = 200,
        script: String? = nil
    ) throws -> HTTPAnswer {
        let nonce = String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        let content = try Templates.template(template).render(values as [String: Any])
        let text = PageLayout(language: language).document(title: title, content: content, nonce: nonce, script: script)
        var answer = HTTPAnswer.text(text, contentType: MediaType.html, status: status)
        answer.headers[.contentSecurityPolicy] = PageLayout.policy(nonce: nonce, hasScript: script != nil)
        // Addresses of mailed links are secrets: other sites do not get them. `no-referrer` would take `Origin` from our own forms.
        answer.headers[.referrerPolicy] = "same-origin"
        answer.headers[.contentLanguage] = language.rawValue
        return answer
    }

    /// A refusal as a page, for a browser that likes one better than JSON; nil for everybody else.
    static func page(_ problem: Problem, _ language: Language, _ head: RequestHead?) throws -> HTTPAnswer? {
        guard let head, MediaType.preferred(of: [MediaType.problem, MediaType.html], accept: head.accept) == MediaType.html else {
            return nil
        }
        return try page(
            title: language == .italian ? "Non è possibile" : "This is not possible", template: refusalTemplate,
            values: [
                "title": problem.title, "detail": problem.detail ?? "", "requestId": problem.requestId ?? "",
                "errors": (problem.errors ?? []).map { ["pointer": $0.pointer, "detail": $0.detail] },
            ], language: language, status: problem.status)
    }

    private static let refusalTemplate = """
        <div class="error" role="alert">
        <p><strong>{{title}}</strong></p>
        <p>{{detail}}</p>
        <ul>{{#errors}}<li>{{pointer}}: {{detail}}</li>{{/errors}}</ul>
        </div>
        <p class="hint">{{requestId}}</p>
        """
}

/// Templates that have been read, by their text.
enum Templates {
    /// There are as many as the program has; more would mean that somebody makes templates of data.
    private static let most = 256
    private static let known = Mutex<[String: MustacheTemplate]>([:])

    static func template(_ text: String) throws -> MustacheTemplate {
        if let template = known.withLock({ $0[text] }) { return template }
        let template = try MustacheTemplate(string: text)
        known.withLock { if $0.count < most { $0[text] = template } }
        return template
    }
}
