// Log-ins that somebody else makes: operators by the operator's tool, members of organisations by the gateway.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Invitations")
struct InvitationTests {
    private static let olga = "olga@example.org"
    private static let max = "max@example.com"

    private func makeOperator(_ harness: LogInHarness, _ email: String = olga) async throws -> MakeOperator.Reply {
        try await harness.trackme.ask(MakeOperator(email: email, language: .italian), deadline: .seconds(5))
    }

    @Test("ACC-08, ACC-14: an operator gets a temporary password, also by mail, which must be changed at the first log-in")
    func operators() async throws {
        try await LogInHarness.run { harness in
            let made = try await makeOperator(harness)
            let mail = try await harness.mail.arrived(to: Self.olga, .temporaryPassword)
            #expect(mail.values["password"] == made.temporaryPassword && Set(mail.values.keys) == MessageTemplate.temporaryPassword.values)
            let session = try await harness.logIn(Self.olga, made.temporaryPassword)
            #expect(session.kind == .operator && session.passwordChangeRequired)
        }
    }

    @Test("ACC-08: asked again for the same address, the operator keeps the id, gets a new password, and the sessions end")
    func operatorAgain() async throws {
        try await LogInHarness.run { harness in
            let first = try await makeOperator(harness)
            let session = try await harness.logIn(Self.olga, first.temporaryPassword)
            let second = try await makeOperator(harness, "OLGA@example.org")
            #expect(second.operator == first.operator && second.temporaryPassword != first.temporaryPassword)
            #expect(try await harness.refresh(session.refreshToken).status == 401)
            #expect(try await harness.tryLogIn(Self.olga, first.temporaryPassword).status == 401)
            #expect(try await harness.tryLogIn(Self.olga, second.temporaryPassword).status == 200)
        }
    }

    @Test("ACC-04, ACC-14: an address serves one account only, of whatever kind; what is no address is refused")
    func conflicts() async throws {
        try await LogInHarness.runWithPerson { harness in
            _ = try await makeOperator(harness)
            let organisation = OrganisationID.random()
            for email in ["anna@example.org", Self.olga] {
                #expect(await failure { _ = try await harness.addMember(email, of: organisation) }?.code == .conflict)
            }
            #expect(await failure { _ = try await makeOperator(harness, "anna@example.org") }?.code == .conflict)
            #expect(await failure { _ = try await makeOperator(harness, "not an address") }?.code == .invalid)
            #expect(await failure { _ = try await harness.addMember("nowhere", of: organisation) }?.code == .invalid)
            #expect(try await harness.tryLogIn().status == 200, "whose address it is notices nothing")
        }
    }

