// An invoice as a page to print, in the buyer's language.

import Contracts
import HTTPKit

struct InvoicePage: Sendable {
    let invoice: Invoice
    private var language: Language { invoice.content.buyer.language }

    init(_ invoice: Invoice) {
        self.invoice = invoice
    }

    func answer() throws -> HTTPAnswer {
        let (content, quote) = (invoice.content, invoice.content.quote)
        let currency = quote.perPerson.currency
        func money(_ minor: Int64) -> String { Amount(minor: minor, currency: currency).text }
        let buyer = content.buyer
        let values: [String: any Sendable] = [
            "sellerTitle": say("Seller", "Fornitore"), "buyerTitle": say("Customer", "Cliente"), "seller": content.seller.name,
            "sellerAddress": content.seller.address, "sellerVAT": content.seller.vatNumber, "buyer": buyer.name,
            "buyerAddress": "\(buyer.address.street), \(buyer.address.postalCode) \(buyer.address.city), \(buyer.address.country)",
            "buyerVAT": buyer.vatNumber, "vatLabel": say("VAT number", "Partita IVA"),
            "dateLabel": say("Date", "Data"), "date": String(invoice.issuedAt.rfc3339.prefix(10)),
            "requestLabel": say("Request", "Richiesta"), "request": content.scope.group.map { "\($0.request)" } ?? "\(content.request)",
            "periodLabel": say("Period", "Periodo"),
            "period": "\(content.scope.from.rfc3339.prefix(10)) – \(content.scope.to.rfc3339.prefix(10))",
            "lines": quote.lines.map { line in
                ["what": name(line.what), "days": line.days.map(String.init) ?? "", "price": money(line.price)]
            }, "whatLabel": say("What", "Voce"), "daysLabel": say("Days", "Giorni"), "priceLabel": say("Price", "Prezzo"),
            "hasRebate": quote.rebatePercent > 0, "rebateLabel": say("Rebate", "Sconto"), "rebate": "\(quote.rebatePercent) %",
            "netLabel": say("Net", "Imponibile"), "net": money(quote.net),
            "taxLabel": say("VAT", "IVA") + " " + Amount(minor: Int64(quote.taxBasisPoints), currency: "EUR").decimal + " %",
            "tax": money(quote.tax), "totalLabel": say("Total", "Totale"), "total": quote.perPerson.text,
            "paid": invoice.kind == .invoice ? say("Paid.", "Pagato.") : "",
            "takesBack": content.takesBack.map { say("Takes back invoice \($0).", "Annulla la fattura \($0).") } ?? "",
        ]
        return try .page(title: title, template: Self.template, values: values, language: language)
    }

    private var title: String {
        switch invoice.kind {
        case .invoice: say("Invoice \(invoice.number)", "Fattura \(invoice.number)")
        case .creditNote: say("Credit note \(invoice.number)", "Nota di credito \(invoice.number)")
        }
    }

    private func name(_ what: String) -> String {
        switch what {
        case Quote.Line.groupRequest: return say("Request for a group's data", "Richiesta di dati di un gruppo")
        case Quote.Line.groupEntries: return say("Entries of a group's data", "Voci di dati di un gruppo")
        default: break
        }
        guard let metric = Metric(code: what) else { return say("Request", "Richiesta") }
        return language == .italian ? metric.definition.italian : metric.definition.english
    }

    private func say(_ english: String, _ italian: String) -> String {
        language == .italian ? italian : english
    }

    private static let template = """
        <table>
        <tr><th>{{sellerTitle}}</th><td>{{seller}}<br>{{sellerAddress}}<br>{{vatLabel}} {{sellerVAT}}</td></tr>
        <tr><th>{{buyerTitle}}</th><td>{{buyer}}<br>{{buyerAddress}}<br>{{vatLabel}} {{buyerVAT}}</td></tr>
        <tr><th>{{dateLabel}}</th><td>{{date}}</td></tr>
        <tr><th>{{requestLabel}}</th><td>{{request}}</td></tr>
        <tr><th>{{periodLabel}}</th><td>{{period}}</td></tr>
        </table>
        <table>
        <tr><th>{{whatLabel}}</th><th>{{daysLabel}}</th><th>{{priceLabel}}</th></tr>
        {{#lines}}<tr><td>{{what}}</td><td>{{days}}</td><td>{{price}}</td></tr>{{/lines}}
        {{#hasRebate}}<tr><td>{{rebateLabel}}</td><td></td><td>{{rebate}}</td></tr>{{/hasRebate}}
        <tr><td>{{netLabel}}</td><td></td><td>{{net}}</td></tr>
        <tr><td>{{taxLabel}}</td><td></td><td>{{tax}}</td></tr>
        <tr><th>{{totalLabel}}</th><td></td><th>{{total}}</th></tr>
        </table>
        <p>{{paid}} {{takesBack}}</p>
        """
}
