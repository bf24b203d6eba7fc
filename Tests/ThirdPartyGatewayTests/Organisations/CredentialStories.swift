// Credentials that prove nobody: what an operator sees of them, and what not.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Telemetry
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Refused credentials")
struct CredentialStories {
    private static let endpoint = "/thirdparty/v1/oauth/token"

    private static func token(_ harness: OrganisationHarness, _ client: String, _ secret: String) async throws -> HarnessAnswer {
        try await harness.ask(
            "POST", endpoint, form: "grant_type=client_credentials",
            headers: ["Authorization": "Basic " + Base64.encode(Array("\(client):\(secret)".utf8))])
    }

    @Test(
        "ORG-11, NFR-11: each wrong secret, unknown client and bad token is counted by its reason and told to the log, which holds none of it"
    )
    func refusedCredentials() async throws {
        // The same as in other tests of this process: it can be done once.
        let registry = TelemetryBootstrap.once(service: "tests", level: .critical)
        func count(_ fault: CredentialFault) -> Int {
            let line = registry.text.split(separator: "\n").first {
                $0.hasPrefix("refused_credentials_total{") && $0.contains("reason=\"\(fault.rawValue)\"")
            }
            return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
        }
        try await OrganisationHarness.runFounded { harness, founded in
            let made = try await harness.ask(
                "POST", "/thirdparty/v1/clients", token: founded.token, json: ["name": "nightly", "scopes": ["organisation:manage"]])
            let client = try #require(made.json["client"] as? String)
            let secret = try #require(made.json["secret"] as? String)
            let stranger = "\(ClientID.random())"
            let token = "tmat_" + Base64URL.encode(Random.bytes(32))
            let before = Dictionary(uniqueKeysWithValues: CredentialFault.allCases.map { ($0, count($0)) })
            for (id, shown) in [(client, "tmcs_guessed"), (stranger, secret), ("somebody@example.org", "tmcs_guessed")] {
                #expect(try await Self.token(harness, id, shown).status == 401)
            }
            #expect(try await harness.ask("POST", Self.endpoint, form: "grant_type=client_credentials").status == 401)
            for bearer in [token, "eyJhbGciOiJub25lIn0.e30."] {
                #expect(try await harness.ask("GET", "/thirdparty/v1/members", token: bearer).status == 401)
            }
            let expected: [CredentialFault: Int] = [.wrongSecret: 1, .unknownClient: 2, .noClient: 1, .unknownToken: 1, .logInToken: 1]
            for (fault, least) in expected {
                // Other tests of this process count too.
                #expect(count(fault) >= (before[fault] ?? 0) + least, "\(fault)")
                #expect(harness.log.lines.filter { $0.contains("credentials were refused") && $0.contains(fault.rawValue) }.count == least)
            }
            #expect(harness.log.lines.contains { $0.contains("wrong-secret") && $0.contains(client) && $0.contains("requestId") })
            for shown in ["tmcs_guessed", secret, stranger, "somebody@example.org", token, "eyJhbGciOiJub25lIn0"] {
                #expect(!harness.log.text.contains(shown))
            }
            try await Self.token(harness, client, secret).expect(status: 200)
            #expect(harness.log.lines.filter { $0.contains("credentials were refused") }.count == 6)
        }
    }

    @Test(
        "X4, ORG-11, ORG-23: an owner's stolen token made a program, an owner and a mailbox of the thief's; what outlives the session asks for a fresh proof"
    )
    func stolenFromAnOwner() async throws {
        try await OrganisationHarness.run { harness in
            let founded = try await harness.found()
            let analyst = try await harness.invite("giulia@example.org", as: .analyst, by: founded)
            let program: [String: Any] = ["name": "nightly", "scopes": ["organisation:manage"]]
            let made = try await harness.ask("POST", "/thirdparty/v1/clients", token: founded.token, json: program).expect(status: 201)
            let client = try #require(made.json["client"] as? String)
            let secret = try #require(made.json["secret"] as? String)
            let stolen = try harness.logIns.token(
                founded.owner, of: founded.id, at: harness.clock.now, proved: harness.clock.now - .seconds(600))
            let orders: [(method: String, path: String, body: [String: Any])] = [
                ("POST", "clients", program), ("POST", "clients/\(client)/secret", [:]),
                ("POST", "members", ["email": "thief@example.org", "role": "owner"]),
                ("PATCH", "members/\(analyst.member)", ["role": "owner"]), ("PUT", "organisation/email", ["email": "thief@example.org"]),
                ("POST", "organisation/closing", ["confirmation": "Istituto Ricerche S.p.A."]),
                ("PATCH", "clients/\(client)", ["scopes": ["data:read", "organisation:manage"]]),
                ("DELETE", "members/\(analyst.member)", [:]),
            ]
            for (method, path, body) in orders {
                let refused = try await harness.ask(
                    method, "/thirdparty/v1/\(path)", token: stolen, json: body.isEmpty ? nil : body)
                #expect(refused.status == 401 && refused.problem == "insufficient-user-authentication", "\(method) \(path)")
            }
            try await harness.ask("GET", "/thirdparty/v1/members", token: stolen).expect(status: 200)
            #expect(!harness.log.text.contains("credentials were refused"), "the token itself is good")
            // A program has no log-in: its secret, from which its token comes, is what it can prove.
            let given = try await Self.token(harness, client, secret).expect(status: 200)
            let bearer = try #require(given.json["access_token"] as? String)
            try await harness.ask("POST", "/thirdparty/v1/clients", token: bearer, json: program).expect(status: 201)
        }
    }

