// The doors of invoices over HTTP: for programs as JSON, for people as a page to print.

import Contracts
import HTTPKit
import Storage

struct InvoiceRoutes: Sendable {
    let store: Store
    let table: InvoiceStore
    let admit: Admit

    var all: [Route] { [invoices, invoice] }

    private var invoices: Route {
        Route(
            .get, "/thirdparty/v1/invoices", access: .organisation, scopes: [Right.paymentsRead.rawValue],
            summary: "Invoices and credit notes, newest first",
            description: "Needs `payments:read`.", parameters: [.limit, .after],
            answers: [.json(200, "The invoices", Page<InvoiceItem>.self, example: Examples.page(Examples.invoice)), .noAdmission]
        ) { exchange in
            let organisation = try await admit(exchange, .paymentsRead).id
            let before = try exchange.cursor(InvoiceNumber.init)
            let limit = try exchange.pageLimit
            let rows = try await store.read { [table] db in try table.list(db, of: organisation, before: before, limit: limit + 1) }
            let items = Array(rows.prefix(limit))
            return try .json(
                Page(items: items.map(InvoiceItem.init), next: rows.count > limit ? items.last?.number.description : nil))
        }
    }

    private var invoice: Route {
        Route(
            .get, "/thirdparty/v1/invoices/{invoice}", access: .organisation, scopes: [Right.paymentsRead.rawValue],
            summary: "One invoice or credit note",
            description: "As JSON, or with `Accept: text/html` as a page to print. Needs `payments:read`.",
            parameters: [.path("invoice", .string(pattern: "^[0-9]{4}-[0-9A-Z-]{6,21}$"), "Its number.")],
            answers: [
                Answer(
                    200, "The invoice",
                    contents: [
                        .init(MediaType.json, InvoiceItem.schema, of: InvoiceItem.self, examples: [Examples.invoice]),
                        .init(MediaType.html, .string()),
                    ]),
                .noAdmission, .problem(404, "not-found"), .problem(406, "not-acceptable"),
            ]
        ) { exchange in
            let organisation = try await admit(exchange, .paymentsRead).id
            let form = try exchange.preferred(of: [MediaType.json, MediaType.html])
            guard let number = InvoiceNumber(exchange.path("invoice")),
                let found = try await store.read({ [table] db in try table.find(db, number, of: organisation) })
            else { throw Problem.absent }
            return form == MediaType.html ? try InvoicePage(found).answer() : try .json(InvoiceItem(found))
        }
    }
}
