// Accounts at the door: kinds, the browser's cookie, where a request comes from, in which language.

import Contracts
import Foundation
import TestKit
import Testing

@testable import HTTPKit

@Suite("Accounts at the door")
struct AccountTests {
    private static let session = SessionID(bits: 1)
    private static let origin = "https://localhost:8443"

    private static func route(_ method: Route.Method, _ path: String, _ access: Access) -> Route {
        Route(method, path, access: access, summary: "Who", answers: []) { exchange in
            let account = try exchange.account
            return .text("\(account.holder.kind.rawValue) \(account.session)")
        }
    }

    private func server(_ routes: [Route]) -> HTTPServer {
        HTTPServer(
            description, routes: routes, port: 0, publicOrigin: Self.origin, health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { credentials, access in
                switch (credentials.bearer, access) {
                case ("person", .person), ("person", .account), ("person", .owner): .person(testPerson, Self.session)
                case ("member", .member), ("member", .account): .member(MemberID(bits: 2), OrganisationID(bits: 3), Self.session)
                case ("operator", .operator), ("operator", .account): .operator(OperatorID(bits: 4), Self.session)
                case ("device", .owner), ("device", .device): .device(testDevice, testPerson)
                default: throw Problem.notForThisAccount
                }
            }, logger: quietLogger())
    }

    @Test("ACC-14: each kind of account comes in by its own doors and is told that the others are not for it")
    func kinds() async throws {
        let routes = [Access.person, .member, .operator, .account].map { Self.route(.get, "/\($0.rawValue)", $0) }
        try await withServer(server(routes)) { port async throws in
            for kind in AccountKind.allCases {
                for path in ["person", "member", "operator", "account"] {
                    let answer = try await ask(port, "GET", "/\(path)", headers: ["Authorization": "Bearer \(kind.rawValue)"])
                    if path == kind.rawValue || path == "account" {
                        #expect(answer.text == "\(kind.rawValue) \(Self.session)")
                    } else {
                        #expect(answer.status == 403 && answer.problem == "not-for-this-account")
                    }
                }
            }
        }
    }

    @Test("an owner is the person or the person's device; a device is no account")
    func owner() async throws {
        let mine = Route(.get, "/mine", access: .owner, summary: "Mine", answers: []) { .text(try $0.person.description) }
        try await withServer(server([mine, Self.route(.get, "/account", .owner)])) { port async throws in
            for token in ["person", "device"] {
                let answer = try await ask(port, "GET", "/mine", headers: ["Authorization": "Bearer \(token)"])
                #expect(answer.text == testPerson.description)
            }
            let refused = try await ask(port, "GET", "/account", headers: ["Authorization": "Bearer device"])
            #expect(refused.status == 403 && refused.problem == "not-for-this-account")
        }
    }

    @Test("a browser's cookie lets accounts in, and no device")
    func cookie() async throws {
        try await withServer(server([Self.route(.get, "/account", .account), Self.route(.get, "/device", .device)])) { port async throws in
            let cookie = "theme=dark; __Host-trackme=person; x=1"
            #expect(try await ask(port, "GET", "/account", headers: ["Cookie": cookie]).status == 200)
            #expect(try await ask(port, "GET", "/device", headers: ["Cookie": "__Host-trackme=device"]).status == 401)
            for bad in ["__Host-trackme=", "__Host-trackme=a b", "trackme=person", "__Host-trackme=person; __Host-trackme=member", ""] {
                #expect(try await ask(port, "GET", "/account", headers: ["Cookie": bad]).status == 401)
            }
        }
    }

    @Test(
        "with a cookie, what changes something must come from the suite's own pages",
        arguments: [
            (nil, 403), ("https://evil.example", 403), ("null", 403), ("https://localhost:8443/", 403), ("https://localhost:8443", 200),
        ])
    func origins(origin: String?, status: Int) async throws {
        try await withServer(server([Self.route(.post, "/account", .account)])) { port async throws in
            var headers = ["Cookie": "__Host-trackme=person"]
            headers["Origin"] = origin
            let answer = try await ask(port, "POST", "/account", headers: headers)
            #expect(answer.status == status)
            #expect(status == 200 || answer.problem == "wrong-origin")
            // A program's own header needs none.
            headers = ["Authorization": "Bearer person"]
            headers["Origin"] = origin
            #expect(try await ask(port, "POST", "/account", headers: headers).status == 200)
        }
    }

    @Test("a form that anyone may send is refused where a browser says that another site made it")
    func foreignForms() async throws {
        let logIn = Route(.post, "/log-in", access: .anyone, summary: "Log in", answers: []) { exchange in
            try exchange.refuseForeignOrigin()
            return HTTPAnswer.seeOther("/home").with(cookie: .session("token.of.it", lasting: .seconds(600)))
        }
        try await withServer(server([logIn])) { port async throws in
            #expect(try await ask(port, "POST", "/log-in", headers: ["Origin": "https://evil.example"]).problem == "wrong-origin")
            let answer = try await ask(port, "POST", "/log-in", headers: ["Origin": Self.origin])
            #expect(answer.status == 303 && answer.headers["location"] == "/home")
            #expect(
                answer.headers["set-cookie"] == "__Host-trackme=token.of.it; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax")
            #expect(try await ask(port, "POST", "/log-in").status == 303)
        }
        #expect(Cookie.removed.field == "__Host-trackme=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")
    }

    @Test(
        "UI-04: the language is the one asked for, else the browser's, else English",
        arguments: [
            ("/l", nil, "en"), ("/l", "it", "it"), ("/l", "de, it-CH;q=0.8, en;q=0.9", "en"), ("/l", "it;q=0, en;q=0.1", "en"),
            ("/l?lang=it", "en", "it"), ("/l?lang=de", "it-IT,en;q=0.5", "it"), ("/l", "*", "en"), ("/l", ";;,q=", "en"),
        ])
    func languages(path: String, header: String?, expected: String) async throws {
        let route = Route(.get, "/l", access: .anyone, summary: "Language", answers: []) { .text($0.language.rawValue) }
        try await withServer(server([route])) { port async throws in
            #expect(try await ask(port, "GET", path, headers: header.map { ["Accept-Language": $0] } ?? [:]).text == expected)
        }
    }

    @Test("the OpenAPI document names the access token and the cookie, each where it counts")
    func document() throws {
        let routes = [Self.route(.get, "/a", .person), Self.route(.get, "/b", .device), Self.route(.post, "/c", .passwordChange)]
        let document = OpenAPIDocument.json(description, routes: routes)
        let schemes = try #require(document["components"]?["securitySchemes"])
        #expect(schemes["person"]?["bearerFormat"] == "JWT")
        #expect(schemes["device"]?["bearerFormat"] == nil)
        #expect(schemes["sessionCookie"]?["in"] == "cookie")
        #expect(schemes["sessionCookie"]?["name"] == "__Host-trackme")
        #expect(document["paths"]?["/a"]?["get"]?["security"]?.text == #"[{"person":[]},{"sessionCookie":[]}]"#)
        #expect(document["paths"]?["/b"]?["get"]?["security"]?.text == #"[{"device":[]}]"#)
        #expect(document["paths"]?["/c"]?["post"]?["responses"]?["403"]?["description"]?.text.contains("wrong-origin") == true)
    }
}
