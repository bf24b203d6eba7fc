// The doors of erasure: request, order, certificate, and the operators' list of what is under way.

import Contracts
import HTTPKit
import Sealing
import ServiceKit

struct ErasureRoutes: Sendable {
    let service: ErasureService
    let repository: ErasureRepository

    var all: [Route] { [request, order, certificate, keys, list] }

    private var request: Route {
        Route(
            .post, "/consent/v1/erasures", access: .person, summary: "Asks for data or the account to be erased",
            description: "Nothing is erased yet: the answer says what will be, and holds what confirms it within ten minutes.",
            body: .json(ErasureRequestBody.self, examples: [["scope": "data"]]),
            answers: [.json(200, "What will be erased", ErasureRequestAnswer.self)]
        ) { exchange in
            let person = try exchange.person
            let body: ErasureRequestBody = try await exchange.json()
            let request = await service.ask(person, body.scope, at: exchange.receivedAt)
            return try .json(ErasureRequestAnswer(request, hours: service.hours, language: exchange.language))
        }
    }

    private var order: Route {
        Route(
            .post, "/consent/v1/erasures/orders", as: "orderErasure", access: .person, summary: "Confirms the erasure; it cannot be undone",
            description: """
                From the answer on nothing of it can be read by anybody; every service erases it and confirms, and the certificate \
                follows by mail. An account ends for all services, and every session with it.
                """,
            body: .json(ErasureOrderBody.self),
            answers: [
                .json(202, "It is being erased", ErasureOrderAnswer.self).sending(.setCookie), .problem(409, "erasure-under-way"),
                .problem(422, "erasure-not-confirmed", "erasure-wrong-password"),
            ], isRateLimited: true
        ) { exchange in
            let person = try exchange.person
            let body: ErasureOrderBody = try await exchange.json()
            let ordered = try await AccountRefusal.answering {
                try await service.confirm(
                    person, body.confirmation, password: body.password, at: .now,
                    trace: String(exchange.requestID.prefix(32)))
            }
            let answer = ErasureOrderAnswer(
                erasure: ordered.order.erasure, scope: ordered.order.scope,
                certificate: "\(exchange.publicOrigin ?? "")/consent/v1/erasures/certificates/\(ordered.capability)")
            let said = try HTTPAnswer.json(answer, status: 202)
            return ordered.order.scope == .account ? said.with(cookie: .removed).with(cookie: .refreshRemoved) : said
        }
    }

    private var certificate: Route {
        Route(
            .get, "/consent/v1/erasures/certificates/{capability}", as: "getErasureCertificate", access: .anyone,
            summary: "How far an erasure is, and its certificate",
            parameters: [.path("capability", .string(pattern: "^[A-Za-z0-9_-]{43}$"), "What the order's answer gave.")],
            answers: [.json(200, "The erasure", ErasureItem.self)]
        ) { exchange in
            guard let row = try await AccountRefusal.answering({ try await repository.find(capability: exchange.path("capability")) })
            else {
                throw Problem.notFound
            }
            return try .json(ErasureItem(row, withCertificate: true, at: exchange.receivedAt))
        }
    }

    private var keys: Route {
        Route(
            .get, "/consent/v1/erasure-keys", access: .anyone, summary: "The key that signs certificates of erasure",
            answers: [.json(200, "A JSON Web Key Set (RFC 7517)", ReceiptKeySet.self)]
        ) { _ in
            let secrets = repository.secrets
            return try .json(ReceiptKeySet(keys: [ReceiptKeyItem(kid: secrets.keyID, x: Base64URL.encode(secrets.publicKey.bytes))]))
        }
    }

    private var list: Route {
        Route(
            .get, "/consent/v1/operators/erasures", as: "listErasures", access: .operator,
            summary: "Erasures and whom they wait for, newest first",
            parameters: [.limit, .after], answers: [.json(200, "Erasures, without whose they are", Page<ErasureItem>.self)]
        ) { exchange in
            let limit = try exchange.pageLimit
            let before = try exchange.cursor(Int64.init) ?? .max
            let rows = try await AccountRefusal.answering { try await repository.page(before: before, limit: limit + 1) }
            let items = rows.prefix(limit).map { ErasureItem($0, withCertificate: false, at: exchange.receivedAt) }
            return try .json(Page(items: Array(items), next: rows.count > limit ? String(rows[limit - 1].number) : nil))
        }
    }
}
