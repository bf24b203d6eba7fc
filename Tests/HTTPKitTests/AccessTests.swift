// Who comes in.

import Contracts
import Foundation
import NIOCore
import TestKit
import Testing

@testable import HTTPKit

@Suite("Access")
struct AccessTests {
    private static let mine = Route(.get, "/mine", access: .device, summary: "Mine", answers: []) { exchange in
        guard case .device(let device, let person, _) = exchange.caller else { return .empty(status: 500) }
        return try .json([device.description, person.description])
    }
    private static let theirs = Route(.get, "/theirs", access: .integrator, summary: "Theirs", answers: []) { _ in .empty() }

    @Test("A valid token comes in and the handler knows who it is", arguments: ["Bearer good", "bearer good", "BEARER good"])
    func valid(header: String) async throws {
        try await withServer(Self.mine) { port in
            let answer = try await ask(port, "GET", "/mine", headers: ["Authorization": header])
            #expect(answer.text == #"["\#(testDevice)","\#(testPerson)"]"#)
        }
    }

    @Test(
        "No token, a wrong one, another scheme or a malformed header is 401 and says how to come in",
        arguments: [
            nil, "Bearer wrong", "Basic good", "Bearer", "Bearer good good", "Bearer gööd", "good",
            "Bearer " + String(repeating: "a", count: 2049),
        ])
    func invalid(header: String?) async throws {
        try await withServer(Self.mine) { port in
            let answer = try await ask(port, "GET", "/mine", headers: header.map { ["Authorization": $0] } ?? [:])
            #expect(answer.status == 401)
            #expect(answer.headers["www-authenticate"] == "Bearer")
            #expect(answer.problem == "unauthorised")
        }
    }

    @Test("A token for something else is 403")
    func forbidden() async throws {
        try await withServer(Self.theirs) { port in
            let answer = try await ask(port, "GET", "/theirs", headers: ["Authorization": "Bearer good"])
            #expect(answer.status == 403)
        }
    }

    @Test("No token is in any log line, whatever became of it")
    func tokensAreNotLogged() async throws {
        let log = RecordingLog()
        let failing = Route(.get, "/fails", access: .device, summary: "Fails", answers: []) { _ in throw CocoaError(.fileNoSuchFile) }
        try await withServer(makeServer([Self.mine, Self.theirs, failing], logger: log.logger)) { port in
            for (path, token) in [
                ("/mine", "secret-one"), ("/mine", "good"), ("/theirs", "good"), ("/fails", "good"), ("/?token=secret-two", "good"),
            ] {
                _ = try await ask(port, "GET", path, headers: ["Authorization": "Bearer \(token)"])
            }
        }
        #expect(log.text.contains("refused"))
        #expect(!log.text.contains("secret"))
        #expect(!log.text.contains("good"))
        #expect("\(Credentials(bearer: "secret-one"))" == "Credentials(…)")
    }
}
