// The doors of group requests: a form is judged at once, what is released is paid and fetched (ANO).

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore
import ServiceKit

struct GroupRoutes: Sendable {
    let service: GroupService
    let admit: Admit
    /// Ends early, with an error, where its task is cancelled.
    let pause: @Sendable (Duration) async throws -> Void

    var all: [Route] { [open, list, find, end, windows, windowEvents, entries, catalogue, places] }

    private static let groupID = Parameter.path("group", .identifier(GroupDataRequest.self), "The group request's id.")
    /// Until it is worth asking again for an answer that was not there.
    private static let soon = Duration.seconds(5)

    private static let reasons = GroupRefusal.allCases.map(\.rawValue).joined(separator: ", ")

    // MARK: Making one

    private var open: Route {
        Route(
            .post, "/thirdparty/v1/group-requests", as: "createGroupRequest", access: .organisation,
            scopes: [Right.requestsWrite.rawValue], summary: "Asks for the data of a group of people",
            description: """
                Needs `requests:write`. \
                Judged at once, by no human. 201: released; `price` and `payment` say what is due before it can be fetched. 422 \
                `\(Problem.groupNotAnonymisable.name)`: the group cannot be anonymised; the body has `reason` (\(Self.reasons)) and is \
                the same for every request that is refused for it. Loosen the filters and send it again; `Location` names what was \
                refused, with its form. A period that ends after now is a subscription: 201 says what is open, and each window is judged \
                when it closes. 403 `\(Problem.statisticsOnly.name)`: your organisation may receive `statistics` alone. 503: the form is \
                kept and its answer not there yet; the same `Idempotency-Key` later gets it.
                """,
            body: .json(TypedGroupForm.self, examples: [TypedGroupForm.example], limit: 64 << 10, inflatedLimit: 64 << 10),
            answers: [
                .json(201, "Released", GroupRequestItem.self, example: Examples.groupRequest).sending(.location), .noAdmission,
                .problem(403, Problem.statisticsOnly.name),
                .problem(422, Problem.groupNotAnonymisable.name, "invalid-body").sending(.location),
                .problem(503, Problem.groupAnswerAwaited.name),
            ], takesIdempotencyKey: true
        ) { exchange in
            let arrival = service.clock()
            let standing = try await admit(exchange, .requestsWrite)
            let bytes = Array(try await exchange.body().readableBytesView)
            let form: TypedGroupForm = try await exchange.json(in: Data(bytes))
            _ = try RequestRoutes.reading { () throws(FormFaults) in try form.read(at: arrival) }
            let kept = try await service.submit(form, of: standing, try RepeatableRequest(exchange, bytes, "open-group-request"))
            guard let shown = kept.shown else { throw Problem.absent }
            return try await answer(shown, kept.isRepeated, arrival, exchange)
        }
    }

    private func answer(
        _ shown: ShownGroupRequest, _ isRepeated: Bool, _ arrival: Timestamp, _ exchange: Exchange
    ) async throws -> HTTPAnswer {
        let location = "/thirdparty/v1/group-requests/\(shown.stored.id)"
        if let reason = shown.outcome?.refusal {
            try await pause(RefusalStep.wait(since: arrival, at: service.clock()))
            return try GroupRefusalBody(reason, in: exchange.language).answer().with(.location, location)
        }
        if let faults = shown.faults { throw Problem.invalidBody(faults) }
        guard shown.outcome?.release != nil || shown.outcome?.subscription != nil else { throw Self.notThereYet }
        let answer = try HTTPAnswer.json(GroupRequestItem(shown, exchange.language), status: 201).with(.location, location)
        return isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
    }

    private static let notThereYet = Refusal(
        Problem.groupAnswerAwaited.saying(
            """
            What you sent is kept. Send it again under the same Idempotency-Key after as long as `Retry-After` says, or look at your group \
            requests.
            """,
            italian:
                """
                Quanto inviato è conservato. Lo invii di nuovo con la stessa Idempotency-Key dopo il tempo indicato da `Retry-After`, o \
                guardi le sue richieste di gruppo.
                """), retryAfter: soon)

    // MARK: Looking

