// What the gateway says over HTTP of prices, payments and invoices.

import Contracts
import HTTPKit

struct AmountItem: Codable, Sendable {
    /// Whole minor units, cents for most currencies.
    var minor: Int64
    var currency: String
    /// With a point: `12.50`.
    var decimal: String

    init(_ amount: Amount) {
        (minor, currency, decimal) = (amount.minor, amount.currency, amount.decimal)
    }
}

struct PriceListItem: Codable, Sendable {
    var version: Int
    /// Absent where no list was ever set: everything is free.
    var from: String?
    var prices: PriceList

    init(_ version: PriceVersion) {
        (self.version, from, prices) = (version.version, version.from?.rfc3339, version.prices)
    }
}

/// What a quote is asked for.
struct QuoteBody: Codable, Sendable {
    var types: [Metric]
    var from: String
    var to: String?
    /// Instead of `to`, as in a request.
    var length: String?
    var granularity: GrantGranularity
    var persons: Int?
}

struct QuoteItem: Codable, Sendable {
    struct Line: Codable, Sendable {
        var what: String
        var perDay: Int64?
        var days: Int64?
        var price: Int64
    }

    var priceListVersion: Int
    var lines: [Line]
    var rebatePercent: Int
    var net: Int64
    var tax: Int64
    var taxBasisPoints: Int
    var perPerson: AmountItem
    var persons: Int
    var total: AmountItem

    init(_ quote: Quote) {
        priceListVersion = quote.priceListVersion
        lines = quote.lines.map { Line(what: $0.what, perDay: $0.perDay, days: $0.days, price: $0.price) }
        (rebatePercent, net, tax, taxBasisPoints) = (quote.rebatePercent, quote.net, quote.tax, quote.taxBasisPoints)
        (perPerson, persons, total) = (AmountItem(quote.perPerson), quote.persons, AmountItem(quote.total))
    }
}

/// How the payer wants to pay.
struct PayBody: Codable, Sendable {
    static let longestToken = 255

    var method: PaymentMethod?
    var paymentMethod: String?
}

struct AttemptItem: Codable, Sendable {
    var method: PaymentMethod
    var state: PayingAttempt.State
    var reason: String?
    var startedAt: String

    init(_ attempt: PayingAttempt) {
        (method, state, reason, startedAt) = (attempt.method, attempt.state, attempt.reason, attempt.openedAt.rfc3339)
    }
}

/// One step of what became of a payment.
struct PaymentStepItem: Codable, Sendable {
    var at: String
    var method: PaymentMethod
    var state: PayingAttempt.State
    var reason: String?
}

struct PaymentItem: Codable, Sendable {
    var payment: PaymentID
    /// What is paid for: this, or a group request.
    var request: RequestID?
    var groupRequest: GroupRequestID?
    var status: PaymentStatus
    var amount: AmountItem
    var priceListVersion: Int
    /// Whether the handler found the payment feasible; absent while it has not said.
    var isFeasible: Bool?
    var attempt: AttemptItem?
    var step: StepItem?
    var history: [PaymentStepItem]
    /// What can be paid by.
    var methods: [PaymentMethod]
    var preset: PaymentMethod?
    var invoice: String?
    var creditNote: String?
    var createdAt: String
    var changedAt: String

    init(_ shown: ShownPayment, methods: [PaymentMethod]) {
        let bill = shown.stored.bill
        (payment, status, amount) = (bill.payment, bill.status, AmountItem(bill.amount))
        groupRequest = shown.stored.scope.group?.request
        request = groupRequest == nil ? bill.request : nil
        (priceListVersion, isFeasible) = (bill.priceListVersion, bill.isFeasible)
        // The attempt that shows feasibility before the acceptance is not the payer's affair.
        let attempt = bill.status == .notDue ? nil : bill.paying ?? bill.attempts.last
        self.attempt = attempt.map(AttemptItem.init)
        history = bill.status == .notDue ? [] : Self.history(bill)
        step = bill.status == .due && attempt?.state == .open ? attempt?.step.map(StepItem.init) : nil
        self.methods = bill.status == .due ? methods : []
        preset = shown.preset
        (invoice, creditNote) = (shown.invoice?.description, shown.creditNote?.description)
        (createdAt, changedAt) = (shown.stored.createdAt.rfc3339, bill.changedAt.rfc3339)
    }

    private static func history(_ bill: Bill) -> [PaymentStepItem] {
        let steps = bill.attempts.flatMap { attempt in (attempt.marks ?? []).map { (attempt.method, $0) } }
        return steps.enumerated().sorted { ($0.element.1.at, $0.offset) < ($1.element.1.at, $1.offset) }.map { _, step in
            PaymentStepItem(at: step.1.at.rfc3339, method: step.0, state: step.1.state, reason: step.1.reason)
        }
    }
}

