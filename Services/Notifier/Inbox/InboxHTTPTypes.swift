// What people and providers read and write over HTTP.

import Contracts
import Foundation
import HTTPKit

/// One message of the inbox.
struct InboxMessage: Codable, Sendable, Documented {
    var message: String
    /// As in `MessageTemplate`: programs act on it.
    var kind: String
    var at: String
    var readAt: String?
    var language: String
    var title: String
    var text: String
    /// Where there is something to do; absent where there is not.
    var link: String?

    init(_ item: InboxItem) {
        let rendered = RenderedMessage(item.content.template, in: item.content.language, values: item.content.values, origin: "")
        message = "\(item.message)"
        kind = item.content.template.rawValue
        at = item.at.rfc3339
        readAt = item.readAt?.rfc3339
        language = item.content.language.rawValue
        title = item.content.template == .announcement ? rendered.subject : rendered.title
        text = rendered.body
        link = item.content.values["link"]
    }

    static var schema: JSONSchema {
        .object(
            .required("message", .identifier(Message.self)),
            .required("kind", .oneOf(MessageTemplate.allCases.map(\.rawValue)), "What it is about, for programs."),
            .required("at", .time), .optional("readAt", .time, "Absent while it is unread."),
            .required("language", .oneOf(Language.allCases.map(\.rawValue))), .required("title", .string()), .required("text", .string()),
            .optional("link", .string(), "Where there is something to do.")
        ).named("InboxMessage")
    }
}

struct UnreadCount: Codable, Sendable, Documented {
    var unread: Int

    static var schema: JSONSchema {
        .object(.required("unread", .integer(in: 0...Int(Int32.max)))).named("UnreadCount")
    }
}

/// How a person can be reached, and how they want to be.
struct ChannelList: Codable, Sendable, Documented {
    struct Item: Codable, Sendable {
        var channel: String
        /// Whether this installation has a provider for it, and for push whether there is an endpoint.
        var available: Bool
        var chosen: Bool
    }

    var channels: [Item]

    static var schema: JSONSchema {
        .object(
            .required(
                "channels",
                .array(
                    of: .object(
                        .required("channel", .oneOf(Channel.allCases.map(\.rawValue))),
                        .required("available", .boolean, "Whether messages can come this way at present."),
                        .required("chosen", .boolean, "Whether news may come this way. The inbox always has everything."))))
        ).named("ChannelList")
    }
}

/// What a person wants; messages that protect the account come all the same.
struct ChannelChoices: Codable, Sendable, Documented {
    var mail: Bool
    var sms: Bool
    var call: Bool
    var push: Bool

    var off: Set<Channel> {
        var off: Set<Channel> = []
        if !mail { off.insert(.mail) }
        if !sms { off.insert(.sms) }
        if !call { off.insert(.call) }
        if !push { off.insert(.push) }
        return off
    }

    static var schema: JSONSchema {
        .object(
            .required("mail", .boolean), .required("sms", .boolean), .required("call", .boolean), .required("push", .boolean)
        ).named("ChannelChoices").described("Whether news may come by each channel.")
    }
}

struct NewEndpoint: Codable, Sendable, Documented {
    static let longestAddress = 500

    var address: String

    /// What the person is told of it: the rest of the address may be a secret. Empty where it is not usable.
    var host: String { URL(string: address)?.host ?? "" }

    /// https, a host, no user name: nothing that a person could be led to by somebody else's link.
    var isUsable: Bool {
        guard address.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URL(string: address), let host = url.host else {
            return false
        }
        return url.scheme == "https" && !host.isEmpty && url.user == nil && url.password == nil && url.fragment == nil
    }

    static var schema: JSONSchema {
        .object(
            .required(
                "address", .string(length: 1...longestAddress),
                "The https address that takes messages by POST, as push apps of ntfy's kind show it.")
        ).named("NewEndpoint")
    }
}

struct EndpointItem: Codable, Sendable, Documented {
    var endpoint: String
    var address: String
    var createdAt: String

    init(_ endpoint: Endpoint) {
        (self.endpoint, address, createdAt) = ("\(endpoint.id)", endpoint.address, endpoint.createdAt.rfc3339)
    }

    static var schema: JSONSchema {
        .object(.required("endpoint", .identifier(PushEndpoint.self)), .required("address", .string()), .required("createdAt", .time))
            .named("EndpointItem")
    }
}

/// What the signed gateway posts about a message.
struct GatewayReceipt: Codable, Sendable, Documented {
    var message: String
    var channel: String
    var receipt: String

    static var schema: JSONSchema {
        .object(
            .required("message", .identifier(Message.self)), .required("channel", .oneOf([Channel.sms.rawValue, Channel.call.rawValue])),
            .required(
                "receipt", .oneOf(Delivery.Receipt.allCases.map(\.rawValue)),
                "`rejected`: another provider is tried; `failed`: the recipient cannot be reached.")
        ).named("GatewayReceipt")
    }
}