    private var list: Route {
        Route(
            .get, "/thirdparty/v1/group-requests", as: "listGroupRequests", access: .organisation, scopes: [Right.requestsRead.rawValue],
            summary: "The organisation's group requests, newest first",
            description: "Needs `requests:read`. Those that were refused, or whose form was wrong, can be seen for "
                + "\(GroupService.refusedKept.wholeMilliseconds / 86_400_000) days.",
            parameters: [.limit, .after],
            answers: [
                .json(200, "One page", Page<GroupRequestItem>.self, example: Examples.page(Examples.groupRequest)), .noAdmission,
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            let (items, next) = try await service.list(
                of: standing.id, before: try exchange.cursor(Int64.init), limit: try exchange.pageLimit)
            return try .json(
                Page(items: items.map { GroupRequestItem($0, exchange.language) }, next: next.map { String($0) }))
        }
    }

    private var find: Route {
        Route(
            .get, "/thirdparty/v1/group-requests/{group}", as: "getGroupRequest", access: .organisation,
            scopes: [Right.requestsRead.rawValue], summary: "One group request, with its form",
            description: "Needs `requests:read`.", parameters: [Self.groupID],
            answers: [
                .json(200, "The group request", GroupRequestItem.self, example: Examples.groupRequest), .noAdmission,
                .problem(404, "not-found"),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            guard let shown = try await service.find(exchange.identifier("group"), of: standing.id) else { throw Problem.absent }
            return try .json(GroupRequestItem(shown, exchange.language))
        }
    }

    // MARK: Subscriptions

    private var end: Route {
        Route(
            .post, "/thirdparty/v1/group-requests/{group}/end", as: "endGroupRequest", access: .organisation,
            scopes: [Right.requestsWrite.rawValue], summary: "Ends a subscription to a group",
            description: """
                Needs `requests:write`. \
                No further window is judged once the anonymiser has heard of it, at the latest when it is there again; windows that waited \
                to be joined are withheld. What was released can be fetched as before; what is due stays due. Nothing happens to a request \
                that is no subscription. Again is the same as once.
                """, parameters: [Self.groupID],
            answers: [
                .json(200, "The group request as it is now", GroupRequestItem.self, example: Examples.groupSubscription), .noAdmission,
                .problem(404, "not-found"), .problem(503, Problem.groupAnswerAwaited.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsWrite)
            guard let shown = try await service.end(exchange.identifier("group"), of: standing.id) else { throw Problem.absent }
            // It may be opened yet.
            guard shown.stored.status != .sending else { throw Self.notThereYet }
            return try .json(GroupRequestItem(shown, exchange.language))
        }
    }

    private var windows: Route {
        Route(
            .get, "/thirdparty/v1/group-requests/{group}/windows", as: "listGroupWindows", access: .organisation,
            scopes: [Right.requestsRead.rawValue], summary: "The windows of a subscription to a group, in their order",
            description: """
                Needs `requests:read`. \
                Each is told once; one that had too few people is joined with the next ones for up to seven days and withheld then. Go on \
                after the last number that you have; one that was never given is refused (`\(Problem.cursorAhead.name)`). `…/events` tells each as it comes, and so do endpoints (`group-window.released`, \
                `group-window.withheld`).
                """, parameters: [Self.groupID, .limit, .after],
            answers: [
                .json(200, "One page", Page<GroupWindowItem>.self, example: Examples.page(Examples.groupWindow)), .noAdmission,
                .problem(400, Problem.cursorAhead.name), .problem(404, "not-found"),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            let found = try await service.windows(
                of: exchange.identifier("group"), standing.id, after: try exchange.cursor { Int($0).flatMap { $0 >= 0 ? $0 : nil } } ?? 0,
                limit: try exchange.pageLimit)
            guard let found else { throw Problem.absent }
            return try .json(Page(items: found.items.map { GroupWindowItem($0) }, next: found.next.map { String($0) }))
        }
    }

    private var windowEvents: Route {
        .events(
            "/thirdparty/v1/group-requests/{group}/windows/events", access: .organisation, scopes: [Right.requestsRead.rawValue],
            summary: "The windows of a subscription to a group, as they are told",
            description: """
                Needs `requests:read`. \
                Server-sent events: `window` with a released or withheld window as the list has it, and its number as the id; `heartbeat` \
                with `head`, the last number, and `state` (`running`, `ended`) where nothing is new and every 15 s without windows. \
                Entries are fetched by the number. It breaks off within seconds once a client's token, a member's session or the right is \
                lost. A break is mended by `Last-Event-ID` (or `after`), as browsers do by themselves; without either it begins with the \
                first window; a number that was never given is refused (`\(Problem.cursorAhead.name)`). Once it has ended the last windows may come some minutes later: the stream stays open until you close it.
                """,
            parameters: [
                Self.groupID, .header("Last-Event-ID", .string(pattern: "^[0-9]{1,18}$"), "The last number that you have."),
                .query("after", .string(pattern: "^[0-9]{1,18}$"), "The same, where no header can be sent."),
            ], events: "Windows, as `GroupWindow`.",
            refusals: [
                .noAdmission, .problem(400, Problem.cursorAhead.name), .problem(404, "not-found"),
                .problem(503, Problem.groupAnswerAwaited.name),
            ], yields: .liveView
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            let id: GroupRequestID = try exchange.identifier("group")
            var after = 0
            if let last = exchange.lastEventID {
                guard let number = Int(last), number >= 0 else { throw Problem.invalidParameter("header:Last-Event-ID", .notAnEventID) }
                after = number
            }
            guard let shown = try await service.find(id, of: standing.id) else { throw Problem.absent }
            // It may be opened yet.
            guard shown.stored.status != .sending else { throw Self.notThereYet }
            guard shown.outcome?.subscription != nil else { throw Problem.noGroupSubscription }
            if after > 0 { _ = try await service.windows(of: id, standing.id, after: after, limit: 1) }
            guard let events = GroupWindowEvents(of: id, standing.id, after: after, service: service) else {
                throw SubscriptionRoutes.manyStreams
            }
            return EventSource(whileAdmitted: { await exchange.isStillAdmitted(by: admit, .requestsRead) }) {
                guard let event = try await events.next() else { return nil }
                return try Self.event(event)
            }
        }
    }

    private static func event(_ event: GroupWindowEvents.Event) throws -> ServerEvent {
        switch event {
        case .window(let window):
            let item = try TaggedAnswer.bytes(GroupWindowItem(window))
            return ServerEvent(id: String(window.sequence), event: "window", data: String(decoding: item, as: UTF8.self))
        case .heartbeat(let head, let isEnded):
            let item = try TaggedAnswer.bytes(GroupHeartbeat(head: head, state: .init(isEnded: isEnded)))
            return ServerEvent(event: "heartbeat", data: String(decoding: item, as: UTF8.self))
        }
    }

    // MARK: Fetching

    private static let formats: [DataFormat] = [.json, .ndjson, .csv]
    /// Entries of one page.
    private static let most = ReadGroupRelease.mostEntries
    private static let usual = 1000
    /// Pages that are looked through for one that holds something.
    private static let mostPages = 16

    private var entries: Route {
        Route(
            .get, "/thirdparty/v1/group-requests/{group}/entries", as: "listGroupEntries", access: .organisation,
            scopes: [Right.dataRead.rawValue], summary: "What was released of a group, once it is paid",
            description: """
                Needs `data:read`. \
                As JSON page by page, by table and time; go on while `next` is not null, also after a page that holds nothing. As \
                NDJSON or CSV (`format`, or `Accept`) the whole at once, as fast as you read. Each entry describes at least ten people, or, in \
                statistics, carries noise. The hours of a day are those in UTC in which an entry begins. The header \
                `\(ResponsibilityNotice.header)` reminds of who answers for the data.
                """,
            parameters: [
                Self.groupID, .query("window", .integer(in: 1...Int.max), "Of a subscription: the number of a released window."),
                .query("format", .oneOf(Self.formats.map(\.rawValue)), "Instead of `Accept`."),
                .query("type", .string(length: 1...64), "Only those of this type, which is one of those that were asked for."),
                .query("hourFrom", .integer(in: GroupEntryChoice.hours), "Only those that begin in this hour of a day or later."),
                .query("hourTo", .integer(in: GroupEntryChoice.hours), "Only before this hour; over midnight where `hourFrom` is later."),
                .query("limit", .integer(in: 1...Self.most), "Of JSON: entries at most; \(Self.usual) unless told."), .after,
            ],
            answers: [
                Answer(
                    200, "One page, or the whole",
                    contents: [.init(MediaType.json, GroupEntryJSON.pageSchema, examples: [Examples.groupEntries])]
                        + Self.formats.dropFirst().map { .init($0.mediaType, .string()) }
                ).sending(.dataResponsibility),
                .noAdmission, .problem(402, Problem.paymentOutstanding.name),
                .problem(403, Problem.notEntitled.name, Problem.statisticsOnly.name), .problem(404, "not-found"),
                .problem(406, "not-acceptable"), .problem(409, Problem.groupNotReleased.name),
                .problem(410, Problem.groupReleaseLost.name),
                .problem(503, Problem.dataInPreparation.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let asked = AskedEntries(
                request: try exchange.identifier("group"), organisation: standing.id,
                window: try exchange.queryInteger("window", in: 1...Int.max))
            let choice = GroupEntryChoice(
                type: try exchange.query("type"), hourFrom: try exchange.queryInteger("hourFrom", in: GroupEntryChoice.hours),
                hourTo: try exchange.queryInteger("hourTo", in: GroupEntryChoice.hours))
            let limit = try exchange.queryInteger("limit", in: 1...Self.most) ?? Self.usual
            let after = try exchange.cursor { String($0) }
            let format = try DataRoutes.format(exchange, of: Self.formats)
            let answer = try await DataRoutes.answering { () async throws -> HTTPAnswer in
                if let type = choice.type {
                    let types = try await asked.released(by: service).types
                    guard types.contains(type) else { throw Problem.invalidParameter("query:type", .notAnOption(types)) }
                }
                guard format != .json else {
                    return try await page(asked, choice, after: after, limit: limit)
                }
                return try await whole(asked, choice, as: format)
            }
            return answer.with(.dataResponsibility, ResponsibilityNotice.text)
        }
    }

    /// Whose entries, and of which window.
    private struct AskedEntries: Sendable {
        let request: GroupRequestID
        let organisation: OrganisationID
        let window: Int?

        func released(by service: GroupService) async throws -> GroupService.Released {
            try await service.released(request, of: organisation, window: window)
        }

        func page(of service: GroupService, after: String?, limit: Int) async throws -> ReadGroupRelease.Reply {
            try await service.page(request, of: organisation, window: window, after: after, limit: limit)
        }
    }

    private func page(_ asked: AskedEntries, _ choice: GroupEntryChoice, after: String?, limit: Int) async throws -> HTTPAnswer {
        var reply = try await asked.page(of: service, after: after, limit: limit)
        var found = reply.entries.filter(choice.contains)
        for _ in 1..<Self.mostPages where found.isEmpty {
            guard let next = reply.next else { break }
            reply = try await asked.page(of: service, after: next, limit: limit)
            found = reply.entries.filter(choice.contains)
        }
        return .bytes(GroupEntryJSON.page(found, next: reply.next), contentType: MediaType.json)
    }

    /// The first page is read before anything is answered, so that what is refused is refused as a problem. Of the others one at a time
    /// is in memory; where one may not leave any more the connection is cut, so that the caller sees that it is not whole.
    private func whole(_ asked: AskedEntries, _ choice: GroupEntryChoice, as format: DataFormat) async throws -> HTTPAnswer {
        let table = format == .csv ? GroupEntryTable(attributes: try await asked.released(by: service).attributes) : nil
        let first = try await asked.page(of: service, after: nil, limit: Self.most)
        return .stream(contentType: format.mediaType) { [service, table] writer in
            if let table { try await writer.write(table.header) }
            var reply = first
            while true {
                let chosen = reply.entries.filter(choice.contains)
                try await writer.write(table?.records(chosen) ?? GroupEntryJSON.lines(chosen))
                guard let next = reply.next else { return }
                reply = try await asked.page(of: service, after: next, limit: Self.most)
            }
        }
    }

    // MARK: What can be asked for

    private var catalogue: Route {
        Route(
            .get, "/thirdparty/v1/group-catalogue", as: "getGroupCatalogue", access: .organisation,
            scopes: [Right.requestsRead.rawValue], summary: "What can be asked of a group",
            description: "Needs `requests:read`. Codes, steps and bounds for the form of a group request, and the products that your "
                + "organisation may receive; nothing of it depends on people.",
            answers: [
                .json(200, "The catalogue", GroupCatalogueItem.self, example: Examples.groupCatalogue), .noAdmission,
                .problem(503, Problem.dataInPreparation.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            return try .json(GroupCatalogueItem(try await Self.asking { try await service.catalogue(of: standing.id) }))
        }
    }

    private static let textLength = 1...100

    private var places: Route {
        Route(
            .get, "/thirdparty/v1/group-catalogue/places", as: "findGroupPlaces", access: .organisation,
            scopes: [Right.requestsRead.rawValue], summary: "Places that people can be chosen by",
            description: "Needs `requests:read`. At most 20, the higher levels first.",
            parameters: [
                .query("text", .string(length: Self.textLength), required: true, "A code, or the beginning of a name; case does not count.")
            ],
            answers: [
                .json(200, "The places", GroupPlacesItem.self, example: Examples.groupPlaces), .noAdmission,
                .problem(503, Problem.dataInPreparation.name),
            ]
        ) { exchange in
            _ = try await admit(exchange, .requestsRead)
            let text = try exchange.required(
                "text",
                exchange.query("text", orElse: .wrongLength(Self.textLength)) { text in
                    // By bytes first: one character may be made of any number of them.
                    text.utf8.count <= 8 * Self.textLength.upperBound && Self.textLength.contains(text.unicodeScalars.count) ? text : nil
                })
            let reply = try await Self.asking { try await service.questions.places(FindGroupPlaces(text: text)) }
            return try .json(GroupPlacesItem(items: reply.places.map(GroupPlaceItem.init)))
        }
    }

    /// Whatever keeps the anonymiser from answering is over some time.
    private static func asking<Reply: Sendable>(_ ask: () async throws -> Reply) async throws -> Reply {
        do {
            return try await ask()
        } catch is Failure {
            throw DataRefusal.silent.problem
        }
    }
}