/// What the payer does next.
struct StepItem: Codable, Sendable {
    var clientSecret: String?
    var publishableKey: String?
    var redirect: String?
    var accountHolder: String?
    var iban: String?
    var transferReference: String?

    init(_ step: PayerStep) {
        (clientSecret, publishableKey, redirect) = (step.clientSecret, step.publishableKey, step.redirect)
        (accountHolder, iban, transferReference) = (step.accountHolder, step.iban, step.transferReference)
    }
}

struct InvoiceItem: Codable, Sendable {
    var invoice: String
    var kind: Invoice.Kind
    var payment: PaymentID
    var request: RequestID?
    var groupRequest: GroupRequestID?
    var issuedAt: String
    var seller: Seller
    var buyer: BillingAddress
    var lines: [QuoteItem.Line]
    var rebatePercent: Int
    var net: Int64
    var tax: Int64
    var total: AmountItem
    var method: PaymentMethod
    /// The invoice that a credit note takes back.
    var takesBack: String?

    init(_ invoice: Invoice) {
        let quote = QuoteItem(invoice.content.quote)
        (self.invoice, kind, payment) = (invoice.number.description, invoice.kind, invoice.payment)
        groupRequest = invoice.content.scope.group?.request
        request = groupRequest == nil ? invoice.content.request : nil
        (issuedAt, seller, buyer) = (invoice.issuedAt.rfc3339, invoice.content.seller, invoice.content.buyer)
        (lines, rebatePercent, net, tax) = (quote.lines, quote.rebatePercent, quote.net, quote.tax)
        (total, method, takesBack) = (quote.perPerson, invoice.content.method, invoice.content.takesBack)
    }
}

// MARK: Their shapes

private let metricCode = JSONSchema.oneOf(Metric.all.map(\.code))
private let methodCode = JSONSchema.oneOf(PaymentMethod.allCases.map(\.rawValue))
private let minorUnits = JSONSchema.integer(in: 0...Int(Int64.max))

extension AmountItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("minor", minorUnits, "Whole minor units."), .required("currency", .string(length: 3...3), "ISO 4217."),
            .required("decimal", .string(), "The same with a point.")
        ).named("Amount")
    }
}

extension PriceListItem: Documented {
    static var schema: JSONSchema {
        let rate = JSONSchema.object(
            .required("seconds", minorUnits), .required("minutes", minorUnits), .required("hours", minorUnits)
        ).named("Rate").described("Of one data type for each day that was begun, by the finest step; minor units, without tax.")
        return .object(
            .required("version", .integer(in: 0...Int(Int32.max)), "Quotes and payments name it."),
            .optional("from", .time, "Since when it is in force."),
            .required(
                "prices",
                .object(
                    .required("currency", .string(length: 3...3)), .required("perRequest", minorUnits, "For each request by itself."),
                    .required("usual", rate, "Of every type that `types` does not name."),
                    .required("types", .map(of: rate), "By the code of the data type."),
                    .required(
                        "rebates",
                        .array(of: .object(.required("fromPersons", .integer()), .required("percent", .integer(in: 0...100)))),
                        "For many persons asked for at once; the best one that applies."),
                    .required("taxBasisPoints", .integer(in: 0...10_000), "Value added tax on top, in hundredths of a per cent."),
                    .optional(
                        "groups",
                        .object(
                            .required("perRequest", minorUnits, "For each request that is accepted."),
                            .required("perThousandEntries", minorUnits, "For each thousand entries that was begun.")),
                        "Of a group's data; absent where they are free. What is refused costs nothing.")
                ).named("Prices"))
        ).named("PriceList")
    }
}

extension QuoteBody: Documented {
    static var schema: JSONSchema {
        .object(
            .required("types", .array(of: metricCode, count: 1...Metric.all.count), "Each once."), .required("from", .time),
            .optional("to", .time.nullable(), "Not included."),
            .optional("length", .string(pattern: PeriodLength.pattern).nullable(), "Instead of `to`: P7D, P2W, P3M, P1Y."),
            .required("granularity", .oneOf(GrantGranularity.allCases.map(\.rawValue))),
            .optional("persons", .integer(in: 1...Quote.mostPersons), "How many are asked for at once; 1 unless told.")
        ).named("QuoteBody")
    }

    static let example: JSONValue = [
        "types": ["heart-rate"], "from": "2026-01-01T00:00:00.000Z", "to": "2026-02-01T00:00:00.000Z", "granularity": "minutes",
        "persons": 1,
    ]
}

extension QuoteItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("priceListVersion", .integer(in: 0...Int(Int32.max)), "Send it with the request to be sure of this price."),
            .required("lines", .array(of: Line.schema)), .required("rebatePercent", .integer(in: 0...100)),
            .required("net", minorUnits, "Of one person."), .required("tax", minorUnits, "Of one person."),
            .required("taxBasisPoints", .integer(in: 0...10_000)),
            .required("perPerson", AmountItem.schema, "What one accepted request costs."),
            .required("persons", .integer(in: 1...Quote.mostPersons)), .required("total", AmountItem.schema, "If everybody accepts.")
        ).named("Quote")
    }
}

