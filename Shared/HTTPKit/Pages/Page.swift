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
        try page(
            title: title, markup: Templates.template(template).render(values as [String: Any]), language: language, status: status,
            script: script)
    }

    /// A page that says one thing: nothing has to be rendered for it.
    package static func page(title: String, notice: String, language: Language, status: Int = 200) -> HTTPAnswer {
        page(title: title, markup: "<p class=\"notice\">\(PageLayout.escaped(notice))</p>", language: language, status: status)
    }

    /// A page around finished markup, for pages that cost less than a template: refusals before all.
    /// - Parameter markup: HTML of the program's own; whatever comes from elsewhere has gone through `PageLayout.escaped`.
    package static func page(
        title: String, markup: String, language: Language, status: Int = 200, script: String? = nil
    ) -> HTTPAnswer {
        let nonce = String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        let text = PageLayout(language: language).document(title: title, content: markup, nonce: nonce, script: script)
        var answer = HTTPAnswer.text(text, contentType: MediaType.html, status: status)
        answer.headers.append(
            HTTPField(name: .contentSecurityPolicy, value: PageLayout.policy(nonce: nonce, hasScript: script != nil)))
        // Addresses of mailed links are secrets: other sites do not get them. `no-referrer` would take `Origin` from our own forms.
        answer.headers.append(HTTPField(name: .referrerPolicy, value: "same-origin"))
        answer.headers.append(HTTPField(name: .contentLanguage, value: language.rawValue))
        return answer
    }

    /// A refusal as a page, for a browser that likes one better than JSON; nil for everybody else.
    static func page(_ problem: Problem, _ language: Language, _ head: RequestHead?) -> HTTPAnswer? {
        guard let head, MediaType.preferred(of: [MediaType.problem, MediaType.html], accept: head.accept) == MediaType.html else {
            return nil
        }
        let errors = (problem.errors ?? []).map { "<li>\(PageLayout.escaped($0.pointer)): \(PageLayout.escaped($0.detail))</li>" }
        let markup = """
            <div class="error" role="alert">
            <p><strong>\(PageLayout.escaped(problem.title))</strong></p>
            <p>\(PageLayout.escaped(problem.detail ?? ""))</p>
            <ul>\(errors.joined())</ul>
            </div>
            <p class="hint">\(PageLayout.escaped(problem.requestId ?? ""))</p>
            """
        return page(
            title: language == .italian ? "Non è possibile" : "This is not possible", markup: markup, language: language,
            status: problem.status)
    }
}

/// Templates that have been read, by their text.
enum Templates {
    /// There are as many as the program has; more would mean that somebody makes templates of data.
    private static let most = 256
    private static let known = Mutex<[String: MustacheTemplate]>([:])
    /// Before each template: Mustache's own escape looks at characters, and a combining mark behind a quotation mark makes another character
    /// of it, which ends an attribute all the same.
    private static let escaping: String = {
        MustacheContentTypes.register(CodePointEscape(), named: "PAGE")
        return "{{%CONTENT_TYPE:PAGE}}\n"
    }()

    static func template(_ text: String) throws -> MustacheTemplate {
        if let template = known.withLock({ $0[text] }) { return template }
        let template = try MustacheTemplate(string: escaping + text)
        known.withLock { if $0.count < most { $0[text] = template } }
        return template
    }
}

private struct CodePointEscape: MustacheContentType {
    func escapeText(_ text: String) -> String { PageLayout.escaped(text) }
}
