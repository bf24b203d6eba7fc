// What a refused organisation is told: a reason of three, and nothing that depends on people.

enum RefusalReason: String, Hashable, Sendable, CaseIterable {
    case tooFewIndividuals = "TOO_FEW_INDIVIDUALS"
    case tooSimilar = "TOO_SIMILAR_TO_EARLIER_REQUEST"
    case budgetExhausted = "PRIVACY_BUDGET_EXHAUSTED"

    static let problemType = "urn:trackme:problem:group-not-anonymisable"

    /// Constant (ANO-08).
    static let message =
        "The group cannot be properly anonymised. Use less restrictive parameters (wider age or weight interval, larger area, "
        + "longer period, fewer data types)."

    /// The whole body, constant for each reason, so that it cannot carry anything.
    var body: [UInt8] {
        Array(#"{"type":"\#(Self.problemType)","reason":"\#(rawValue)","message":"\#(Self.message)"}"#.utf8)
    }

    /// Answers leave on the next multiple of so many ms, so that time carries nothing either.
    static let paddingMilliseconds: Int64 = 50

    /// How long to wait yet. - Parameter elapsed: in ms since the request came.
    static func wait(afterMilliseconds elapsed: Int64) -> Int64 {
        let rest = elapsed % paddingMilliseconds
        return rest == 0 && elapsed > 0 ? 0 : paddingMilliseconds - rest
    }
}
