// Waiting for what will be so, instead of sleeping and hoping.

/// What was waited for did not come about in time.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// Asks again and again, at most every 5 ms, until `condition` gives a value; throws when `limit` has passed.
/// The limit only bounds a failing test: make it generous.
package func eventually<Value: Sendable>(
    _ what: String, within limit: Duration = .seconds(20), _ condition: @Sendable () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let value = try await condition() { return value }
        guard ContinuousClock.now < deadline else { throw NeverHappened(description: "not within \(limit): \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// As `eventually`, for a condition that is only true or false.
package func eventually(
    _ what: String, within limit: Duration = .seconds(20), isTrue condition: @Sendable () async throws -> Bool
) async throws {
    let _: Bool = try await eventually(what, within: limit) { try await condition() ? true : nil }
}
