// Whether a message that was sent has the form that the OpenAPI document gives to its type.

import Contracts
import Foundation
import Testing

@testable import HTTPKit
@testable import ThirdPartyGateway

enum WebhookForm {
    /// Records a type that no documentation names, and whatever of the message does not fit.
    static func check(_ body: [UInt8]) {
        guard let type = try? JSONTree(body)["type"].text, let event = WebhookEvent(rawValue: type) else {
            Issue.record("a message of no known type")
            return
        }
        let faults = try? body.withUnsafeBytes { try event.schema.faults(in: $0) }
        #expect(faults == [], "\(type)")
    }
}
