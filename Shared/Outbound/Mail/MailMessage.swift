// One mail as its reader's program gets it: headers and text (RFC 5322).

package import Contracts

/// A message made by a machine for one person. Whatever the subject and the text hold, no header can be added by it.
package struct MailMessage: Sendable {
    /// Left part of the `Message-ID`: the same on each repetition, so that a repetition can be recognised. ASCII letters, digits, `_`, `-`.
    package var id: String
    /// Written as `Date`, in UTC and whole seconds.
    package var at: Timestamp
    /// Of the header alone, as `to` is: the envelope is that of `OutboundMail`.
    package var from: MailAddress
    /// Any text: encoded where it is not short ASCII (RFC 2047); control characters become spaces.
    package var fromName: String
    package var to: MailAddress
    /// Likewise.
    package var subject: String
    /// Plain text; travels as quoted-printable UTF-8.
    package var text: String
    /// `it`, `en`.
    package var language: String
    /// Name of the list where many get the same (RFC 2919); nil where it is for this person alone.
    package var list: String?

    package init(
        id: String, at: Timestamp, from: MailAddress, fromName: String, to: MailAddress, subject: String, text: String, language: String,
        list: String? = nil
    ) {
        (self.id, self.at, self.from, self.fromName, self.to) = (id, at, from, fromName, to)
        (self.subject, self.text, self.language, self.list) = (subject, text, language, list)
    }

    /// With CRLF line ends, all in ASCII, no line longer than 998 bytes, ready for `DATA`.
    package func encoded() -> [UInt8] {
        let domain = from.domain
        var lines = [
            "Date: \(MailMessage.date(at))",
            "From: \(HeaderText(fromName).phrase) <\(from)>",
            "To: <\(to)>",
            "Subject: \(HeaderText(subject).encoded())",
            "Message-ID: <\(MailMessage.token(id))@\(domain)>",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: quoted-printable",
            "Content-Language: \(MailMessage.token(language))",
            // RFC 3834: nobody's holiday notice answers a machine.
            "Auto-Submitted: auto-generated",
            "X-Auto-Response-Suppress: All",
        ]
        if let list { lines.append("List-Id: <\(MailMessage.token(list)).\(domain)>") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + QuotedPrintable.encode(text)
    }

    private static func token(_ text: String) -> String {
        text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
    }

    /// `Sat, 10 Jan 2026 00:31:00 +0000`.
    static func date(_ at: Timestamp) -> String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let day = at.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient
        // 1 January 1970 was a Thursday.
        let weekday = days[Int(day.flooredQuotientAndRemainder(dividingBy: 7).remainder)]
        let text = at.rfc3339
        let date = text.prefix(10).split(separator: "-")
        let month = date.count == 3 ? Int(date[1]).flatMap { months.indices.contains($0 - 1) ? months[$0 - 1] : nil } : nil
        return "\(weekday), \(date.last ?? "") \(month ?? "") \(date.first ?? "") \(text.dropFirst(11).prefix(8)) +0000"
    }
}

extension BinaryInteger {
    fileprivate func flooredQuotientAndRemainder(dividingBy divisor: Self) -> (quotient: Self, remainder: Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
