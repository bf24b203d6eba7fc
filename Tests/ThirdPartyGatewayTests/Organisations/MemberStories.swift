// Those who work for an organisation, and the programs that act for it.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Members and API clients")
struct MemberStories {
    private static let members = "/thirdparty/v1/members"
    private static let clients = "/thirdparty/v1/clients"

    @Test("ORG-23: several members work for an organisation at the same time, each with the rights of a role")
    func several() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let administrator = try await harness.invite("ada@example.org", as: .administrator, by: founded)
            let analyst = try await harness.invite("giulia@example.org", as: .analyst, by: founded)
            let page: Page<MemberItem> = try await harness.ask("GET", Self.members, token: administrator.token).expect(status: 200)
                .decoded()
            #expect(page.items.map(\.role) == [.owner, .administrator, .analyst] && page.next == nil)
            let first: Page<MemberItem> = try await harness.ask("GET", Self.members + "?limit=2", token: founded.token).decoded()
            let rest: Page<MemberItem> = try await harness.ask(
                "GET", Self.members + "?limit=2&after=\(first.next ?? "")", token: founded.token
            ).decoded()
            #expect(first.items.count == 2 && rest.items.map(\.member) == [analyst.member])
            #expect(try await harness.ask("GET", Self.members, token: analyst.token).problem == "missing-right")
            try await harness.ask("GET", "/thirdparty/v1/organisation", token: analyst.token).expect(status: 200)
        }
    }

    @Test("ORG-23: a role changes with the next call; only owners make and change owners; the first member stays one")
    func roles() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let administrator = try await harness.invite("ada@example.org", as: .administrator, by: founded)
            let second = try await harness.invite("otto@example.org", as: .owner, by: founded)
            func change(_ member: MemberID, to role: String, _ token: String) async throws -> HarnessAnswer {
                try await harness.ask("PATCH", Self.members + "/\(member)", token: token, json: ["role": role])
            }
            #expect(
                try await harness.ask(
                    "POST", Self.members, token: administrator.token, json: ["email": "x@example.org", "role": "owner"]
                ).problem == "rights-beyond-own")
            #expect(try await change(second.member, to: "analyst", administrator.token).problem == "rights-beyond-own")
            #expect(try await change(administrator.member, to: "owner", administrator.token).problem == "rights-beyond-own")
            #expect(try await change(founded.owner, to: "billing", second.token).problem == "member-stays")
            #expect(
                try await harness.ask("DELETE", Self.members + "/\(founded.owner)", token: second.token).problem == "member-stays")
            try await change(administrator.member, to: "billing", founded.token).expect(status: 200)
            #expect(try await harness.ask("GET", Self.members, token: administrator.token).problem == "missing-right")
            #expect(try await change(administrator.member, to: "king", founded.token).pointers == ["/role"])
            #expect(try await change(.random(), to: "billing", founded.token).status == 404)
        }
    }

    @Test("ORG-11, ORG-23: a program that may manage members alone cannot make one who may do more than itself")
    func noDetour() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let administrator = try await harness.invite("ada@example.org", as: .administrator, by: founded)
            let manager = try await accessToken(harness, make(harness, founded.token, ["organisation:manage"]))
            for role in Role.allCases {
                let refused = try await harness.ask(
                    "POST", Self.members, token: manager, json: ["email": "mine@example.org", "role": role.rawValue])
                #expect(refused.status == 403 && refused.problem == "rights-beyond-own", "\(role.rawValue): \(refused.text)")
            }
            #expect(harness.consent.logIns["mine@example.org"] == nil, "nobody was invited")
            let path = Self.members + "/\(administrator.member)"
            #expect(try await harness.ask("DELETE", path, token: manager).problem == "rights-beyond-own")
            let full = try await accessToken(harness, make(harness, founded.token, Right.allCases.map(\.rawValue)))
            let allowed = ["email": "giulia@example.org", "role": "analyst"]
            try await harness.ask("POST", Self.members, token: full, json: allowed).expect(status: 201)
            try await harness.ask("DELETE", path, token: full).expect(status: 204)
        }
    }

    @Test("ORG-23: a removed member is refused at once, and consent ends the log-in, also when it was away")
    func removed() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let analyst = try await harness.invite("giulia@example.org", as: .analyst, by: founded)
            try await harness.ask("GET", "/thirdparty/v1/organisation", token: analyst.token).expect(status: 200)
            harness.consent.fail(Failure(.unavailable, "starting"))
            try await harness.ask("DELETE", Self.members + "/\(analyst.member)", token: founded.token).expect(status: 204)
            #expect(try await harness.ask("GET", "/thirdparty/v1/organisation", token: analyst.token).problem == "not-for-this-account")
            #expect(try await harness.ask("DELETE", Self.members + "/\(analyst.member)", token: founded.token).status == 404)
            harness.consent.fail(nil)
            try await eventually("consent ends the log-in", isTrue: { harness.consent.removed == [analyst.member] })
        }
    }

    @Test("ORG-23, CON-06: an address that is in use elsewhere cannot be invited; consent away is told as such")
    func inviteRefused() async throws {
        try await OrganisationHarness.runFounded { (harness, founded) async throws in
            harness.consent.occupy("anna@example.org")
            let body = ["email": "anna@example.org", "role": "analyst"]
            #expect(try await harness.ask("POST", Self.members, token: founded.token, json: body).problem == "email-in-use")
            let malformed = ["email": "anna", "role": "analyst"]
            #expect(try await harness.ask("POST", Self.members, token: founded.token, json: malformed).pointers == ["/email"])
            harness.consent.fail(Failure(.unavailable, "starting"))
            let later = ["email": "new@example.org", "role": "analyst"]
            #expect(try await harness.ask("POST", Self.members, token: founded.token, json: later).status == 503)
        }
    }

    @Test("ORG-23: invitations cannot be made a flood of mail to somebody's address")
    func invitedAgainAndAgain() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let body = ["email": "victim@example.org", "role": "analyst"]
            for _ in 0..<3 { try await harness.ask("POST", Self.members, token: founded.token, json: body).expect(status: 201) }
            let refused = try await harness.ask("POST", Self.members, token: founded.token, json: body)
            #expect(refused.status == 429 && refused.headers["retry-after"] != nil)
            let other = try await harness.found(OrganisationHarness.otherForm())
            #expect(try await harness.ask("POST", Self.members, token: other.token, json: body).status == 429, "whoever invites")
            let somebody = ["email": "giulia@example.org", "role": "analyst"]
            try await harness.ask("POST", Self.members, token: founded.token, json: somebody).expect(status: 201)
        }
    }

    @Test("ORG-23: when an organisation is full, an invitation says so, and invites nobody")
    func full() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let contact = MemberContact(email: try #require(EmailAddress("many@example.org")), language: .english)
            try await harness.opened.store.write { [table = harness.parts.members.table] db in
                for _ in 1..<MemberService.most {
                    try table.add(
                        db,
                        MemberRow(
                            id: .random(), organisation: founded.id, role: .analyst, contact: contact, since: Timestamp(milliseconds: 1)))
                }
            }
            let refused = try await harness.ask(
                "POST", Self.members, token: founded.token, json: ["email": "one-more@example.org", "role": "analyst"])
            #expect(refused.status == 409 && refused.problem == "too-many-members", "\(refused.text)")
        }
    }

    // MARK: Programs

    private struct Client {
        let id: String
        let secret: String
    }

    private func make(_ harness: OrganisationHarness, _ token: String, _ scopes: [String]) async throws -> Client {
        let made = try await harness.ask("POST", Self.clients, token: token, json: ["name": "nightly", "scopes": scopes])
            .expect(status: 201).json
        return Client(id: try #require(made["client"] as? String), secret: try #require(made["secret"] as? String))
    }

    private func token(
        _ harness: OrganisationHarness, _ client: Client, secret: String? = nil, scope: String? = nil, basic: Bool = true
    ) async throws -> HarnessAnswer {
        var form = "grant_type=client_credentials" + (scope.map { "&scope=" + $0.replacing(" ", with: "+") } ?? "")
        let secret = secret ?? client.secret
        guard basic else {
            form += "&client_id=\(client.id)&client_secret=\(secret)"
            return try await harness.ask("POST", "/thirdparty/v1/oauth/token", form: form)
        }
        let header = "Basic " + Base64.encode(Array("\(client.id):\(secret)".utf8))
        return try await harness.ask("POST", "/thirdparty/v1/oauth/token", form: form, headers: ["Authorization": header])
    }

    /// An access token that must be given.
    private func accessToken(_ harness: OrganisationHarness, _ client: Client) async throws -> String {
        let answer = try await token(harness, client).expect(status: 200)
        return try #require(answer.json["access_token"] as? String)
    }

    @Test("ORG-11: a program gets a token by OAuth 2 client credentials, by Basic or by the form, for its scopes and an hour")
    func clientCredentials() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let client = try await make(harness, founded.token, ["organisation:manage", "data:read"])
            for basic in [true, false] {
                let answer = try await token(harness, client, basic: basic).expect(status: 200)
                #expect(answer.json["token_type"] as? String == "Bearer" && answer.json["expires_in"] as? Int == 3600)
                #expect(answer.json["scope"] as? String == "data:read organisation:manage")
                #expect(answer.headers["cache-control"] == "no-store")
                let bearer = try #require(answer.json["access_token"] as? String)
                try await harness.ask("GET", Self.members, token: bearer).expect(status: 200)
            }
            let narrow = try await token(harness, client, scope: "data:read").expect(status: 200)
            let bearer = try #require(narrow.json["access_token"] as? String)
            #expect(narrow.json["scope"] as? String == "data:read")
            #expect(try await harness.ask("GET", Self.members, token: bearer).problem == "missing-right")
            try await harness.ask("GET", "/thirdparty/v1/organisation", token: bearer).expect(status: 200)
            let listed: Page<ClientItem> = try await harness.ask("GET", Self.clients, token: founded.token).decoded()
            #expect(listed.items.count == 1 && listed.items[0].secret == nil && listed.items[0].lastUsedAt != nil)
        }
    }

    @Test("ORG-11: a missing, wrong, expired or withdrawn token is refused as unauthorised, and so is a wrong secret")
    func unauthorised() async throws {
        let clock = TestClock()
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, clock: clock) { harness in
                let founded = try await harness.found()
                let client = try await make(harness, founded.token, ["organisation:manage"])
                let wrong = try await token(harness, client, secret: "tmcs_wrong")
                #expect(wrong.status == 401 && wrong.json["error"] as? String == "invalid_client")
                #expect(wrong.headers["www-authenticate"]?.hasPrefix("Basic") == true)
                #expect(try await token(harness, Client(id: "\(ClientID.random())", secret: client.secret)).status == 401)
                let bearer = try await accessToken(harness, client)
                for shown in [nil, "tmat_" + Base64URL.encode(Random.bytes(32)), bearer + "x", client.secret] {
                    #expect(try await harness.ask("GET", Self.members, token: shown).problem == "unauthorised")
                }
                try await harness.ask("GET", Self.members, token: bearer).expect(status: 200)
                // The token was given by the machine's own time, which is later than this clock's by however long it took to come here.
                clock.advance(.seconds(7200))
                #expect(try await harness.ask("GET", Self.members, token: bearer).problem == "unauthorised")
                let fresh = try harness.logIns.token(founded.owner, of: founded.id, at: clock.now)
                try await harness.ask("DELETE", Self.clients + "/\(client.id)", token: fresh).expect(status: 204)
                #expect(try await token(harness, client).status == 401)
            }
        }
    }

    @Test("ORG-11: withdrawing a client ends its tokens at once, also one that was just used; so does revoking one by itself")
    func withdrawn() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let client = try await make(harness, founded.token, ["organisation:manage"])
            let one = try await accessToken(harness, client)
            let two = try await accessToken(harness, client)
            for bearer in [one, two] { try await harness.ask("GET", Self.members, token: bearer).expect(status: 200) }
            let form = "token=\(one)&client_id=\(client.id)&client_secret=\(client.secret)"
            for _ in 0..<2 { try await harness.ask("POST", "/thirdparty/v1/oauth/revoke", form: form).expect(status: 200) }
            #expect(try await harness.ask("GET", Self.members, token: one).problem == "unauthorised")
            try await harness.ask("GET", Self.members, token: two).expect(status: 200)
            try await harness.ask("DELETE", Self.clients + "/\(client.id)", token: founded.token).expect(status: 204)
            #expect(try await harness.ask("GET", Self.members, token: two).problem == "unauthorised")
        }
    }

    @Test("ORG-11: a rotated secret and the one before are both good for a while, then the new one alone")
    func rotation() async throws {
        let clock = TestClock()
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, environment: ["TRACKME_ORG_SECRET_OVERLAP_H": "24"], clock: clock) { harness in
                let founded = try await harness.found()
                let client = try await make(harness, founded.token, ["data:read"])
                let rotated = try await harness.ask("POST", Self.clients + "/\(client.id)/secret", token: founded.token).expect(status: 200)
                let new = try #require(rotated.json["secret"] as? String)
                #expect(new != client.secret)
                try await token(harness, client).expect(status: 200)
                try await token(harness, client, secret: new).expect(status: 200)
                // As if it had been rotated two days ago.
                try await harness.opened.store.write { db in
                    try db.execute(sql: "UPDATE api_clients SET old_until = old_until - 172800000")
                }
                #expect(try await token(harness, client).status == 401)
                try await token(harness, client, secret: new).expect(status: 200)
            }
        }
    }

    @Test("ORG-11: the token endpoint refuses as RFC 6749 says")
    func refusals() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let client = try await make(harness, founded.token, ["data:read"])
            let path = "/thirdparty/v1/oauth/token"
            let shown = "&client_id=\(client.id)&client_secret=\(client.secret)"
            let cases = [
                ("grant_type=password" + shown, 400, "unsupported_grant_type"), ("scope=data:read" + shown, 400, "invalid_request"),
                ("grant_type=client_credentials" + shown + "&scope=payments:write", 400, "invalid_scope"),
                ("grant_type=client_credentials" + shown + "&scope=everything", 400, "invalid_scope"),
                ("grant_type=client_credentials", 401, "invalid_client"), ("grant_type=%ZZ", 400, "invalid_request"),
            ]
            for (form, status, error) in cases {
                let answer = try await harness.ask("POST", path, form: form)
                #expect(answer.status == status && answer.json["error"] as? String == error, "\(error)")
            }
            let both = try await harness.ask(
                "POST", path, form: "grant_type=client_credentials" + shown,
                headers: ["Authorization": "Basic " + Base64.encode(Array("\(client.id):\(client.secret)".utf8))])
            #expect(both.json["error"] as? String == "invalid_request")
            _ = try await harness.operators.ask(
                JudgeOrganisation(organisation: founded.id, judgement: .suspend), deadline: .seconds(5))
            #expect(try await token(harness, client).json["error"] as? String == "unauthorized_client")
        }
    }

    @Test("ORG-11: nobody gives a program rights that they have not; fewer rights end the tokens that had more; secrets are shown once")
    func clientRights() async throws {
        try await OrganisationHarness.runFounded(environment: ["TRACKME_ORG_CLIENTS_MOST": "2"]) { harness, founded in
            let manager = try await make(harness, founded.token, ["organisation:manage"])
            let bearer = try await accessToken(harness, manager)
            let more = try await harness.ask("POST", Self.clients, token: bearer, json: ["name": "x", "scopes": ["data:read"]])
            #expect(more.status == 403 && more.problem == "rights-beyond-own")
            let unknown = try await harness.ask("POST", Self.clients, token: founded.token, json: ["name": "x", "scopes": ["all"]])
            #expect(unknown.status == 422 && unknown.pointers == ["/scopes/0"])
            #expect(
                try await harness.ask(
                    "PATCH", Self.clients + "/\(manager.id)", token: founded.token, json: ["scopes": ["data:read"]]
                ).status == 200)
            #expect(try await harness.ask("GET", Self.members, token: bearer).problem == "unauthorised")

            let body: [String: Any] = ["name": "second", "scopes": ["data:read"]]
            let key = ["Idempotency-Key": "k"]
            let first = try await harness.ask("POST", Self.clients, token: founded.token, json: body, headers: key).expect(status: 201)
            let again = try await harness.ask("POST", Self.clients, token: founded.token, json: body, headers: key).expect(status: 201)
            #expect(first.json["secret"] as? String == again.json["secret"] as? String, "a lost answer is not a lost secret")
            let third = try await harness.ask("POST", Self.clients, token: founded.token, json: body)
            #expect(third.status == 409 && third.problem == "too-many-clients")
        }
    }

    @Test("ORG-11: a token that is asked for while the client loses rights never opens what the client may not any more")
    func narrowedMeanwhile() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let client = try await make(harness, founded.token, ["data:read", "organisation:manage"])
            for _ in 0..<20 {
                async let one = token(harness, client)
                async let two = token(harness, client)
                try await harness.ask(
                    "PATCH", Self.clients + "/\(client.id)", token: founded.token, json: ["scopes": ["data:read"]]
                ).expect(status: 200)
                for answer in try await [one, two] {
                    guard let bearer = answer.json["access_token"] as? String else { continue }
                    #expect(try await harness.ask("GET", Self.members, token: bearer).status != 200)
                }
                try await harness.ask(
                    "PATCH", Self.clients + "/\(client.id)", token: founded.token,
                    json: ["scopes": ["data:read", "organisation:manage"]]
                ).expect(status: 200)
            }
        }
    }

    @Test("limits and quotas are told in the headers of every answer, refusals too; beyond them it is 429 with Retry-After")
    func limits() async throws {
        try await OrganisationHarness.runFounded(environment: ["TRACKME_ORG_CALLS_PER_MINUTE": "5", "TRACKME_ORG_CALLS_PER_DAY": "1000"]) {
            harness, founded in
            var remaining: [Int] = []
            var refused: HarnessAnswer?
            // A minute may begin anew in between.
            for _ in 0..<12 where refused == nil {
                let counted = try await harness.ask("PATCH", Self.members + "/mem_x", token: founded.token, json: ["role": "billing"])
                if counted.status == 429 {
                    refused = counted
                } else {
                    #expect(counted.status == 404 && counted.headers["ratelimit-limit"] == "5")
                    #expect(counted.headers["ratelimit-policy"] == "5;w=60, 1000;w=86400")
                    remaining.append(Int(counted.headers["ratelimit-remaining"] ?? "") ?? -1)
                }
            }
            let last = try #require(refused)
            #expect(last.problem == "too-many-requests" && last.headers["retry-after"] == last.headers["ratelimit-reset"])
            #expect(last.headers["ratelimit-remaining"] == "0" && remaining.contains(0))
            let other = try await harness.found(OrganisationHarness.otherForm())
            try await harness.ask("GET", Self.members, token: other.token).expect(status: 200)
        }
    }
}
