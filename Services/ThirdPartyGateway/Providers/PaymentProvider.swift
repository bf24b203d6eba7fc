// The one face of all payment handlers: the rest of the gateway knows no other.

import Contracts
import Foundation
import Outbound

/// Carries a call to a handler and says what it answered. The same job may be carried again after a crash: it must not charge
/// twice.
protocol PaymentProvider: Sendable {
    var name: String { get }
    /// Whether a charge is asked for with the handler's token of the payer's means of payment.
    var takesToken: Bool { get }
    func carry(_ job: PaymentJob) async -> ProviderStatus
    /// After a restore, before an attempt is opened: money of this payment that is neither given back nor contested.
    /// - Parameter known: references of this store, which is not asked about those.
    func forgotten(_ payment: PaymentID, besides known: Set<String>) async -> ForgottenPayment
}

extension PaymentProvider {
    /// Of a handler that cannot be searched.
    func forgotten(_ payment: PaymentID, besides known: Set<String>) async -> ForgottenPayment { .unknown }
}

/// The handler of each method that the operator has set up.
struct PaymentProviders: Sendable {
    private let byMethod: [PaymentMethod: any PaymentProvider]

    init(_ byMethod: [PaymentMethod: any PaymentProvider]) {
        self.byMethod = byMethod
    }

    /// Those that can be paid by, in the order of the contract.
    var methods: [PaymentMethod] { PaymentMethod.allCases.filter { byMethod[$0] != nil } }

    func provider(for method: PaymentMethod) -> (any PaymentProvider)? {
        byMethod[method]
    }

    /// Of every handler that is set up, the attempt's own first: a process that has charged takes the place of a new one.
    /// - Parameter provider: whose process is to be opened.
    /// - Returns: nil where nobody has been paid.
    func forgotten(_ payment: PaymentID, besides known: Set<String>, opening provider: String) async -> ProviderStatus? {
        let others = methods.compactMap { byMethod[$0] }.filter { $0.name != provider }
        for one in [named(provider)].compactMap({ $0 }) + others {
            switch await one.forgotten(payment, besides: known) {
            case .unknown: continue
            case .unreachable: return .unreachable
            case .paid(let reference, let amount):
                // Another handler's money is found once the payer chooses that handler.
                return one.name == provider
                    ? .opened(reference: reference, step: PayerStep(), amount: amount) : .ended(reason: "paid-by-\(one.name)-before")
            }
        }
        return nil
    }

    /// By its name, for what was begun before; nil where it is set up no more.
    func named(_ name: String) -> (any PaymentProvider)? {
        byMethod.values.first { $0.name == name }
    }
}

/// Calls to a handler's API over HTTPS.
struct HandlerCalls: Sendable {
    /// Answers of handlers are a few kilobytes.
    static let longestAnswer = 256 << 10

    let http: HTTPSender
    let timeout: Duration

    enum Reply: Sendable {
        case answer(status: Int, body: JSONTree)
        /// No answer, or one that says that the handler is in trouble: nobody knows what became of the call.
        case unreachable
    }

    func send(_ url: String, _ method: String, headers: [(name: String, value: String)], body: String = "") async -> Reply {
        let request = OutboundRequest(
            url: url, method: method, headers: headers, body: Array(body.utf8), timeout: timeout, connectTimeout: min(timeout, .seconds(3)),
            maxResponseBytes: Self.longestAnswer)
        guard let response = try? await http.attempt(request).outcome.get() else { return .unreachable }
        // Too many requests and conflicts of a key that is in use mean: later.
        guard response.status < 500, ![408, 409, 425, 429].contains(response.status) else { return .unreachable }
        let body = (try? JSONTree(response.body)) ?? .null
        return .answer(status: response.status, body: body)
    }

    /// A handler's word for a reason as we pass it on: short, for programs, without anybody's data.
    static func reason(_ text: String?, else usual: String) -> String {
        guard let text, (1...64).contains(text.utf8.count) else { return usual }
        let word = text.lowercased().replacing("_", with: "-")
        let isPlain = word.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-")
        }
        return isPlain ? word : usual
    }
}
