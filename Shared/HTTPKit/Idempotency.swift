// A request repeated under its Idempotency-Key: what to do. Where first answers are kept is the service's affair.

import Contracts

/// What a key may be, where it holds, and what a second request under it gets.
package enum IdempotencyRule {
    /// Bytes of printable ASCII.
    package static let longestKey = 255

    /// Printable ASCII, 1 to 255 characters.
    package static func isKey(_ text: String) -> Bool {
        (1...longestKey).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Under what the key is unique: the caller and the operation, so that nobody meets another's keys.
    package static func scope(_ caller: Caller, _ operation: String) -> String {
        switch caller {
        case .anyone: "anyone " + operation
        case .device(let device, _, _): device.description + " " + operation
        case .integrator(let name, _): "integrator:" + name + " " + operation
        case .person(let person, _): person.description + " " + operation
        case .member(let member, _, _): member.description + " " + operation
        case .operator(let `operator`, _): `operator`.description + " " + operation
        case .client(_, let organisation, _): organisation.description + " " + operation
        }
    }

    /// - Parameters:
    ///   - first: what is kept under the scope and key, from the last 24 hours.
    ///   - bodyHash: of the request that has come now.
    package static func judge(_ first: FirstAnswer?, bodyHash: [UInt8]) -> IdempotencyVerdict {
        guard let first else { return .new }
        return first.bodyHash == bodyHash ? .replay(first) : .conflict
    }
}

/// What a service keeps of the first request under a key.
package struct FirstAnswer: Hashable, Sendable {
    /// Of the request's body: tells a repetition from another use of the key.
    package var bodyHash: [UInt8]
    package var status: Int
    package var contentType: String
    /// Given again byte for byte. It may be personal: the service keeps it sealed.
    package var body: [UInt8]

    package init(bodyHash: [UInt8], status: Int, contentType: String = MediaType.json, body: [UInt8]) {
        (self.bodyHash, self.status, self.contentType, self.body) = (bodyHash, status, contentType, body)
    }

    /// The first answer again, marked by `Idempotency-Replayed: true`.
    package var answer: HTTPAnswer {
        HTTPAnswer.bytes(body, contentType: contentType, status: status).with(.idempotencyReplayed, "true")
    }
}

/// What to do with a request that carries a key.
package enum IdempotencyVerdict: Hashable, Sendable {
    /// Not seen: do it and keep the answer.
    case new
    /// Seen: give the first answer.
    case replay(FirstAnswer)
    /// The key was used for something else: 422 `idempotency-conflict`.
    case conflict
}
