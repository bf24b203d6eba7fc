// Every route of the gateway by everybody who might come, made from the routes themselves.

import Contracts
import Foundation
import HTTPKit
import TestKit
import Testing

@testable import ThirdPartyGateway

/// What a route asks for, as its own documentation says.
struct RouteNeed {
    let route: Route
    /// Nil where everybody of the organisation may come.
    let right: Right?

    /// Nil where the documentation of an organisation's route does not say, which is a fault of the route.
    init?(_ route: Route) {
        self.route = route
        guard route.access == .organisation else {
            right = nil
            return
        }
        let named = route.description.matches(of: /Needs\s+`([a-z:]+)`/).compactMap { Right(rawValue: String($0.1)) }
        if let first = named.first, named.count == 1 {
            right = first
        } else if named.isEmpty, route.description.contains("Everybody of the organisation") {
            right = nil
        } else {
            return nil
        }
    }

    /// An answer that goes on for as long as somebody listens.
    var isEndless: Bool {
        route.answers.contains { $0.contents.contains { $0.mediaType == "text/event-stream" } } && !route.path.contains("{")
    }

    /// Whether the path names an object.
    var namesSomething: Bool { route.path.contains("{") }
}

@Suite("Authorisation matrix")
struct AuthorisationMatrixTests {
    /// Somebody with a token, and what is expected of them at a route.
    private struct Visitor {
        let name: String
        let token: String?
        let rights: Set<Right>
        let isMember: Bool
        let isClient: Bool
    }

    private func body(of route: Route) -> (text: String?, form: String?) {
        guard let content = route.body?.contents.first else { return (nil, nil) }
        if content.mediaType.contains("form") { return (nil, "") }
        return (content.examples.first?.text ?? "{}", nil)
    }

    private func call(_ harness: MatrixHarness, _ route: Route, _ path: String, _ token: String?) async throws -> HarnessAnswer {
        let (text, form) = body(of: route)
        var headers: [String: String] = [:]
        if let type = route.body?.contents.first?.mediaType { headers["Content-Type"] = type }
        return try await harness.ask(route.method.rawValue, path, token: token, text: text, form: form, headers: headers)
    }

    private func routes(_ harness: MatrixHarness) -> [Route] {
        harness.parts.server.routes.filter { $0.path.hasPrefix("/thirdparty/v1/") }
    }

    @Test("every route of an organisation says in its documentation which right it needs, once")
    func documented() async throws {
        try await MatrixHarness.run { harness in
            for route in routes(harness) {
                #expect(RouteNeed(route) != nil, "\(route.method.rawValue) \(route.path)")
                #expect(route.scopes == [RouteNeed(route)?.right?.rawValue].compactMap { $0 }, "\(route.method.rawValue) \(route.path)")
                #expect(route.access != .person && route.access != .owner && route.access != .device, "\(route.path)")
            }
        }
    }

    @Test("ORG-11, ORG-19, ACC-13, ACC-14: every route by everybody: who has the right comes in, nobody else does")
    func everybody() async throws {
        try await MatrixHarness.run { harness in
            let own = try await harness.organisation(.active, named: "own", vatNumber: "00743110157")
            let other = try await harness.organisation(.active, named: "other", vatNumber: "12345678903")
            let foreign = try await ForeignObjects(harness.parts, of: other)
            var visitors = [
                Visitor(name: "nobody", token: nil, rights: [], isMember: false, isClient: false),
                Visitor(name: "rubbish", token: "rubbish", rights: [], isMember: false, isClient: false),
                Visitor(name: "person", token: try harness.logIns.token(.person), rights: [], isMember: false, isClient: false),
                Visitor(name: "operator", token: try harness.logIns.token(.operator), rights: [], isMember: false, isClient: false),
                Visitor(
                    name: "stranger", token: try harness.logIns.token(.random(), of: own.id), rights: [], isMember: false, isClient: false),
            ]
            for (role, member) in own.members {
                visitors.append(
                    Visitor(name: role.rawValue, token: member.token, rights: role.rights, isMember: true, isClient: false))
            }
            for (rights, token) in own.client.tokens {
                visitors.append(
                    Visitor(name: Right.written(rights), token: token, rights: rights, isMember: false, isClient: true))
            }
            for route in routes(harness) {
                guard let need = RouteNeed(route) else { continue }
                for visitor in visitors {
                    try await check(harness, need, foreign.path(route), visitor)
                }
            }
        }
    }

    private func check(_ harness: MatrixHarness, _ need: RouteNeed, _ path: String, _ visitor: Visitor) async throws {
        let route = need.route
        let isAdmitted = visitor.isMember || visitor.isClient
        let hasRight = need.right.map(visitor.rights.contains) ?? true
        guard !need.isEndless || !(isAdmitted && hasRight) else { return }
        let answer = try await call(harness, route, path, visitor.token)
        let place: Comment = "\(route.method.rawValue) \(route.path) by \(visitor.name): \(answer.status) \(answer.problem ?? "")"
        switch route.access {
        case .anyone:
            // Some of them look at a signature or a secret of their own, but never at who is logged in.
            #expect(answer.problem != "not-for-this-account" && answer.problem != "missing-right", place)
        case .organisation where visitor.token == nil || visitor.name == "rubbish", .member where visitor.token == nil || visitor.isClient:
            #expect(answer.status == 401, place)
        case .member where visitor.name == "rubbish":
            #expect(answer.status == 401, place)
        case .organisation where !isAdmitted, .member where !visitor.isMember:
            #expect(answer.problem == "not-for-this-account", place)
        case .organisation where !hasRight:
            #expect(answer.status == 403 && answer.problem == "missing-right", place)
        case .organisation:
            #expect(answer.status != 401 && answer.problem != "missing-right" && answer.problem != "not-for-this-account", place)
            #expect(answer.status < 500 || answer.status == 503, place)
            // Somebody else's object does not exist; a form that is wrong may be said before.
            if need.namesSomething {
                #expect([404, 400, 422].contains(answer.status) || answer.problem == "payment-method-unavailable", place)
            }
        case .member:
            #expect(answer.status != 401 && answer.problem != "not-for-this-account", place)
        case .person, .operator, .device, .integrator, .account, .passwordChange, .personAnew, .accountAnew, .enrolment, .owner:
            break
        }
        if route.access == .organisation, isAdmitted { #expect(answer.headers["ratelimit-limit"] != nil, place) }
    }

    @Test("ORG-08, ORG-16: an organisation that is not active is refused at every route that asks for a right, its programs too")
    func inactive() async throws {
        try await MatrixHarness.run { harness in
            let states: [(OrganisationState, String, String)] = [
                (.unconfirmed, "00743110157", "organisation-not-confirmed"),
                (.awaitingApproval, "12345678903", "organisation-not-approved"),
                (.suspended, "00000000018", "organisation-suspended"),
            ]
            for (state, number, problem) in states {
                let organisation = try await harness.organisation(state, named: state.rawValue, vatNumber: number)
                let foreign = try await ForeignObjects(harness.parts, of: organisation)
                let tokens = [organisation.members[.owner]?.token, organisation.client.tokens[Set(Right.allCases)]]
                for route in routes(harness) where route.access == .organisation {
                    guard let need = RouteNeed(route), need.right != nil else { continue }
                    for token in tokens {
                        let answer = try await call(harness, route, foreign.path(route), token)
                        #expect(answer.status == 403 && answer.problem == problem, "\(route.method.rawValue) \(route.path): \(answer.text)")
                    }
                }
            }
        }
    }
}
