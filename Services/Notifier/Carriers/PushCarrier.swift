// Push by plain HTTP, as ntfy and its like take it: a POST to the address that the person has registered.

import Contracts
import Outbound

/// The other side is a stranger's server: it learns that there is something and when, and nothing else. One message is different:
/// the prompt of an emergency carries the link to its answers, since whoever needs it has no time to log in.
struct PushCarrier: Carrier {
    static let provider = "push"
    /// The word for an endpoint that will not come back.
    static let gone = "endpoint-gone"
    private static let goneStatuses: Set<Int> = [404, 410]

    /// Its policy decides which addresses a person may make this service connect to.
    let http: HTTPSender
    /// Opened by a tap on the message.
    let origin: String

    var providers: [String] { [PushCarrier.provider] }

    func carry(_ letter: Letter, by provider: String) async -> Delivery.Outcome {
        var request = OutboundRequest.post(letter.address, Array(letter.text.push.utf8), contentType: "text/plain; charset=utf-8")
        request.headers += [
            ("Title", HeaderText(letter.text.title).encoded(fold: " ")),
            ("Priority", letter.text.isUrgent ? "urgent" : "default"), ("Click", letter.text.link ?? origin),
            // Stays the same on a repetition.
            ("X-Message-Id", "\(letter.message)"),
        ]
        let attempt = await http.attempt(request)
        if case .failure(.refusedAddress) = attempt.outcome { return .refused("endpoint-refused") }
        if case .failure(.malformed) = attempt.outcome { return .refused("endpoint-refused") }
        // A push server's refusal is final: nobody here can correct its cause.
        if case .success(let response) = attempt.outcome, [401, 403].contains(response.status) { return .refused("endpoint-refused") }
        return attempt.outcome(taken: .taken(receipts: false)) {
            PushCarrier.goneStatuses.contains($0) ? PushCarrier.gone : "endpoint-refused"
        }
    }
}
