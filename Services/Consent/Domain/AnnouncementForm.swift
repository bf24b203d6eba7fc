// What an operator must say to announce something.

import Contracts

/// A form in which every field is right.
struct AnnouncementForm: Hashable, Sendable {
    static let longestText = 2000
    /// Nothing is announced that would last longer.
    static let longest: Duration = .seconds(366 * 24 * 3600)

    var from: Timestamp
    var to: Timestamp
    var isMaintenance: Bool
    /// Whether it is about personal data that may have come into wrong hands: then each person is written to as well.
    var isBreach: Bool
    var italian: Announcement.Text
    var english: Announcement.Text

    enum Judgement: Hashable, Sendable {
        case right(AnnouncementForm)
        /// Every field that is missing or wrong.
        case wrong([Problem.FieldError])
    }

    static func check(_ form: JSONTree, now: Timestamp) -> Judgement {
        var reader = FormReader(form)
        let from = reader.read("from", orElse: .notATime) { Timestamp(rfc3339: $0) }
        let to = reader.read("to", orElse: .notATime) { Timestamp(rfc3339: $0) }
        if let from, let to, to <= from { reader.wrong("to", .notAfter("from")) }
        if let from, let to, to - from > longest { reader.wrong("to", .periodTooLong(days: 366, from: "from")) }
        if let to, to <= now { reader.wrong("to", .inThePast) }
        let (isMaintenance, isBreach) = (reader.flag("maintenance"), reader.flag("breach"))
        let italian = text(&reader, "italianTitle", "italianText")
        let english = text(&reader, "englishTitle", "englishText")
        reader.finish()
        guard let from, let to, let italian, let english, reader.faults.isEmpty else { return .wrong(reader.faults) }
        return .right(
            AnnouncementForm(from: from, to: to, isMaintenance: isMaintenance, isBreach: isBreach, italian: italian, english: english))
    }

    private static func text(_ reader: inout FormReader, _ titleField: String, _ textField: String) -> Announcement.Text? {
        let title = reader.text(titleField)
        let text = reader.text(textField, longest: longestText)
        guard let title, let text else { return nil }
        return Announcement.Text(title: title, text: text)
    }
}
