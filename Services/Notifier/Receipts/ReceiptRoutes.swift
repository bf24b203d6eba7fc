// The routes over HTTP for providers: what became of the messages that they had taken.

import Contracts
import Foundation
import HTTPKit
import Sealing

struct ReceiptRoutes: Sendable {
    /// A receipt is small.
    static let bodyLimit = 4 << 10

    let service: ReceiptService
    let addresses: ReceiptAddresses
    let signed: SignedGateway

    var all: [Route] { [kannel, gateway] }

    private var kannel: Route {
        Route(
            .get, "/notify/v1/receipts/kannel", as: "takeKannelReport", access: .anyone, summary: "Takes a delivery report of Kannel",
            description: "Kannel is given this address, with a token of the attempt's own, together with the message.",
            parameters: [
                .query("message", .identifier(Message.self), required: true, "The message."),
                .query("attempt", .integer(in: 1...1_000_000), required: true, "Which attempt it was."),
                .query("token", .string(length: 32...32), required: true, "Proves that the address was given to Kannel."),
                .query("status", .string(length: 1...8), required: true, "Kannel's `%d`: 1, 2, 4, 8 or 16."),
            ],
            answers: [
                Answer(202, "Taken", contents: [.init(MediaType.text, .string())]), .problem(404, "not-found"),
                .problem(422, "unknown-receipt"),
            ]
        ) { exchange in
            let message = try exchange.required("message", exchange.queryIdentifier("message", of: Message.self))
            let attempt = try exchange.required("attempt", exchange.queryInteger("attempt", in: 1...1_000_000))
            let token = try exchange.required("token", exchange.query("token"))
            let status = try exchange.required("status", exchange.query("status"))
            guard addresses.isToken(token, of: message, attempt: attempt) else { throw Problem.notFound }
            guard let receipt = Delivery.Receipt(kannelStatus: status) else { throw Problem.unknownReceipt }
            return try await InboxRoutes.answering {
                guard try await service.take(receipt, of: message, on: .sms, attempt: attempt, from: "kannel") else {
                    throw Problem.notFound
                }
                // Kannel asks again for anything but 200 and 202.
                return .text("taken\n", status: 202)
            }
        }
    }

    private var gateway: Route {
        Route(
            .post, "/notify/v1/receipts", access: .anyone, summary: "Takes a receipt of the signed gateway",
            description: SignedGateway.description, parameters: SignedGateway.parameters(of: "receipt"),
            body: .json(GatewayReceipt.self, limit: ReceiptRoutes.bodyLimit, inflatedLimit: ReceiptRoutes.bodyLimit),
            answers: [
                Answer(204, "Taken"), .problem(401, "unauthorised"), .problem(404, "not-found"), .problem(422, "unknown-receipt"),
            ]
        ) { exchange in
            let body = try await signed.body(of: exchange)
            guard let sent = try? CheckedJSON.decode(GatewayReceipt.self, from: body), let message = MessageID(sent.message),
                let channel = Contracts.Channel(rawValue: sent.channel), [.sms, .call].contains(channel),
                let receipt = Delivery.Receipt(rawValue: sent.receipt)
            else { throw Problem.unknownReceipt }
            return try await InboxRoutes.answering {
                guard try await service.take(receipt, of: message, on: channel, attempt: nil, from: GatewayProvider.name) else {
                    throw Problem.notFound
                }
                return .empty()
            }
        }
    }
}
