// The doors of receipts over HTTP: the person's record of consents, and the key that proves them.

import Contracts
import HTTPKit
import Sealing
import ServiceKit
import Storage

/// One signed receipt.
struct ReceiptItem: Codable, Sendable {
    var receipt: ReceiptID
    var request: RequestID
    var event: ConsentEvent
    var at: String
    /// A compact JWS with EdDSA over the JSON of ISO/IEC TS 27560's fields.
    var signed: String
}

/// One public key as RFC 8037 spells it.
struct ReceiptKeyItem: Codable, Sendable {
    var kty = "OKP"
    var crv = "Ed25519"
    var alg = "EdDSA"
    var use = "sig"
    var kid: String
    var x: String
}

struct ReceiptKeySet: Codable, Sendable {
    var keys: [ReceiptKeyItem]
}

struct ReceiptRoutes: Sendable {
    let store: Store
    let service: ReceiptService
    let people: SharingPersonStore
    let keys: PersonKeys
    private let table = ReceiptStore()

    init(store: Store, service: ReceiptService, people: SharingPersonStore, keys: PersonKeys) {
        (self.store, self.service, self.people, self.keys) = (store, service, people, keys)
    }

    var all: [Route] { [receipts, receiptKeys] }

    private var receipts: Route {
        Route(
            .get, "/consent/v1/receipts", access: .person,
            summary: "The signed receipts of every consent asked for, given, withdrawn or ended",
            description: "Newest first. Each was also given to the organisation. `/consent/v1/receipt-keys` proves them.",
            parameters: [.limit, .after], answers: [.json(200, "Receipts", Page<ReceiptItem>.self)]
        ) { exchange in
            let person = try exchange.person
            let (items, next) = try await page(of: person, before: exchange.cursor(Int64.init), limit: exchange.pageLimit)
            return try .json(Page(items: items, next: next.map(String.init)))
        }
    }

    /// Newest first, those before `before`.
    func page(of person: PersonID, before: Int64?, limit: Int) async throws -> (items: [ReceiptItem], next: Int64?) {
        try await store.read { [self] db in
            guard let account = try people.withID(db, person, .now)?.account, let key = try keys.key(of: person) else { return ([], nil) }
            let found = try table.page(db, of: account, before: before, limit: limit + 1)
            let items = try found.prefix(limit).map { row in
                ReceiptItem(receipt: row.receipt, request: row.request, event: row.event, at: row.at.rfc3339, signed: try row.open(key))
            }
            return (items, found.count > limit ? found[limit - 1].number : nil)
        }
    }

    private var receiptKeys: Route {
        Route(
            .get, "/consent/v1/receipt-keys", access: .anyone, summary: "The key that signs consent receipts",
            answers: [.json(200, "A JSON Web Key Set (RFC 7517)", ReceiptKeySet.self)]
        ) { _ in
            try .json(ReceiptKeySet(keys: [ReceiptKeyItem(kid: service.keyID, x: Base64URL.encode(service.publicKey.bytes))]))
        }
    }
}

// MARK: Their shapes

extension ReceiptItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("receipt", .identifier(Receipt.self)), .required("request", .identifier(DataRequest.self)),
            .required("event", .oneOf(ConsentEvent.allCases.map(\.rawValue))), .required("at", .time),
            .required("signed", .string(), "Compact JWS (RFC 7515) with EdDSA; the payload has the fields of ISO/IEC TS 27560.")
        ).named("ConsentReceipt")
    }
}

extension ReceiptKeySet: Documented {
    static var schema: JSONSchema {
        .object(
            .required(
                "keys",
                .array(
                    of: .object(
                        .required("kty", .string()), .required("crv", .string()), .required("alg", .string()), .required("use", .string()),
                        .required("kid", .string()), .required("x", .string(), "The public key in base64url."))))
        ).named("ReceiptKeys")
    }
}