    @Test("ACC-14: only trackme makes operators and only the gateway invites")
    func rights() async throws {
        try await LogInHarness.run { harness in
            let question = MakeOperator(email: Self.olga, language: .english)
            #expect(await failure { _ = try await harness.gateway.ask(question) }?.code == .forbidden)
            #expect(
                await failure {
                    _ = try await harness.trackme.ask(
                        InviteMember(organisation: .random(), organisationName: "X", email: Self.max, language: .english))
                }?.code == .forbidden)
        }
    }

    @Test("ACC-14: each kind of account is offered its own functions; those of another kind are not available for this account")
    func ownFunctionsOnly() async throws {
        try await LogInHarness.runWithPerson { harness in
            let made = try await makeOperator(harness)
            _ = try await harness.addMember(Self.max)
            let invitation = try await harness.mail.arrived(to: Self.max, .memberInvited).linkToken
            let chosen: [String: Any] = [
                "token": invitation, "password": LogInHarness.password, "passwordAgain": LogInHarness.password, "invitation": true,
            ]
            try await harness.request("POST", "/consent/v1/recoveries/password", json: chosen).expect(status: 204)
            let operating = try await harness.logIn(Self.olga, made.temporaryPassword)
            let change = ["old": made.temporaryPassword, "new": LogInHarness.password, "newAgain": LogInHarness.password]
            let changed: PasswordChangeAnswer = try await harness.request(
                "PUT", "/consent/v1/password", token: operating.accessToken, json: change
            ).expect(status: 200).decoded()

            let tokens: [(AccountKind, String?)] = [
                (.person, try await harness.logIn().accessToken), (.member, try await harness.logIn(Self.max).accessToken),
                (.operator, changed.accessToken),
            ]
            let doors: [(Access, Set<AccountKind>)] = [
                (.person, [.person]), (.owner, [.person]), (.member, [.member]), (.operator, [.operator]),
                (.account, [.person, .member, .operator]),
            ]
            for (kind, token) in tokens {
                let credentials = Credentials(bearer: try #require(token))
                for (access, admitted) in doors {
                    let refusal: Problem?
                    do {
                        _ = try harness.parts.checker.caller(for: credentials, access: access, now: harness.clock.now)
                        refusal = nil
                    } catch {
                        refusal = error as? Problem
                    }
                    #expect(refusal == (admitted.contains(kind) ? nil : .notForThisAccount), "\(kind) at \(access)")
                }
            }
            #expect(Problem.notForThisAccount.title == "Not available for this account")
        }
    }

    @Test("ORG-10, ORG-15: whoever never said a name is greeted by the address, so that the notifier takes the message")
    func greetedWithoutName() async throws {
        try await LogInHarness.run { harness in
            _ = try await harness.addMember(Self.max, of: .random())
            try await harness.request("POST", "/consent/v1/recoveries", json: ["email": Self.max]).expect(status: 202)
            let mail = try await harness.mail.arrived(to: Self.max, .recoverPassword)
            #expect(mail.values["name"] == Self.max)
            #expect(mail.values.values.allSatisfy { !$0.isEmpty })
        }
    }

    @Test("ACC-08, ACC-14: a member follows the invitation to a page, chooses a password, and logs in for the organisation")
    func members() async throws {
        try await LogInHarness.run { harness in
            let organisation = OrganisationID.random()
            let member = try await harness.addMember(Self.max, of: organisation)
            let mail = try await harness.mail.arrived(to: Self.max, .memberInvited)
            #expect(Set(mail.values.keys) == MessageTemplate.memberInvited.values && mail.values["organisation"] == "Ricerca S.p.A.")
            #expect(try await harness.tryLogIn(Self.max, "").status == 422)
            #expect(try await harness.tryLogIn(Self.max, "anything at all").problem == "credentials-not-valid", "there is no password yet")
            let path = "/consent/v1/invitation/" + (try mail.linkToken)
            #expect(try await harness.request("GET", path).text.contains("Welcome"))
            let form = "password=una+frase+che+ricordo&passwordAgain=una+frase+che+ricordo"
            #expect(try await harness.request("POST", path, form: form).status == 200)
            #expect(try await harness.request("POST", path, form: form).status == 404)
            let session = try await harness.logIn(Self.max)
            #expect(session.kind == .member && !session.passwordChangeRequired)
            let token = try #require(session.accessToken)
            let claims = try #require(harness.parts.checker.check(token))
            #expect(claims.sub == member.description && claims.org == organisation)
        }
    }

    @Test("ACC-08: inviting again before the invitation was followed sends a new link and ends the old one; afterwards it is a conflict")
    func inviteAgain() async throws {
        try await LogInHarness.run { harness in
            let organisation = OrganisationID.random()
            let member = try await harness.addMember(Self.max, of: organisation)
            let first = try await harness.mail.arrived(to: Self.max, .memberInvited).linkToken
            #expect(try await harness.addMember(Self.max, of: organisation) == member)
            let second = try await harness.mail.arrived(to: Self.max, .memberInvited, count: 2).linkToken
            #expect(try await harness.request("GET", "/consent/v1/invitation/\(first)").status == 404)
            #expect(await failure { _ = try await harness.addMember(Self.max, of: .random()) }?.code == .conflict, "another organisation")
            let body: [String: Any] = [
                "token": second, "password": LogInHarness.password, "passwordAgain": LogInHarness.password, "invitation": true,
            ]
            try await harness.request("POST", "/consent/v1/recoveries/password", json: body).expect(status: 204)
            #expect(await failure { _ = try await harness.addMember(Self.max, of: organisation) }?.code == .conflict)
        }
    }

    @Test("removing a member ends the sessions at once and frees the address; removing again is the same as once")
    func remove() async throws {
        try await LogInHarness.run { harness in
            let member = try await harness.addMember(Self.max)
            let token = try await harness.mail.arrived(to: Self.max, .memberInvited).linkToken
            let body: [String: Any] = [
                "token": token, "password": LogInHarness.password, "passwordAgain": LogInHarness.password, "invitation": true,
            ]
            try await harness.request("POST", "/consent/v1/recoveries/password", json: body).expect(status: 204)
            let session = try await harness.logIn(Self.max)
            for _ in 0..<2 { _ = try await harness.gateway.ask(RemoveMember(member: member)) }
            #expect(try await harness.isOpen(session.accessToken) == false)
            #expect(try await harness.tryLogIn(Self.max).problem == "credentials-not-valid")
            _ = try await harness.addMember(Self.max)
        }
    }
}
