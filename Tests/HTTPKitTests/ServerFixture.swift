// A server on a free port for the length of one test.

import Contracts
import Logging
import NIOCore
import TestKit

@testable import HTTPKit

let testDevice = DeviceID(bits: 7)
let testPerson = PersonID(bits: 8)
let description = HTTPServer.Description(title: "Test", version: "1.2.3", summary: "For tests", prefix: "test")

/// What the edge of these servers shows.
let edgeSecret = String(repeating: "e", count: 64)

/// As the edge says from where a request comes.
func forwarded(_ address: String) -> [String: String] {
    ["X-Forwarded-For": address, "TrackMe-Edge": edgeSecret]
}

func quietLogger() -> Logger {
    Running.quiet
}

func makeServer(
    _ routes: [Route], port: Int = 0, limits: HTTPLimits = HTTPLimits(), missing: [String] = [],
    recognise: Recognise? = nil, standing: @escaping SessionStanding = { _, _ in true }, logger: Logger = quietLogger()
) -> HTTPServer {
    HTTPServer(
        description, routes: routes, port: port, limits: limits, edge: EdgeSecret(edgeSecret),
        health: Health(missing: { missing }, metrics: { "figures 1\n" }),
        authenticate: { credentials, access in
            guard credentials.bearer == "good" else { throw Problem.unauthorised }
            guard access == .device else { throw Problem.forbidden }
            return .device(testDevice, testPerson)
        }, recognise: recognise, standing: standing, logger: logger)
}

/// Runs the server while `body` talks to its port.
func withServer(_ server: HTTPServer, _ body: @Sendable (Int) async throws -> Void) async throws {
    let running = Task { try await server.run() }
    defer { running.cancel() }
    try await body(await server.boundPort)
}

func withServer(_ routes: Route..., limits: HTTPLimits = HTTPLimits(), _ body: @Sendable (Int) async throws -> Void) async throws {
    try await withServer(makeServer(routes, limits: limits), body)
}

/// A route that answers with the length of its body.
func measure(limit: Int = 1000, inflatedLimit: Int = 2000) -> Route {
    let shape = BodyShape([.init(MediaType.json, .anything)], limit: limit, inflatedLimit: inflatedLimit)
    return Route(.post, "/test/v1/measure", access: .anyone, summary: "Length", body: shape, answers: [.json(200, "Length", .integer())]) {
        try .json(["length": await $0.body().readableBytes])
    }
}

let asJSON = ["Content-Type": "application/json"]
let asGzip = ["Content-Type": "application/json", "Content-Encoding": "gzip"]
