// The doors of announcements: everybody reads them, operators write them.

import Contracts
import HTTPKit
import ServiceKit

/// One announcement as everybody sees it.
struct AnnouncementItem: Codable, Sendable {
    var id: String
    var from: String
    var to: String
    var maintenance: Bool
    var breach: Bool
    var texts: [String: Announcement.Text]
    var madeAt: String

    init(_ announcement: Announcement) {
        (id, from, to) = (String(announcement.number), announcement.from.rfc3339, announcement.to.rfc3339)
        (maintenance, breach, madeAt) = (announcement.isMaintenance, announcement.isBreach, announcement.madeAt.rfc3339)
        texts = Dictionary(uniqueKeysWithValues: announcement.texts.map { ($0.key.rawValue, $0.value) })
    }
}

extension AnnouncementItem: Documented {
    static let schema = JSONSchema.object(
        .required("id", .string()), .required("from", .time), .required("to", .time),
        .required("maintenance", .boolean, "Whether the service may be away meanwhile."),
        .required("breach", .boolean, "Whether personal data may have come into wrong hands; each person was written to as well."),
        .required(
            "texts", .map(of: .object(.required("title", .string()), .required("text", .string()))), "By language: `it` and `en`."),
        .required("madeAt", .time)
    ).named("Announcement")

    static let form = JSONSchema.object(
        .required("from", .time), .required("to", .time), .optional("maintenance", .boolean),
        .optional("breach", .boolean, "Writes to every person, by mail and in the inbox, and cannot be taken back."),
        .required("italianTitle", AccountSchemas.text), .required("italianText", .string(length: 1...AnnouncementForm.longestText)),
        .required("englishTitle", AccountSchemas.text), .required("englishText", .string(length: 1...AnnouncementForm.longestText))
    ).named("AnnouncementForm")
}

struct AnnouncementRoutes: Sendable {
    let service: AnnouncementService

    var all: [Route] { [list, announce, withdraw] }

    private var list: Route {
        Route(
            .get, "/consent/v1/announcements", access: .anyone, summary: "What is announced and not over",
            answers: [.json(200, "The one that begins first first", Page<AnnouncementItem>.self)]
        ) { exchange in
            let current = try await AccountRefusal.answering { try await service.current(now: exchange.receivedAt) }
            return try .json(Page(items: current.map(AnnouncementItem.init), next: nil))
        }
    }

    private var announce: Route {
        Route(
            .post, "/consent/v1/announcements", access: .operator, summary: "Announces something to everybody",
            body: BodyShape([.init(MediaType.json, AnnouncementItem.form)], limit: 1 << 16, inflatedLimit: 1 << 16, isChecked: true),
            answers: [
                .json(201, "It is announced", AnnouncementItem.self),
                .problem(422, Problem.invalidAnnouncement.name, "invalid-body"),
            ], takesIdempotencyKey: true
        ) { exchange in
            let maker = try Self.maker(exchange)
            let (form, bytes) = try await exchange.jsonTree()
            let request = RepeatableRequest(key: try exchange.idempotencyKey, body: bytes, scope: "\(maker) announce")
            let announcement = try await AccountRefusal.answering {
                try await service.announce(by: maker, form, request, at: exchange.receivedAt)
            }
            return try .json(AnnouncementItem(announcement), status: 201)
        }
    }

    private var withdraw: Route {
        Route(
            .delete, "/consent/v1/announcements/{announcement}", access: .operator, summary: "Withdraws an announcement",
            parameters: [.path("announcement", .string(pattern: "^[0-9]+$"), "Its id.")],
            answers: [Answer(204, "It is withdrawn"), .problem(404, "not-found")]
        ) { exchange in
            let maker = try Self.maker(exchange)
            guard let number = Int64(exchange.path("announcement")) else { throw Problem.notFound }
            try await AccountRefusal.answering { try await service.withdraw(number, by: maker, at: exchange.receivedAt) }
            return .empty()
        }
    }

    private static func maker(_ exchange: Exchange) throws(Problem) -> OperatorID {
        guard case .operator(let maker, _) = exchange.caller else { throw .notForThisAccount }
        return maker
    }
}
