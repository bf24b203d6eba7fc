// The doors of payments on the bus: what `trackme payment` asks.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

struct PaymentBusRoutes: Sendable {
    let service: PaymentService

    func register(in methods: inout Methods) {
        methods.on(ListPayments.self) { asked, _ in try await list(asked) }
        methods.on(MarkPaid.self) { asked, context in
            try await change(asked.payment, context, "a transfer was marked as come in") { try $0.transferred(at: $1) }
        }
        methods.on(RefundPayment.self) { asked, context in
            guard asked.byHand != true else {
                return try await change(asked.payment, context, "money was sent back by hand") { try $0.sentBack(at: $1) }
            }
            return try await change(asked.payment, context, "a refund was ordered") { try $0.refundOrdered(at: $1) }
        }
    }

    private func list(_ asked: ListPayments) async throws -> ListPayments.Reply {
        var before: Int64?
        if let after = asked.after {
            guard let number = Int64(after) else { throw Failure(.invalid, "after: expected the next of an answer") }
            before = number
        }
        let filter = PaymentFilter(
            organisation: asked.organisation, status: asked.status, needsAttention: asked.needsAttention ?? false)
        let (items, next) = try await service.list(filter, before: before, limit: ListPayments.most)
        return ListPayments.Reply(payments: items.map(PaymentEntry.init), next: next.map(String.init))
    }

    private func change(
        _ payment: PaymentID, _ context: RequestContext, _ line: String,
        _ event: @escaping @Sendable (inout Bill, Timestamp) throws -> [PaymentEffect]
    ) async throws -> PaymentEntry {
        let now = service.clock()
        do {
            let entry = try await service.store.write { [service] db -> PaymentEntry? in
                guard try service.paymentStore.change(db, payment, at: now, { try event(&$0, now) }) != nil,
                    let stored = try service.paymentStore.table.find(db, payment)
                else { return nil }
                let entry = PaymentEntry(try service.paymentStore.shown(db, stored))
                try service.answers.remember(entry, to: context, in: db)
                return entry
            }
            guard let entry else { throw Failure(.notFound, "there is no such payment") }
            service.logger.notice("\(line)", metadata: ["payment": "\(payment)", "client": "\(context.peer)"])
            return entry
        } catch let refusal as PaymentRefusal {
            throw await explained(refusal, payment)
        }
    }

    private func explained(_ refusal: PaymentRefusal, _ payment: PaymentID) async -> Failure {
        switch refusal {
        case .notDueYet: return Failure(.conflict, "the request was not accepted yet: nothing is due")
        case .alreadyPaid: return Failure(.conflict, "it was paid another way: send the transfer back")
        case .isOver: return Failure(.conflict, "nothing is due any more: send the transfer back")
        case .nothingWasPaid: return Failure(.conflict, "nothing was paid: there is nothing to give back")
        case .contested: return Failure(.conflict, "the payer's bank contests it: answer at the payment handler's pages")
        case .nothingToSendBack: return Failure(.conflict, "nothing waits to be sent back by hand")
        case .underWay:
            try? await service.giveUp(payment)
            return Failure(.conflict, "another way of paying was under way and is called off; ask again in a minute")
        }
    }
}

extension PaymentEntry {
    init(_ shown: ShownPayment) {
        let bill = shown.stored.bill
        self.init(
            payment: bill.payment, request: bill.request, organisation: bill.organisation, status: bill.status, amount: bill.amount,
            method: (bill.paying ?? bill.attempts.last)?.method, reference: BankTransfer.reference(bill.payment),
            invoice: shown.invoice.map(\.description), changedAt: bill.changedAt, attention: bill.attention?.what,
            reason: bill.attention?.reason, group: shown.stored.scope.group?.request)
    }
}
