// A change of a bill with everything that follows from it, in one transaction.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// A payment with its invoices, as it is shown.
struct ShownPayment: Sendable {
    let stored: StoredBill
    /// What pays where the payer names no other way: what was begun, else the organisation's preferred method (PAY-06, ORG-14). Nil
    /// where nothing is to be paid.
    let preset: PaymentMethod?
    let invoice: InvoiceNumber?
    let creditNote: InvoiceNumber?
}

struct PaymentStore: Sendable {
    let table: BillStore
    let jobs: PaymentJobStore
    let invoices: InvoiceStore
    let providers: PaymentProviders
    let organisations: OrganisationRepository
    let releases: RequestReleaseStore
    let subscriptions: SubscriptionRepository
    let settings: PaymentSettings
    /// Of the suite's pages, for links in mails.
    let publicOrigin: String
    /// Notified when there is something to call.
    let wakeUp: WakeUpSignal

    /// A new bill, with the process that shows whether it can be paid.
    func open(_ db: Database, _ request: PayableRequest, _ quote: Quote, at now: Timestamp) throws {
        var bill = Bill(
            payment: Self.payment(of: request.id), request: request.id, organisation: request.organisation, amount: quote.perPerson,
            priceListVersion: quote.priceListVersion, at: now)
        try table.add(db, bill, quote, request.scope, at: now)
        let method = try organisations.preferredMethod(db, request.organisation)
        var effects: [PaymentEffect] = []
        if let provider = providers.provider(for: method) {
            effects += bill.submitted(paidBy: method, through: provider.name, at: now)
        }
        if settings.when == .onSubmit { effects += bill.becameDue(at: now) }
        guard let stored = try table.find(db, bill.payment) else { return }
        try write(db, stored, bill, effects, token: nil, at: now)
    }

    /// The same in every life of the store: by it a handler is asked for what was paid after a copy was made.
    static func payment(of request: RequestID) -> PaymentID {
        PaymentID(bytes: Digest.sha256(Array("payment|\(request)".utf8)).prefix(16)) ?? .random()
    }

    /// Nil where there is no such payment.
    @discardableResult
    func change(
        _ db: Database, _ payment: PaymentID, token: String? = nil, at now: Timestamp,
        _ event: (inout Bill) throws -> [PaymentEffect]
    ) throws -> Bill? {
        try change(db, table.find(db, payment), token: token, at: now, event)
    }

    /// Nil where the request has no price.
    @discardableResult
    func change(_ db: Database, of request: RequestID, _ event: (inout Bill) throws -> [PaymentEffect]) throws -> Bill? {
        try change(db, table.find(db, of: request), token: nil, at: nil, event)
    }

    private func change(
        _ db: Database, _ found: StoredBill?, token: String?, at now: Timestamp?, _ event: (inout Bill) throws -> [PaymentEffect]
    ) throws -> Bill? {
        guard let stored = found else { return nil }
        var bill = stored.bill
        let effects = try event(&bill)
        try write(db, stored, bill, effects, token: token, at: now ?? bill.changedAt)
        return bill
    }

    /// The handler is to be asked how a process stands, where the money of one that has charged is, or once more to call it off;
    /// nothing where it is being asked something already.
    func look(_ db: Database, _ bill: Bill, _ attempt: PayingAttempt) throws {
        if bill.wants(.review, attempt.number) {
            guard try !jobs.has(db, .review, bill.payment, attempt: attempt.number) else { return }
            return try ask(db, .review, bill, attempt.number, token: nil)
        }
        guard attempt.reference != nil, try jobs.waiting(db, bill.payment).isEmpty else { return }
        try ask(db, attempt.state == .cancelling ? .cancel : .look, bill, attempt.number, token: nil)
    }

    func shown(_ db: Database, _ stored: StoredBill) throws -> ShownPayment {
        ShownPayment(
            stored: stored,
            preset: stored.bill.status == .due
                ? try stored.bill.live?.method ?? organisations.preferredMethod(db, stored.bill.organisation) : nil,
            invoice: try invoices.find(db, .invoice, of: stored.bill.payment)?.number,
            creditNote: try invoices.find(db, .creditNote, of: stored.bill.payment)?.number)
    }

