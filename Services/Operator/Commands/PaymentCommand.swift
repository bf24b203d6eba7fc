// `trackme payment`: who owes what, and transfers that have come in.

import ArgumentParser
import Contracts

struct PaymentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payment", abstract: "Lists what third parties owe and have paid; marks transfers; gives money back.",
        subcommands: [ListPaymentsCommand.self, MarkPaidCommand.self, RefundPaymentCommand.self])
}

struct ListPaymentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists payments, the newest first.",
        discussion: """
            The reference is what the payer writes into a bank transfer. A payment by transfer that is refunding waits for you to send the \
            money back, and then for `trackme payment refund`. With --attention only those are listed that wait for you, each with what for:

              refund-refused   the handler does not give it back: send it back by hand, then `trackme payment refund --by-hand`
              send-back        a transfer that was not owed: likewise
              disputed         the payer's bank contests it: answer at the handler's pages; what comes of it is heard from there
              charged-back     a dispute was lost after data had been delivered: the amount is due again
              amount-differs   the handler took another amount than was asked for: it is being given back

            Example: trackme payment list --status due

            \(ExitStatus.documentation)
            """)

    @Option(help: "Only those that are not-due, due, paid, refunding, refunded, refund-refused, disputed or void.")
    var status: PaymentStatus?
    @Flag(help: "Only those that wait for you.")
    var attention = false
    @Option(help: ArgumentHelp("Only those of this organisation.", valueName: "org_…"))
    var organisation: OrganisationID?
    @Flag(help: "Print one JSON object per line.")
    var json = false
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            try await SuiteConnection.with(suite.layout) { connection in
                var after: String?
                repeat {
                    let reply = try await connection.ask(
                        ListPayments(
                            status: status, organisation: organisation, after: after, needsAttention: attention ? true : nil))
                    for payment in reply.payments { try show(payment) }
                    after = reply.next
                } while after != nil
            }
        }
    }

    private func show(_ payment: PaymentEntry) throws {
        guard !json else { return try Console.shared.json(payment) }
        let method = payment.method?.rawValue ?? "-"
        Console.shared.line(
            "\(payment.payment)  \(payment.status.rawValue.padded(to: 14))  \(payment.amount.text.padded(to: 14))  "
                + "\(method.padded(to: 13))  \(payment.reference)  \(payment.organisation)  \(payment.invoice ?? "-")"
                + (payment.attention.map { "  \($0.rawValue)\(payment.reason.map { " (\($0))" } ?? "")" } ?? ""))
    }
}

struct MarkPaidCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark-paid", abstract: "Says that the bank transfer of a payment has come in.",
        discussion: """
            The invoice goes out and the data can be fetched. If another way of paying is under way, it is called off first: say it again.

            Example: trackme payment mark-paid pay_01h2xcejqtf2nbrexx3vqjhp41

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Its id; `trackme payment list --status due` shows it beside the transfer's reference.")
    var payment: PaymentID
    @OptionGroup var suite: SuiteOptions

    var request: MarkPaid { MarkPaid(payment: payment) }

    func show(_ entry: PaymentEntry) throws {
        Console.shared.line("\(entry.payment) is \(entry.status.rawValue)\(entry.invoice.map { ", invoice \($0)" } ?? "")")
    }
}

struct RefundPaymentCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "refund", abstract: "Gives the whole amount of a payment back.",
        discussion: """
            A payment by card or PayPal is sent back by its handler. Of a transfer it says that you have sent it back: do that first. A \
            credit note goes out when the money is on its way. Where the handler has refused before, it is asked once more; with --by-hand \
            you say that you have sent back yourself what it refused, or a transfer that was not owed.

            Example: trackme payment refund pay_01h2xcejqtf2nbrexx3vqjhp41

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Its id.")
    var payment: PaymentID
    @Flag(help: "You have sent it back yourself.")
    var byHand = false
    @OptionGroup var suite: SuiteOptions

    var request: RefundPayment { RefundPayment(payment: payment, byHand: byHand ? true : nil) }

    func show(_ entry: PaymentEntry) throws {
        Console.shared.line("\(entry.payment) is \(entry.status.rawValue)")
    }
}

extension PaymentStatus: ExpressibleByArgument {}
