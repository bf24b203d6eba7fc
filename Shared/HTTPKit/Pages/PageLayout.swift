// The one layout of every page: its words, its looks, and what a browser may do with it.

package import Contracts
import HTTPTypes

/// Works without a script, at 200 % zoom and with a keyboard alone: a link past the head, visible focus, text that wraps, and
/// contrasts of at least 7 : 1.
package struct PageLayout: Sendable {
    package let language: Language

    package init(language: Language) {
        self.language = language
    }

    private var skip: String {
        switch language {
        case .italian: "Vai al contenuto"
        case .english: "Skip to the content"
        }
    }

    private var footer: String {
        switch language {
        case .italian: "TrackMe: i suoi dati restano suoi."
        case .english: "TrackMe: your data remain yours."
        }
    }

    /// The whole document.
    /// - Parameters:
    ///   - content: HTML that is safe already.
    ///   - nonce: what the policy of the answer names.
    ///   - script: run by browsers that can; the page works without it.
    func document(title: String, content: String, nonce: String, script: String?) -> String {
        let title = Self.escaped(title)
        let script = script.map { "<script nonce=\"\(nonce)\">\($0)</script>" } ?? ""
        return """
            <!DOCTYPE html>
            <html lang="\(language.rawValue)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title) – TrackMe</title>
            <link rel="icon" href="data:,">
            <style nonce="\(nonce)">\(Self.style)</style>
            </head>
            <body>
            <a class="skip" href="#content">\(skip)</a>
            <header><p>TrackMe</p></header>
            <main id="content" tabindex="-1">
            <h1>\(title)</h1>
            \(content)
            </main>
            <footer><p>\(footer)</p></footer>
            \(script)
            </body>
            </html>

            """
    }

    /// By bytes, and so by code points: a combining mark behind a bracket makes another character of it, and still a bracket for a browser.
    package static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { entity($0) != nil }) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 32)
        for byte in text.utf8 {
            if let spelled = entity(byte) {
                spelled.withUTF8Buffer { bytes.append(contentsOf: $0) }
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func entity(_ byte: UInt8) -> StaticString? {
        switch byte {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "\""): "&quot;"
        case UInt8(ascii: "'"): "&#39;"
        default: nil
        }
    }

    /// What the browser may load and do: nothing but this page's own style and script, and forms to the suite itself.
    static func policy(nonce: String, hasScript: Bool) -> String {
        let script = hasScript ? "script-src 'nonce-\(nonce)'; connect-src 'self'; " : ""
        return "default-src 'none'; style-src 'nonce-\(nonce)'; \(script)img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
            + "base-uri 'none'"
    }

    private static let style = """
        :root{color-scheme:light}
        *{box-sizing:border-box}
        body{margin:0;font:1rem/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;overflow-wrap:break-word}
        header,main,footer{max-width:42rem;margin:0 auto;padding:1rem}
        header p{margin:0;font-weight:700;color:#003f6f}
        footer{border-top:1px solid #595959;color:#404040}
        h1{font-size:1.6rem;line-height:1.25}
        a{color:#00427a}
        :focus-visible,main:focus-visible{outline:3px solid #a03800;outline-offset:2px}
        .skip{position:absolute;left:-999rem}
        .skip:focus{left:1rem;top:1rem;padding:.5rem;background:#fff}
        label{display:block;margin-top:1rem;font-weight:600}
        input,select,textarea{font:inherit;width:100%;padding:.5rem;border:1px solid #404040;border-radius:.25rem}
        input[type=checkbox],input[type=radio]{width:1.25rem;height:1.25rem;vertical-align:middle}
        button{font:inherit;font-weight:600;min-height:2.75rem;margin:1rem .5rem 0 0;padding:.5rem 1.25rem;border:2px solid #00427a;
        border-radius:.25rem;background:#00427a;color:#fff}
        button.second{background:#fff;color:#00427a}
        button.danger{background:#8a0000;border-color:#8a0000}
        .answers button{display:block;width:100%;min-height:5rem;margin:1rem 0 0;font-size:1.5rem}
        .count{font-size:1.5rem}
        .count strong{font-size:3rem;line-height:1}
        .links a{display:inline-block;padding:.75rem 1rem .75rem 0;font-size:1.25rem}
        .notice,.error{margin:1rem 0;padding:.75rem 1rem;border-left:.4rem solid #00427a;background:#eef4fa}
        .error{border-color:#8a0000;background:#fdf0f0}
        .hint{color:#404040;margin:.25rem 0}
        table{border-collapse:collapse;width:100%}
        th,td{text-align:left;padding:.4rem;border-bottom:1px solid #8c8c8c;vertical-align:top}
        """
}
