// Texts that come in: handed to whichever dispatcher answers, which knows whose number may acknowledge what.

import Bus
import Contracts
import ServiceKit

/// Keeps nothing: the provider asks again until it is answered that the text was taken.
actor InboundService {
    /// Of each attempt, at each of the two dispatchers.
    private static let deadline = Duration.seconds(1)
    private static let attempts = 2

    private let runtime: Runtime
    private var clients: [Peer: BusClient] = [:]

    init(_ runtime: Runtime) {
        self.runtime = runtime
    }

    /// Returns what the text means; nil for one that is no acknowledgement.
    func take(_ text: InboundText) async throws -> String? {
        let request = AcknowledgeByCode(number: text.number, text: text.text)
        do {
            return try await ask(request, of: AcknowledgeByCode.owner)
        } catch let failure as Failure where failure.isRetriable {
            // Whoever stands in for a dispatcher that does not answer calls the same services, and waits for the same codes.
            // A text that means nothing to it either may mean something to the other: the provider is to come again.
            guard let deputy = AcknowledgeByCode.owner.deputy, let result = try? await ask(request, of: deputy) else { throw failure }
            return result
        }
    }

    private func ask(_ request: AcknowledgeByCode, of peer: Peer) async throws -> String? {
        if clients[peer] == nil { clients[peer] = try await runtime.client(of: peer) }
        return try await clients[peer]?.ask(request, deadline: InboundService.deadline, attempts: InboundService.attempts).result
    }
}

/// A text as a provider sends it.
struct InboundText: Hashable, Sendable {
    /// Characters that are read.
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
