// The synthetic person's thumb: whatever she is asked, she accepts.

import Contracts
import ServiceKit

struct SandboxHost: Sendable {
    private static let pause = Duration.seconds(1)

    let client: PeopleClient
    let person: SandboxPerson
    let say: @Sendable (String) -> Void

    /// Polls for requests and accepts them until it is cancelled; a suite that is away for a while is waited for.
    /// - Parameter once: ends after the first.
    func accept(once: Bool) async throws {
        var session = SandboxSession(client: client, login: person.email, password: person.password)
        var isAway = false
        while !Task.isCancelled {
            do {
                let accepted = try await acceptPending(&session)
                isAway = false
                if once, accepted > 0 { return }
            } catch let error where !(error is CancellationError) {
                if Task.isCancelled { break }
                if !isAway { say("the requests cannot be seen at the moment: \(error)") }
                isAway = true
            }
            // The page of requests sends no wake-up; a second is what a person would take.
            try await Task.sleep(for: Self.pause)
        }
        throw CancellationError()
    }

    /// - Returns: how many there were.
    private func acceptPending(_ session: inout SandboxSession) async throws -> Int {
        let pending = try await call("GET", "/consent/v1/requests?show=pending", &session).expecting(200, "looking for requests")
        let requests = pending.list("items").compactMap { $0["request"] as? String }
        for request in requests {
            let answer = try await call("POST", "/consent/v1/requests/\(request)/answer", &session, body: ["answer": "accept"])
            // Stopped meanwhile, or its time was up.
            guard answer.status != 409 else { continue }
            _ = try answer.expecting(200, "accepting a request")
            say("accepted \(request)")
        }
        return requests.count
    }

    private func call(
        _ method: String, _ path: String, _ session: inout SandboxSession, body: [String: String]? = nil
    ) async throws -> PeopleReply {
        let reply = try await client.call(method, .consent, path, token: try await session.token(), body: body)
        guard reply.status == 401 else { return reply }
        return try await client.call(method, .consent, path, token: try await session.renew(), body: body)
    }
}