    @Test("X4, ORG-11, ORG-23: clients were made, given rights and members removed in the owners' name, and no owner was told")
    func ownersTold() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let analyst = try await harness.invite("giulia@example.org", as: .analyst, by: founded)
            let program: [String: Any] = ["name": "nightly", "scopes": ["data:read"]]
            let made = try await harness.ask("POST", "/thirdparty/v1/clients", token: founded.token, json: program).expect(status: 201)
            let client = "clients/\(try #require(made.json["client"] as? String))"
            let orders: [(method: String, path: String, body: [String: Any]?)] = [
                ("POST", client + "/secret", nil), ("PATCH", client, ["scopes": ["data:read", "requests:read"]]),
                ("PATCH", client, ["name": "daily", "scopes": ["data:read"]]), ("PATCH", "members/\(analyst.member)", ["role": "billing"]),
                ("DELETE", "members/\(analyst.member)", nil),
            ]
            for (method, path, body) in orders {
                let answer = try await harness.ask(method, "/thirdparty/v1/\(path)", token: founded.token, json: body)
                #expect((200..<300).contains(answer.status), "\(method) \(path): \(answer.text)")
            }
            let expected: [KeyChange] = [
                .memberInvited, .clientMade, .clientSecretReplaced, .clientRightsAdded, .roleChanged, .memberRemoved,
            ]
            let address = OrganisationHarness.address
            let last = try await harness.mail.arrived(to: address, .organisationKeysChanged, count: expected.count)
            let language = last.language
            let told = harness.mail.messages(to: address, .organisationKeysChanged).compactMap { $0.values["change"] }
            #expect(told.sorted() == expected.map { $0.words(language) }.sorted(), "fewer rights are told to nobody")
        }
    }

    @Test("X4, ORG-11: with a member's stolen token webhooks went to an address of the thief's, and its secret was shown")
    func stolenEndpoint() async throws {
        try await MatrixHarness.run { harness in
            let own = try await harness.organisation(.active, named: "own", vatNumber: "00743110157")
            let owner = try #require(own.members[.owner])
            let stolen = try harness.logIns.token(owner.id, of: own.id, proved: Timestamp.now - .seconds(600))
            let (path, body) = ("/thirdparty/v1/endpoints", #"{"url":"https://example.org/trackme"}"#)
            let refused = try await harness.ask("POST", path, token: stolen, text: body)
            #expect(refused.status == 401 && refused.problem == "insufficient-user-authentication")
            let made = try await harness.ask("POST", path, token: owner.token, text: body).expect(status: 201)
            let secret = path + "/\(try #require(made.json["id"] as? String))/secret"
            #expect(try await harness.ask("POST", secret, token: stolen).problem == "insufficient-user-authentication")
            try await harness.ask("POST", secret, token: owner.token).expect(status: 200)
            let program = try #require(own.client.tokens[[.subscriptionsManage]])
            try await harness.ask("POST", path, token: program, text: body).expect(status: 201)
            let told = try await harness.waitingMails().filter { $0.template == .organisationKeysChanged }
            let changes: [KeyChange] = [.endpointAdded, .endpointSecretReplaced, .endpointAdded]
            let language = try #require(told.first?.language)
            #expect(told.compactMap { $0.values["change"] } == changes.map { $0.words(language) })
        }
    }

    @Test(
        "X19: 300 wrong client secrets of one address, at both routes and in both spellings: after a hundred they are 429; the right one gets its token there"
    )
    func guessedSecrets() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let made = try await harness.ask(
                "POST", "/thirdparty/v1/clients", token: founded.token, json: ["name": "nightly", "scopes": ["organisation:manage"]])
            let client = try #require(made.json["client"] as? String)
            let secret = try #require(made.json["secret"] as? String)
            var statuses: [Int: Int] = [:]
            for number in 0..<300 {
                let guess = "tmcs_guess\(number)"
                let answer =
                    switch number % 3 {
                    case 0: try await Self.token(harness, client, guess)
                    case 1:
                        try await harness.ask(
                            "POST", Self.endpoint, form: "grant_type=client_credentials&client_id=\(client)&client_secret=\(guess)")
                    default:
                        try await harness.ask(
                            "POST", "/thirdparty/v1/oauth/revoke", form: "token=a&client_id=\(client)&client_secret=\(guess)")
                    }
                statuses[answer.status, default: 0] += 1
                if answer.status == 429 {
                    #expect(answer.problem == "too-many-requests" && answer.header("Retry-After").flatMap { Int($0) } ?? 0 >= 1)
                }
            }
            #expect(statuses.keys.sorted() == [401, 429])
            #expect((100..<200).contains(statuses[401] ?? 0), "a hundred at once, then one a second: \(statuses)")
            // Nobody can guess 256 bits: whoever shares the address with a guesser is not locked out.
            try await Self.token(harness, client, secret).expect(status: 200)
        }
    }

    @Test("a flood of wrong secrets does not fill the log: lines are passed over, and the next one says how many")
    func flood() {
        let log = RecordingLog()
        let (refused, now) = (RefusedCredentials(logger: log.logger), ContinuousClock.now)
        for _ in 0..<1000 { refused.note(.wrongSecret, at: now) }
        refused.note(.unknownToken, at: now)
        #expect(log.lines.count == 21 && log.lines.last?.contains("unknown-token") == true, "one reason does not hide another")
        refused.note(.wrongSecret, at: now + .seconds(11))
        #expect(log.lines.count == 22 && log.lines.last?.contains("980") == true)
    }
}