    // MARK: Effects

    private func write(
        _ db: Database, _ stored: StoredBill, _ bill: Bill, _ effects: [PaymentEffect], token: String?, at now: Timestamp
    ) throws {
        if bill != stored.bill {
            var bill = bill
            bill.marked(since: stored.bill, at: now)
            try table.save(db, bill)
        }
        if bill.status != .paid, stored.bill.status == .paid || stored.bill.hold != bill.hold {
            try withdraw(db, bill.request, bill.hold)
        }
        for effect in effects {
            switch effect {
            case .ask(let kind, let attempt): try ask(db, kind, bill, attempt, token: kind == .confirm ? token : nil)
            case .paid: try receipt(db, stored, bill, at: now)
            case .release: try release(db, bill.request)
            case .refunded: try creditNote(db, stored, bill, at: now)
            case .notify(let notice): try notify(db, stored, bill, notice)
            }
        }
    }

    /// Data may leave from now on: downloads open, a subscription begins. Whoever hands out a group's data looks at the bill itself.
    private func release(_ db: Database, _ request: RequestID) throws {
        // What is due for a request that was stopped can be paid still (SHR-25); nothing begins by that.
        guard try releases.table.find(db, request)?.status == .approved else { return }
        try releases.paid(db, request)
        try subscriptions.begin(db, request)
    }

    /// What was paid goes back or is contested, or is due again (nil): nothing more may leave.
    private func withdraw(_ db: Database, _ request: RequestID, _ hold: PaymentHold?) throws {
        try releases.unpaid(db, request, hold)
        switch hold {
        case .givenBack: try subscriptions.end(db, request, .unpaid)
        // It goes on once it is decided, or paid again.
        case .contested, nil: try subscriptions.hold(db, request)
        }
    }

    private func ask(_ db: Database, _ kind: PaymentJob.Kind, _ bill: Bill, _ attempt: Int, token: String?) throws {
        try jobs.add(db, kind, bill.payment, attempt: attempt, token: token)
        db.afterCommit { [wakeUp] in wakeUp.notify() }
    }

    private func receipt(_ db: Database, _ stored: StoredBill, _ bill: Bill, at now: Timestamp) throws {
        let content = Invoice.Content(
            seller: settings.seller, buyer: try organisations.billing(db, bill.organisation), request: bill.request, scope: stored.scope,
            quote: stored.quote, method: bill.paying?.method ?? .card)
        let invoice = try invoices.issue(db, .invoice, content, for: bill.payment, of: bill.organisation, at: now)
        try organisations.mail(
            db, to: bill.organisation, .paymentReceived,
            [
                "amount": bill.amount.text, "request": stored.requestName, "invoice": "\(invoice.number)",
                "link": link(invoice.number),
            ])
    }

    private func creditNote(_ db: Database, _ stored: StoredBill, _ bill: Bill, at now: Timestamp) throws {
        // Money that came before it was due, and went back, was never invoiced.
        guard let invoice = try invoices.find(db, .invoice, of: bill.payment) else { return }
        var content = invoice.content
        content.takesBack = "\(invoice.number)"
        let note = try invoices.issue(db, .creditNote, content, for: bill.payment, of: bill.organisation, at: now)
        try organisations.mail(
            db, to: bill.organisation, .paymentRefunded,
            ["amount": bill.amount.text, "request": stored.requestName, "invoice": "\(note.number)", "link": link(note.number)])
    }

    private func notify(_ db: Database, _ stored: StoredBill, _ bill: Bill, _ notice: PaymentNotice) throws {
        var values = ["amount": bill.amount.text, "request": stored.requestName]
        let template: MessageTemplate
        switch notice {
        case .failed(let reason): (template, values["reason"]) = (.paymentFailed, reason)
        case .notFeasible(let reason): (template, values["reason"]) = (.paymentNotFeasible, reason)
        case .disputed: template = .paymentDisputed
        case .chargedBack: template = .paymentChargedBack
        }
        try organisations.mail(db, to: bill.organisation, template, values)
    }

    private func link(_ number: InvoiceNumber) -> String {
        "\(publicOrigin)/thirdparty/v1/invoices/\(number)"
    }
}
