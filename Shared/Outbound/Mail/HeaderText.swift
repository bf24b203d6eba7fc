// Free text in a header: whatever it holds, it stays in its header and arrives as it was (RFC 2047).

import Foundation

/// Text for a `Subject`, a display name or the `Title` of a push message.
package struct HeaderText: Sendable {
    /// Longer text is encoded, so that no line needs another way of folding.
    private static let longestPlain = 60
    /// Bytes in one encoded word, which with its frame stays under 75 characters.
    private static let bytesPerWord = 45

    private let text: String

    /// Line ends and other control characters become spaces.
    package init(_ text: String) {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(HeaderText.isControl(scalar) ? " " : scalar) }
        self.text = String(scalars)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// As it is where that is short printable ASCII, else as encoded words in UTF-8, folded with `fold` between them.
    package func encoded(fold: String = "\r\n ") -> String {
        isPlain ? text : words.map { "=?UTF-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: fold)
    }

    /// For a display name: plain text stands in quotes.
    var phrase: String {
        guard isPlain else { return encoded() }
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }

    private var isPlain: Bool {
        text.utf8.count <= HeaderText.longestPlain && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !text.contains("=?")
            && !text.hasPrefix(" ") && !text.hasSuffix(" ")
    }

    /// Cut between characters' scalars: each word must be UTF-8 by itself.
    private var words: [[UInt8]] {
        var words: [[UInt8]] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if word.count + bytes.count > HeaderText.bytesPerWord {
                words.append(word)
                word = []
            }
            word += bytes
        }
        return words + [word]
    }
}