extension QuoteItem.Line: Documented {
    static var schema: JSONSchema {
        .object(
            .required("what", .string(), "The code of a data type, `request`, `group-request` or `group-entries`."),
            .optional("perDay", minorUnits),
            .optional("days", minorUnits, "Each 24 hours of the period that were begun; at least one."),
            .required("price", minorUnits, "Without rebate and tax.")
        ).named("QuoteLine")
    }
}

extension PayBody: Documented {
    static var schema: JSONSchema {
        .object(
            .optional("method", methodCode, "The payment's `preset` unless told."),
            .optional(
                "paymentMethod", .string(length: 1...PayBody.longestToken, pattern: "^[A-Za-z0-9_-]+$"),
                "The handler's own token for the means of payment (`pm_…` of Stripe): it is charged at once. Never the number of a card.")
        ).named("PayBody")
    }
}

extension AttemptItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("method", methodCode), .required("state", .oneOf(PayingAttempt.State.allCases.map(\.rawValue))),
            .optional("reason", .string(), "Why it failed, in the handler's word."), .required("startedAt", .time)
        ).named("PaymentAttempt")
    }
}

extension PaymentStepItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("at", .time), .required("method", methodCode),
            .required("state", .oneOf(PayingAttempt.State.allCases.map(\.rawValue))), .optional("reason", .string())
        ).named("PaymentHistoryStep")
    }
}

extension StepItem: Documented {
    static var schema: JSONSchema {
        .object(
            .optional("clientSecret", .string(), "For Stripe's own form or API in the payer's program."),
            .optional("publishableKey", .string()),
            .optional("redirect", .string(), "Open it in the payer's browser, then pay again here."),
            .optional("accountHolder", .string()), .optional("iban", .string()),
            .optional("transferReference", .string(), "To be written into the transfer.")
        ).named("PaymentStep")
    }
}

extension PaymentItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("payment", .identifier(Payment.self)),
            .optional("request", .identifier(DataRequest.self), "What is paid for; absent where that is a group request."),
            .optional("groupRequest", .identifier(GroupDataRequest.self)),
            .required("status", .oneOf(PaymentStatus.allCases.map(\.rawValue)), "Data leave only where it is `paid`."),
            .required("amount", AmountItem.schema), .required("priceListVersion", .integer(in: 0...Int(Int32.max))),
            .optional("isFeasible", .boolean, "What the handler found at submission; absent while it has not said."),
            .optional("attempt", AttemptItem.schema), .optional("step", StepItem.schema, "What the payer does next."),
            .required("history", .array(of: PaymentStepItem.schema), "What became of each way of paying, the oldest first."),
            .required("methods", .array(of: methodCode), "What can be paid by now."),
            .optional(
                "preset", methodCode,
                "What pays where no other method is named: the one that was begun, else the preferred one of the profile."),
            .optional("invoice", .string(), "Its number."), .optional("creditNote", .string(), "Its number."),
            .required("createdAt", .time),
            .required("changedAt", .time)
        ).named("Payment")
    }
}

extension InvoiceItem: Documented {
    static var schema: JSONSchema {
        let postal = JSONSchema.object(
            .required("street", .string()), .required("city", .string()), .required("postalCode", .string()),
            .required("country", .string())
        ).named("InvoiceAddress")
        return .object(
            .required(
                "invoice", .string(pattern: "^[0-9]{4}-[0-9A-Z-]{6,21}$"),
                "Without gaps within a year (UTC). `2026-RTDZRL3-000001`: of a series that began when we went back to a copy of ours."),
            .required("kind", .oneOf(Invoice.Kind.allCases.map(\.rawValue))), .required("payment", .identifier(Payment.self)),
            .optional("request", .identifier(DataRequest.self), "Absent where a group request was paid."),
            .optional("groupRequest", .identifier(GroupDataRequest.self)), .required("issuedAt", .time),
            .required(
                "seller", .object(.required("name", .string()), .required("address", .string()), .required("vatNumber", .string()))),
            .required(
                "buyer",
                .object(
                    .required("name", .string()), .required("vatNumber", .string()), .required("address", postal),
                    .required("email", .string()), .required("language", .oneOf(Language.allCases.map(\.rawValue))))),
            .required("lines", .array(of: QuoteItem.Line.schema)), .required("rebatePercent", .integer(in: 0...100)),
            .required("net", minorUnits), .required("tax", minorUnits), .required("total", AmountItem.schema),
            .required("method", methodCode), .optional("takesBack", .string(), "The invoice that a credit note takes back.")
        ).named("Invoice")
    }
}
