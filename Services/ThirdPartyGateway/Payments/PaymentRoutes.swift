// The doors of payments over HTTP: what is due, what was paid, and paying.

import Contracts
import HTTPKit

struct PaymentRoutes: Sendable {
    let service: PaymentService
    let admit: Admit

    var all: [Route] { [payments, payment, pay, giveUp] }

    private enum Kept: String, CaseIterable {
        case open, made
    }

    private static let paymentID = Parameter.path("payment", .identifier(Payment.self), "The payment's id.")

    private var payments: Route {
        Route(
            .get, "/thirdparty/v1/payments", access: .organisation, scopes: [Right.paymentsRead.rawValue],
            summary: "Payments made and payments open, newest first",
            description: "Needs `payments:read`.",
            parameters: [
                .query("show", .oneOf(Kept.allCases.map(\.rawValue)), "Only what is to be paid, or only what was."),
                .query("status", .oneOf(PaymentStatus.allCases.map(\.rawValue)), "Only those of this status."),
                .query("request", .identifier(DataRequest.self), "Only that of this request."),
                .query("groupRequest", .identifier(GroupDataRequest.self), "Only that of this group request."),
                .query("from", .time, "Of requests made since then."), .query("to", .time, "Of requests made before then."), .limit, .after,
            ],
            answers: [
                .json(200, "The payments, each with its request", Page<PaymentItem>.self, example: Examples.page(Examples.paid)),
                .noAdmission,
            ]
        ) { exchange in
            let organisation = try await admit(exchange, .paymentsRead).id
            let filter = PaymentFilter(
                organisation: organisation, status: try exchange.queryChoice("status", of: PaymentStatus.self),
                isOpen: try exchange.queryChoice("show", of: Kept.self).map { $0 == .open },
                request: try exchange.queryIdentifier("request", of: DataRequest.self)
                    ?? exchange.queryIdentifier("groupRequest", of: GroupDataRequest.self)?.billed, from: try exchange.queryTime("from"),
                to: try exchange.queryTime("to"))
            let (items, next) = try await service.list(filter, before: try exchange.cursor(Int64.init), limit: try exchange.pageLimit)
            return try .json(Page(items: items.map { PaymentItem($0, methods: methods) }, next: next.map(String.init)))
        }
    }

    private var payment: Route {
        Route(
            .get, "/thirdparty/v1/payments/{payment}", access: .organisation, scopes: [Right.paymentsRead.rawValue], summary: "One payment",
            description: "Needs `payments:read`.", parameters: [Self.paymentID],
            answers: [.json(200, "The payment", PaymentItem.self, example: Examples.due), .noAdmission, .problem(404, "not-found")]
        ) { exchange in
            let organisation = try await admit(exchange, .paymentsRead).id
            guard let shown = try await service.find(exchange.identifier("payment"), of: organisation) else { throw Problem.absent }
            return try .json(PaymentItem(shown, methods: methods))
        }
    }

    private var pay: Route {
        Route(
            .post, "/thirdparty/v1/payments/{payment}/attempts", as: "pay", access: .organisation, scopes: [Right.paymentsWrite.rawValue],
            summary: "Pays, or goes on with paying",
            description: """
                May be sent again at any time: an amount is charged at most once. With `paymentMethod`, the handler's token, the card is \
                charged at once. Without it the answer's `step` tells what the payer does next; a notification of the handler, or this \
                call again, then settles the payment. Another method calls off the one before. Needs `payments:write`.
                """,
            parameters: [Self.paymentID],
            body: .json(PayBody.self, examples: [["method": "card", "paymentMethod": "pm_1MqLiJLkdIwHu7ixUEgbFdYF"]]),
            answers: [
                .json(200, "Paid, or waiting for the payer", PaymentItem.self, example: Examples.paid),
                .json(202, "The handler has not said yet", PaymentItem.self, example: Examples.due), .noAdmission,
                .problem(402, Problem.paymentDeclined.name), .problem(404, "not-found"),
                .problem(
                    409, Problem.paymentNotDue.name, Problem.paymentOver.name,
                    Problem.paymentUnderWay.name, Problem.paymentMethodUnavailable.name),
                .problem(410, Problem.groupReleaseLost.name), .problem(503, Problem.paymentHandlerUnreachable.name),
            ]
        ) { exchange in
            let organisation = try await admit(exchange, .paymentsWrite).id
            let id: PaymentID = try exchange.identifier("payment")
            let body: PayBody = try await exchange.json()
            guard let shown = try await service.pay(id, of: organisation, by: body.method, token: body.paymentMethod) else {
                throw Problem.absent
            }
            return try .json(
                PaymentItem(shown, methods: methods), status: shown.stored.bill.live?.state == .confirming ? 202 : 200)
        }
    }

    private var giveUp: Route {
        Route(
            .delete, "/thirdparty/v1/payments/{payment}/attempts", as: "cancelPaymentAttempt", access: .organisation,
            scopes: [Right.paymentsWrite.rawValue], summary: "Calls off what was begun",
            description: "The amount stays due. Needs `payments:write`.", parameters: [Self.paymentID],
            answers: [
                .json(200, "The payment as it is now", PaymentItem.self, example: Examples.due), .noAdmission, .problem(404, "not-found"),
                .problem(
                    409, Problem.paymentNotDue.name, Problem.paymentOver.name, Problem.paymentUnderWay.name
                ),
            ]
        ) { exchange in
            let organisation = try await admit(exchange, .paymentsWrite).id
            guard let shown = try await service.abandon(exchange.identifier("payment"), of: organisation) else { throw Problem.absent }
            return try .json(PaymentItem(shown, methods: methods))
        }
    }

    private var methods: [PaymentMethod] { service.paymentStore.providers.methods }
}
