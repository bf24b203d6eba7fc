// Texts that come in: handed to the dispatcher, which knows whose number may acknowledge what.

import Bus
import Contracts
import ServiceKit

/// Keeps nothing: the provider asks again until it is told that the text was taken.
actor InboundDesk {
    private let runtime: Runtime
    private var dispatcher: BusClient?

    init(_ runtime: Runtime) {
        self.runtime = runtime
    }

    /// Returns what the text said; nil for one that is no acknowledgement.
    func take(_ text: InboundText) async throws -> String? {
        let client: BusClient
        if let dispatcher {
            client = dispatcher
        } else {
            client = try await runtime.client(of: .sosDispatcher)
            dispatcher = client
        }
        return try await client.ask(AcknowledgeByCode(number: text.number, text: text.text), deadline: .seconds(2)).result
    }
}

/// A text as a provider tells it.
struct InboundText: Hashable, Sendable {
    /// Characters that are looked at.
    static let longest = 480

    let number: String
    let text: String

    /// nil for a sender that is no telephone number. Providers write numbers with `+`, with `00`, or with neither.
    init?(from sender: String, text: String) {
        var digits = sender.filter { $0.isASCII && $0.isNumber }
        if sender.hasPrefix("00") { digits = String(digits.dropFirst(2)) }
        guard (7...15).contains(digits.count), sender.allSatisfy({ $0.isNumber || " +-()".contains($0) }) else { return nil }
        number = "+" + digits
        self.text = String(text.prefix(InboundText.longest))
    }
}
