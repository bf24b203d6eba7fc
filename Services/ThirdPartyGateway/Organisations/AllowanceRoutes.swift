// Limits around every route that organisations use, told in the headers of each answer.

import Contracts
import HTTPKit
import HTTPTypes
import Synchronization

/// Counts the calls of each organisation, its members and programs together; in memory only, so that a restart begins anew.
final class Allowance: Sendable {
    /// Quotas that count nothing any more are forgotten when there are so many.
    private static let sweepAt = 1024

    private static let limit = AnswerHeader(
        .known("RateLimit-Limit"), .integer(in: 1...Int.max), "Calls of the window that has least left.")
    private static let remaining = AnswerHeader(.known("RateLimit-Remaining"), .integer(in: 0...Int.max), "What is left of them.")
    private static let reset = AnswerHeader(.known("RateLimit-Reset"), .integer(in: 0...Int.max), "Seconds until that window begins anew.")
    private static let policy = AnswerHeader(
        .known("RateLimit-Policy"), .string(),
        "Every window: calls, and `w` for its seconds. As the others, where a token showed whose call it is.")

    private let fresh: CallQuota
    private let quotas = Mutex<[OrganisationID: CallQuota]>([:])

    init(perMinute: Int, perDay: Int) {
        fresh = CallQuota(perMinute: perMinute, perDay: perDay)
    }

    /// The same routes; those of organisations answer with `RateLimit-…` headers, also where they refuse, and with 429 `too-many-requests`
    /// and `Retry-After` beyond the limit.
    func limiting(_ routes: [Route]) -> [Route] {
        routes.map { route in
            guard route.access == .organisation || route.access == .member else { return route }
            return Route(
                route.method, route.path, as: route.operationID, access: route.access, scopes: route.scopes, summary: route.summary,
                description: route.description,
                parameters: route.parameters, body: route.body, answers: route.answers + [.problem(503, Problem.heldAfterRestore.name)],
                headers: route.headers + [Self.limit, Self.remaining, Self.reset, Self.policy], isRateLimited: true,
                takesIdempotencyKey: route.takesIdempotencyKey, isInternal: route.isInternal, brief: route.brief
            ) { [self] exchange in
                guard let organisation = exchange.callingOrganisation else { return try await route.handler(exchange) }
                let (isAdmitted, state) = take(organisation, at: exchange.receivedAt)
                let headers = headers(state)
                guard isAdmitted else {
                    throw Refusal(.tooManyRequests, retryAfter: .seconds(state.resetSeconds), headers: headers)
                }
                do {
                    var answer = try await route.handler(exchange)
                    for field in headers { answer.headers.append(field) }
                    return answer
                } catch let refusal as Refusal {
                    var answer = refusal
                    for field in headers { answer.headers.append(field) }
                    throw answer
                } catch let problem as Problem {
                    throw Refusal(problem, headers: headers)
                }
            }
        }
    }

    /// Counts one call.
    func take(_ organisation: OrganisationID, at now: Timestamp) -> (isAdmitted: Bool, state: CallWindow.State) {
        quotas.withLock { [fresh] quotas in
            if quotas.count >= Self.sweepAt, quotas[organisation] == nil {
                quotas = quotas.filter { item in
                    var quota = item.value
                    return !quota.isUnused(at: now)
                }
            }
            let (isAdmitted, state) = quotas[organisation, default: fresh].take(at: now)
            return (isAdmitted, state)
        }
    }

    private func headers(_ state: CallWindow.State) -> HTTPFields {
        var fields = HTTPFields()
        for (header, value) in [
            (Self.limit, String(state.limit)), (Self.remaining, String(state.remaining)), (Self.reset, String(state.resetSeconds)),
            (Self.policy, fresh.policy),
        ] {
            fields.append(HTTPField(name: header.name, value: value))
        }
        return fields
    }
}

extension Exchange {
    /// On whose behalf the caller came, whether or not that organisation may act.
    var callingOrganisation: OrganisationID? {
        switch caller {
        case .member(_, let organisation, _), .client(_, let organisation, _): organisation
        case .anyone, .device, .integrator, .person, .operator: nil
        }
    }
}
