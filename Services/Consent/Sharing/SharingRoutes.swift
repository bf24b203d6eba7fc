// The doors of sharing over HTTP: the person's requests, answers, grants and policy.

import Contracts
import HTTPKit

struct SharingRoutes: Sendable {
    let service: SharingService
    let policy: PolicyService

    var all: [Route] {
        [requests, request, answer, policyPage, anonymous, withdrawal, typeWithdrawal]
    }

    // MARK: Requests

    private enum Shown: String, CaseIterable {
        case pending, past
    }

    private var requests: Route {
        Route(
            .get, "/consent/v1/requests", access: .person, summary: "All requests ever received, newest first",
            parameters: [
                .query("show", .oneOf(Shown.allCases.map(\.rawValue)), "Only those that wait for an answer, or only past ones."), .limit,
                .after,
            ],
            answers: [.json(200, "Pending ones and past ones with their outcome", Page<RequestItem>.self)]
        ) { exchange in
            let person = try exchange.person
            let before = try exchange.cursor(Int64.init)
            let shown = try exchange.queryChoice("show", of: Shown.self)
            let limit = try exchange.pageLimit
            let (rows, next) = try await service.requests(
                of: person, pending: shown.map { $0 == .pending }, before: before, limit: limit)
            return try .json(Page(items: rows.map { RequestItem($0.row.request, $0.details) }, next: next.map(String.init)))
        }
    }

    private static let requestID = Parameter.path("request", .identifier(DataRequest.self), "The request's id.")

    private var request: Route {
        Route(
            .get, "/consent/v1/requests/{request}", access: .person, summary: "One request", parameters: [Self.requestID],
            answers: [.json(200, "The request", RequestItem.self), .problem(404, "not-found")]
        ) { exchange in
            let id: RequestID = try exchange.identifier("request")
            guard let shown = try await service.request(id, of: exchange.person) else { throw Problem.notFound }
            return try .json(RequestItem(shown.row.request, shown.details))
        }
    }

    private var answer: Route {
        Route(
            .post, "/consent/v1/requests/{request}/answer", as: "answerRequest", access: .person, summary: "Accepts or refuses a request",
            description: """
                Each request is answered by itself. The first answer stands; the same answer again changes nothing. An acceptance is told \
                to the person by a message, by mail as well.
                """,
            parameters: [Self.requestID], body: .json(AnswerBody.self, examples: [["answer": "accept"]]),
            answers: [
                .json(200, "The request as it is now", RequestItem.self), .problem(403, Problem.guardianMustAnswer.name),
                .problem(404, "not-found"),
                .problem(409, Problem.alreadyAnswered.name, Problem.noLongerOpen.name),
            ]
        ) { exchange in
            let person = try exchange.person
            let id: RequestID = try exchange.identifier("request")
            let body: AnswerBody = try await exchange.json()
            let outcome = try await service.answer(id, of: person, accept: body.answer == .accept, trace: exchange.trace)
            let (row, details) = try Self.result(of: outcome)
            return try .json(RequestItem(row.request, details))
        }
    }

    // MARK: The policy

    private var policyPage: Route {
        Route(
            .get, "/consent/v1/policy", access: .person, summary: "Who may see what, and what is shared anonymously",
            answers: [.json(200, "The data policy as it is now", PolicyItem.self)]
        ) { exchange in
            let person = try exchange.person
            let grants = try await service.grants(of: person).map { RequestItem($0.row.request, $0.details) }
            let chosen = try await policy.anonymous(of: person)
            return try .json(PolicyItem(grants: grants, anonymous: Metric.all.map { AnonymousItem($0, chosen[$0]) }))
        }
    }

    private static let metric = Parameter.path("type", SharingSchemas.metricCode, "Code of the data type.")

    private var anonymous: Route {
        Route(
            .put, "/consent/v1/policy/anonymous/{type}", as: "setAnonymousSharing", access: .person,
            summary: "Shares a data type anonymously, or no longer",
            parameters: [Self.metric], body: .json(AnonymousBody.self, examples: [["shared": true]]),
            answers: [
                .json(200, "The choice as it stands", AnonymousItem.self), .problem(403, Problem.guardianMustAnswer.name),
                .problem(404, "not-found"),
            ]
        ) { exchange in
            let person = try exchange.person
            let metric = try Self.metric(exchange)
            let body: AnonymousBody = try await exchange.json()
            switch try await policy.choose(metric, shared: body.shared, of: person) {
            case .chosen(let choice): return try .json(AnonymousItem(metric, choice))
            case .guardianMustAnswer: throw Self.guardianMustAnswer
            case .notFound: throw Problem.notFound
            }
        }
    }

    private static let grantID = Parameter.path("grant", .identifier(Grant.self), "The grant's id.")
    private static let withdrawalAnswers: [Answer] = [
        .json(200, "What is left of it", WithdrawalItem.self), .problem(404, "not-found"),
        .problem(409, Problem.grantNotInForce.name),
    ]

    private var withdrawal: Route {
        Route(
            .delete, "/consent/v1/grants/{grant}", as: "withdrawGrant", access: .person, summary: "Withdraws a grant wholly",
            parameters: [Self.grantID],
            answers: Self.withdrawalAnswers
        ) { exchange in
            try await withdraw(exchange, types: nil)
        }
    }

    private var typeWithdrawal: Route {
        Route(
            .delete, "/consent/v1/grants/{grant}/types/{type}", as: "withdrawGrantType", access: .person,
            summary: "Withdraws one data type of a grant",
            description: "Withdrawing the last one withdraws the grant.", parameters: [Self.grantID, Self.metric],
            answers: Self.withdrawalAnswers
        ) { exchange in
            try await withdraw(exchange, types: [Self.metric(exchange)])
        }
    }

    private func withdraw(_ exchange: Exchange, types: Set<Metric>?) async throws -> HTTPAnswer {
        let outcome = try await service.withdraw(
            exchange.identifier("grant"), of: exchange.person, types: types, trace: exchange.trace)
        let (row, details) = try Self.result(of: outcome)
        return try .json(WithdrawalItem(request: RequestItem(row.request, details)))
    }

    // MARK: What outcomes say

    private static func result(of outcome: SharingService.Outcome) throws(Problem) -> (StoredRequest, RequestDetails) {
        switch outcome {
        case .done(let row, let details), .unchanged(let row, let details): return (row, details)
        case .refused(let refusal): throw refusal.problem
        case .guardianMustAnswer: throw guardianMustAnswer
        case .notFound: throw .notFound
        }
    }

    private static let guardianMustAnswer = Problem.guardianMustAnswer.saying(
        "You are too young to share data by yourself. Your guardian has a message with a link to answer; you may always refuse.",
        italian:
            """
            Lei è troppo giovane per condividere dati da sé. Il suo tutore ha un messaggio con un collegamento per rispondere; può \
            sempre rifiutare.
            """
    )

    private static func metric(_ exchange: Exchange) throws(Problem) -> Metric {
        guard let metric = Metric(code: exchange.path("type")) else { throw .notFound }
        return metric
    }
}

extension Exchange {
    /// Follows one piece of work through streams and logs.
    fileprivate var trace: String { String(requestID.prefix(32)) }
}
