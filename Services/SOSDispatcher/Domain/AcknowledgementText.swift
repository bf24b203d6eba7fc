// What a text from an emergency service says about the message whose code it carries.

import Foundation

/// Strict on one side only: a text that is taken for an acceptance ends the call, so whatever is not wholly known is none.
struct AcknowledgementText: Hashable, Sendable {
    enum Meaning: String, Sendable {
        case accepted
        case rejected
        /// Neither for certain: the call goes on, and whoever wrote it is told what to write.
        case notUnderstood = "not-understood"
    }

    /// What may stand beside the code of an acceptance. "Received" is not among them: it says as little as a bare 2xx.
    static let accepting: Set<String> = [
        "OK", "OKAY", "YES", "SI", "ACCEPT", "ACCEPTED", "CONFIRM", "CONFIRMED", "COMING", "ARRIVING", "ACCETTO", "ACCETTATO", "CONFERMO",
        "ARRIVIAMO", "PARTITI",
    ]
    /// One of these rejects, wherever it stands.
    static let rejecting: Set<String> = [
        "NO", "NON", "NOT", "NEGATIVE", "NEGATIVO", "REFUSE", "REFUSED", "REJECT", "REJECTED", "RIFIUTO", "RIFIUTATO", "RIFIUTIAMO",
        "CANNOT", "CANT", "UNABLE", "IMPOSSIBLE", "IMPOSSIBILE",
    ]
    private static let apostrophes: Set<Character> = ["'", "’", "‘", "ʼ", "`", "´"]
    /// `+` is how a gateway may write a space. A question mark, a thumb down and the like are more than punctuation.
    private static let punctuation: Set<Character> = [".", ",", ";", ":", "!", "-", "–", "(", ")", "\"", "«", "»", "“", "”", "+"]

    /// In capitals, without accents and apostrophes.
    let words: Set<String>
    /// Whether something stands between the words that may have a meaning of its own.
    private let hasSigns: Bool

    init(_ text: String) {
        let plain = text.filter { !AcknowledgementText.apostrophes.contains($0) }
            .folding(options: [.diacriticInsensitive, .widthInsensitive], locale: nil).uppercased()
        words = Set(plain.split { !$0.isLetter && !$0.isNumber }.map(String.init))
        hasSigns = plain.contains {
            !$0.isLetter && !$0.isNumber && !$0.isWhitespace && !AcknowledgementText.punctuation.contains($0)
        }
    }

    /// - Parameter codes: of messages that went to whoever wrote it.
    /// - Returns: nil where it has none of them, and is no acknowledgement.
    func meaning(of codes: Set<String>) -> Meaning? {
        guard !words.isDisjoint(with: codes) else { return nil }
        let others = words.subtracting(codes)
        // Of two messages one may be meant to be accepted and one not.
        guard words.intersection(codes).count == 1 else { return .notUnderstood }
        if !others.isDisjoint(with: AcknowledgementText.rejecting) { return .rejected }
        return others.isSubset(of: AcknowledgementText.accepting) && !hasSigns ? .accepted : .notUnderstood
    }
}
