// What an organisation fills in to ask for one person's data, and what is wrong with it (SHR-02, SHR-03).

import Contracts

/// A form whose every field is as it should be.
struct RequestForm: Hashable, Sendable {
    static let longestName = 200
    static let longestPurpose = 1000
    /// How far ahead a subscription may reach: ten years of 366 days.
    static let furthestAhead = Duration.seconds(10 * 366 * 86_400)

    let organisation: OrganisationID
    let organisationName: String
    let fiscalCode: String
    let scope: SharingScope
    let granularity: GrantGranularity
    let purpose: String

    /// One field and what is wrong with it.
    struct Fault: Error, Hashable, Sendable {
        let field: String
        let detail: String
    }

    init(_ asked: OpenRequest, at now: Timestamp) throws(Fault) {
        organisationName = try Self.text(asked.organisationName, "organisationName", longest: Self.longestName)
        fiscalCode = try Self.text(asked.fiscalCode, "fiscalCode", longest: 64)
        purpose = try Self.text(asked.purpose, "purpose", longest: Self.longestPurpose)
        guard !asked.types.isEmpty else { throw Fault(field: "types", detail: "choose at least one data type") }
        let types = Set(asked.types)
        guard types.count == asked.types.count else { throw Fault(field: "types", detail: "name each data type once") }
        guard asked.from.milliseconds >= 0 else { throw Fault(field: "from", detail: "begin in 1970 or later") }
        guard asked.from < asked.to else { throw Fault(field: "to", detail: "end the period after it begins") }
        guard asked.to <= now + Self.furthestAhead else { throw Fault(field: "to", detail: "end the period within ten years from now") }
        guard let scope = SharingScope(types: types, window: asked.from..<asked.to) else {
            throw Fault(field: "types", detail: "choose at least one data type and a period")
        }
        (organisation, self.scope, granularity) = (asked.organisation, scope, asked.granularity)
    }

    /// Without white space around it.
    private static func text(_ text: String, _ field: String, longest: Int) throws(Fault) -> String {
        var shown = Substring(text)
        while let first = shown.first, first.isWhitespace { shown.removeFirst() }
        while let last = shown.last, last.isWhitespace { shown.removeLast() }
        guard !shown.isEmpty else { throw Fault(field: field, detail: "fill it in") }
        guard shown.count <= longest else { throw Fault(field: field, detail: "use at most \(longest) characters") }
        guard PlainText.isClean(shown) else { throw Fault(field: field, detail: PlainText.advice) }
        return String(shown)
    }
}
