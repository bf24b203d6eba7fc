// What tests of every module do with a question: send it wherever it is to go, one after another, and read why it failed.

package import Contracts
package import Outbound

extension HTTPSender {
    /// One that reaches this machine too, which the services' own never do.
    /// - Parameter authorities: PEM file that the other side's certificate must lead to.
    package static func anywhere(authorities: String? = nil) -> HTTPSender {
        var settings = OutboundSettings()
        (settings.policy, settings.authorities) = (.anywhere, authorities)
        return HTTPSender(settings, logger: Running.quiet)
    }
}

/// The failure that a question got; nil where it got none.
package func failure(_ work: () async throws -> Void) async -> Failure? {
    do {
        try await work()
        return nil
    } catch {
        return error as? Failure
    }
}

extension Array {
    /// One after another.
    package func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { try await values.append(transform(element)) }
        return values
    }
}
