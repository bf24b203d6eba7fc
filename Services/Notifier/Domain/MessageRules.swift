// What is taken as a message, and on which channels it goes out.

import Contracts
import Foundation

/// The checks of a request `send-message`.
enum MessageRules {
    /// Characters of a value; only `text` and `certificate` may have several lines.
    static let longestValue = 4000
    static let longestText = 20_000
    private static let longTexts: Set<String> = ["text", "certificate"]

    /// What is wrong, without any value in it; nil where nothing is.
    static func fault(of message: SendMessage) -> String? {
        guard !message.channels.isEmpty else { return "a message needs at least one channel" }
        let needed = message.template.values
        let missing = needed.subtracting(message.values.keys).sorted()
        guard missing.isEmpty else { return "the template \(message.template.rawValue) lacks: \(missing.joined(separator: ", "))" }
        guard message.values.count == needed.count else {
            return "the template \(message.template.rawValue) takes only: \(needed.sorted().joined(separator: ", "))"
        }
        for (name, value) in message.values.sorted(by: { $0.key < $1.key }) {
            if let fault = fault(of: value, named: name) { return "the value \(name) \(fault)" }
        }
        return nil
    }

    private static func fault(of value: String, named name: String) -> String? {
        let isLong = longTexts.contains(name)
        guard !value.isEmpty else { return "is empty" }
        guard value.unicodeScalars.count <= (isLong ? longestText : longestValue) else { return "is too long" }
        let isClean = value.unicodeScalars.allSatisfy { scalar in
            scalar.properties.generalCategory != .control || isLong && (scalar == "\n" || scalar == "\t" || scalar == "\r")
        }
        guard isClean else { return "holds control characters" }
        if name == "link" {
            let isLink = URL(string: value).map { ["https", "http"].contains($0.scheme ?? "") && !($0.host ?? "").isEmpty } ?? false
            guard isLink, !value.contains(" ") else { return "must be an absolute http(s) address" }
        }
        return nil
    }
}

/// One way in which a message goes out, or why it does not.
struct PlannedDelivery: Hashable, Sendable {
    var channel: Channel
    /// Number of the push endpoint; 0 on other channels.
    var target: Int64 = 0
    /// Where it goes; nil where it is decided already.
    var address: String?
    /// Why it fails at once; nil where it does not.
    var reason: String?

    /// All ways of a message, in a fixed order.
    /// - Parameters:
    ///   - off: channels that the person has switched off.
    ///   - endpoints: numbers of the person's push endpoints.
    ///   - isMail: whether an address can be written into an envelope.
    static func plan(
        _ message: SendMessage, off: Set<Channel>, endpoints: [Int64], isMail: (String) -> Bool
    ) -> [PlannedDelivery] {
        message.channels.sorted { $0.rawValue < $1.rawValue }.flatMap { channel -> [PlannedDelivery] in
            if channel != .inbox, off.contains(channel), message.template.mayBeSwitchedOff {
                return [PlannedDelivery(channel: channel, reason: "switched-off")]
            }
            switch channel {
            case .mail: return [addressed(channel, message.recipient.mail, isMail)]
            case .sms, .call: return [addressed(channel, message.recipient.phone) { TelephoneNumber(e164: $0) != nil }]
            case .push:
                guard message.recipient.person != nil, !endpoints.isEmpty else {
                    return [PlannedDelivery(channel: channel, reason: "no-channel")]
                }
                return endpoints.map { PlannedDelivery(channel: channel, target: $0, address: "") }
            case .inbox:
                return [PlannedDelivery(channel: channel, reason: message.recipient.person == nil ? "no-channel" : nil)]
            }
        }
    }

    private static func addressed(_ channel: Channel, _ address: String?, _ isUsable: (String) -> Bool) -> PlannedDelivery {
        guard let address, !address.isEmpty else { return PlannedDelivery(channel: channel, reason: "no-channel") }
        guard isUsable(address) else { return PlannedDelivery(channel: channel, reason: "address-refused") }
        return PlannedDelivery(channel: channel, address: address)
    }
}
