// What organisations and the operator do about payments: decide in one transaction, call the handler, say what came of it.

import Bus
import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct PaymentService: Sendable {
    /// To call off one attempt and begin another takes two rounds; one more for a look.
    private static let rounds = 4

    let store: Store
    let paymentStore: PaymentStore
    let jobs: PaymentJobRunner
    let answers: StoredAnswers
    /// Asked before somebody pays; throws what is said where there is nothing to pay for any more.
    let review: @Sendable (StoredBill) async throws -> Void
    let logger: Logger
    let clock: @Sendable () -> Timestamp

    // MARK: Looking

    /// Another organisation's payment does not exist for this one (PAY-08).
    func find(_ payment: PaymentID, of organisation: OrganisationID) async throws -> ShownPayment? {
        try await store.read { [self] db in
            guard let stored = try paymentStore.table.find(db, payment), stored.bill.organisation == organisation else { return nil }
            return try paymentStore.shown(db, stored)
        }
    }

    /// The newest first, with the number to go on from.
    func list(_ filter: PaymentFilter, before: Int64?, limit: Int) async throws -> (items: [ShownPayment], next: Int64?) {
        try await store.read { [self] db in
            let rows = try paymentStore.table.list(db, filter, before: before, limit: limit + 1)
            let items = try rows.prefix(limit).map { try paymentStore.shown(db, $0) }
            return (items, rows.count > limit ? items.last?.stored.number : nil)
        }
    }

    // MARK: Paying

    private enum Turn: Sendable {
        case over
        case wait
        /// With the attempt, and whether its charge was asked for just now.
        case goOn(Int, charging: Bool)
    }

    /// The payer pays by this method, or goes on with what was begun. May be asked again at any time: it never pays twice.
    /// - Parameters:
    ///   - method: nil for the one that is preset.
    ///   - token: the handler's own, for the payer's means of payment.
    /// - Returns: nil where there is no such payment.
    /// - Throws: the problems of paying.
    func pay(
        _ payment: PaymentID, of organisation: OrganisationID, by method: PaymentMethod?, token: String?
    ) async throws -> ShownPayment? {
        guard let shown = try await find(payment, of: organisation) else { return nil }
        if shown.stored.bill.status == .due { try await review(shown.stored) }
        // Where nothing is to be paid the method does not matter: what is paid stays so, the rest is refused.
        guard let method = method ?? shown.preset else { return try Self.unowed(shown) }
        guard let provider = paymentStore.providers.provider(for: method) else {
            throw Problem.paymentMethodUnavailable.saying(
                "Choose another one; offered are: \(paymentStore.providers.methods.map(\.rawValue).joined(separator: ", ")).",
                italian: "Ne scelga un altro; sono offerti: \(paymentStore.providers.methods.map(\.rawValue).joined(separator: ", ")).",
                errors: [.init(pointer: "/method", .methodNotOffered)])
        }
        // What was begun may have come to its end in the meantime.
        try await checkPayment(payment)
        let charges = provider.takesToken && token != nil || provider is SandboxProvider
        for _ in 0..<Self.rounds {
            switch try await turn(payment, method, provider.name, token: token, charges: charges) {
            case .over: return try await find(payment, of: organisation)
            case .wait:
                try await jobs.settle(payment)
            case .goOn(let attempt, let isCharging):
                try await jobs.settle(payment)
                let isReady = isCharging || !charges
                if let shown = try await outcome(payment, of: organisation, attempt, isReady: isReady) { return shown }
            }
        }
        throw Refusal(
            Problem.paymentUnderWay.saying(
                "The way that was begun before is being called off. Nothing was charged by it so far; try again in a moment.",
                italian: "Il modo iniziato prima si sta annullando. Finora non ha addebitato nulla; riprovi tra un momento."),
            retryAfter: .seconds(5))
    }

    /// - Throws: `payment-not-due`, `payment-over`.
    private static func unowed(_ shown: ShownPayment) throws -> ShownPayment {
        switch shown.stored.bill.status {
        case .paid: return shown
        case .notDue: throw problem(.notDueYet)
        case .disputed: throw problem(.contested)
        case .due, .refunding, .refunded, .refundRefused, .void: throw problem(.isOver)
        }
    }

    private func turn(
        _ payment: PaymentID, _ method: PaymentMethod, _ provider: String, token: String?, charges: Bool
    ) async throws -> Turn {
        let now = clock()
        return try await store.write { [paymentStore] db in
            var turn = Turn.wait
            try paymentStore.change(db, payment, token: token, at: now) { bill in
                do throws(PaymentRefusal) {
                    switch try bill.start(method, through: provider, at: now) {
                    case .wait(let effects): return effects
                    case .attempt(let number, let effects):
                        let charge = charges ? try bill.confirm(number, at: now) : []
                        turn = .goOn(number, charging: !charge.isEmpty)
                        return effects + charge
                    }
                } catch {
                    guard error == .alreadyPaid else { throw Self.problem(error) }
                    turn = .over
                    return []
                }
            }
            return turn
        }
    }

    /// Nil where there is another step to take: it was opened just now, and the charge is to be asked for.
    private func outcome(
        _ payment: PaymentID, of organisation: OrganisationID, _ number: Int, isReady: Bool
    ) async throws -> ShownPayment? {
        guard let shown = try await find(payment, of: organisation),
            let attempt = shown.stored.bill.attempts.first(where: { $0.number == number })
        else { throw Problem.notFound }
        switch attempt.state {
        case .opening:
            throw Refusal(
                Problem.paymentHandlerUnreachable.saying(
                    "Nothing was charged and the amount stays due. Try again later, or choose another method.",
                    italian: "Nulla è stato addebitato e l'importo resta dovuto. Riprovi più tardi, o scelga un altro metodo."),
                retryAfter: .seconds(30))
        case .cancelled where attempt.reason == nil, .cancelling where attempt.reason == nil:
            // Somebody has called it off, or chosen another way, while this call was under way: no handler has declined anything.
            guard shown.stored.bill.status == .due else { return try Self.unowed(shown) }
            throw Refusal(
                Problem.paymentUnderWay.saying(
                    "It was called off while it was under way. Nothing was charged by it so far; pay again in a moment, if that is meant.",
                    italian:
                        "È stato annullato mentre era in corso. Finora non ha addebitato nulla; se è ciò che vuole, paghi di nuovo tra un momento."
                ),
                retryAfter: .seconds(5))
        case .failed, .cancelled, .cancelling:
            guard attempt.reason != StripeProvider.unknownToken else {
                throw Problem.invalidBody([.init(pointer: "/paymentMethod", .unknownPaymentMethod)])
            }
            throw Problem.paymentDeclined.saying(
                "The payment handler says: \(attempt.reason ?? "called off"). Nothing was charged; try again, or choose another method.",
                italian:
                    "Il gestore dei pagamenti dice: \(attempt.reason ?? "annullato"). Nulla è stato addebitato; riprovi, o scelga un altro metodo."
            )
        case .open: return isReady ? shown : nil
        case _ where attempt.taken != nil:
            throw Problem.paymentDeclined.saying(
                "The payment handler took another amount than was asked for; that goes back. Try again, or choose another method.",
                italian: "Il gestore dei pagamenti ha preso un altro importo; viene restituito. Riprovi, o scelga un altro metodo.")
        case .confirming, .succeeded, .refunding, .refunded, .refundRefused, .disputed, .chargedBack: return shown
        }
    }

    private func checkPayment(_ payment: PaymentID) async throws {
        try await store.write { [paymentStore] db in
            guard let bill = try paymentStore.table.find(db, payment)?.bill, bill.status == .due, let live = bill.live,
                live.state == .open || live.state == .confirming
            else { return }
            try paymentStore.look(db, bill, live)
        }
        try await jobs.settle(payment)
    }

    /// Gives up what was begun; the amount stays due.
    /// - Returns: nil where there is no such payment.
    func abandon(_ payment: PaymentID, of organisation: OrganisationID) async throws -> ShownPayment? {
        guard try await find(payment, of: organisation) != nil else { return nil }
        try await giveUp(payment)
        return try await find(payment, of: organisation)
    }

    /// Calls off what is under way, unless it may be charging at this moment.
    func giveUp(_ payment: PaymentID) async throws {
        let now = clock()
        _ = try await store.write { [paymentStore] db in
            try paymentStore.change(db, payment, at: now) { bill in
                do throws(PaymentRefusal) {
                    return try bill.abandon(at: now)
                } catch {
                    guard error == .alreadyPaid else { throw Self.problem(error) }
                    return []
                }
            }
        }
        try await jobs.settle(payment)
    }

    static func problem(_ refusal: PaymentRefusal) -> any Error {
        switch refusal {
        case .notDueYet:
            return Problem.paymentNotDue.saying(
                "The person has not accepted yet; you are told as soon as there is something to pay.",
                italian: "La persona non ha ancora accettato; sarà avvisata appena c'è qualcosa da pagare.")
        case .alreadyPaid: return Problem.paymentOver.saying("It was paid before.", italian: "È già stato pagato.")
        case .contested:
            return Problem.paymentOver.saying(
                "The payer's bank contests what was paid. Nothing is to be paid before it has decided; have the dispute withdrawn there.",
                italian:
                    "La banca di chi ha pagato contesta il pagamento. Nulla va pagato prima che decida; lì si può far ritirare la contestazione."
            )
        case .isOver, .nothingWasPaid, .nothingToSendBack:
            return Problem.paymentOver.saying(
                "The request is over, or the money went back.", italian: "La richiesta è finita, o il denaro è stato restituito.")
        case .underWay:
            return Refusal(
                Problem.paymentUnderWay.saying(
                    """
                    The payment handler has not said yet whether it has charged. Ask again for the payment's state; nothing is \
                    charged twice.
                    """
                ),
                retryAfter: .seconds(5))
        }
    }
}
