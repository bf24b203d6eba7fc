// What text may hold that one person types and another is shown: the one rule for all forms of all services.

package enum PlainText {
    /// What to say of text that is refused; never what was typed.
    package static let advice = "leave control characters, and marks that turn the direction of writing, out"

    /// Whether the text shows as what it is. Line ends and tabs are allowed, or not where text is one line. Refused are other control
    /// characters, separators of lines and paragraphs, marks that override, embed or isolate a direction of writing (a name could show as
    /// another), invisible characters but for the joiners and direction marks that scripts need, and what Unicode gives to nobody.
    package static func isClean(_ text: some StringProtocol, ofOneLine: Bool = false) -> Bool {
        // Mostly plain ASCII, of which a scan of bytes is enough.
        if text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return true }
        return text.unicodeScalars.allSatisfy { isClean($0, ofOneLine: ofOneLine) }
    }

    private static func isClean(_ scalar: Unicode.Scalar, ofOneLine: Bool) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: !ofOneLine && (scalar == "\n" || scalar == "\r" || scalar == "\t")
        case .format: neededByScripts.contains(scalar)
        case .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    /// The joiners, which Persian, the scripts of India and emoji are written with, and the marks that give a neutral character a
    /// direction without turning others.
    private static let neededByScripts: Set<Unicode.Scalar> = ["\u{200C}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{61C}"]
}
