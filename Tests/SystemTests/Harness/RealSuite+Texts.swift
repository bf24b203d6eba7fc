// Texts of real suites: what comes in as Kannel brings it. What goes out takes TestKit's `TextPeer`.

import Foundation
import Outbound
import TestKit

extension RealSuite {
    /// What Kannel asks when a text has come in.
    func receive(text: String, from number: String, token: String) async throws {
        let query = "token=\(token)&from=\(number.replacing("+", with: "%2B"))&text=\(text)"
        let address = "http://127.0.0.1:\(notifier?.port ?? 0)/notify/v1/inbound/sms?\(query)"
        _ = try await HTTPSender.anywhere().send(OutboundRequest(url: address))
    }
}
