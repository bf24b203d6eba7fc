// The edge before two dispatchers: one of them dies, and people in an emergency do not notice.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("The edge before two dispatchers")
    struct EdgeTests {
        private static let carla = "+393330000081"

        private struct Prompted: Decodable {
            struct Prompt: Decodable {
                var emergency: EmergencyID
                var phase: String
            }

            var prompt: Prompt?
        }

        private struct Receipt: Decodable {
            var alreadyDispatched: Bool
        }

        /// Requests through the edge, of which none may be refused because somebody is down.
        private struct Front: Sendable {
            let origin: String
            let authorities: String
            let token: String

            func ask(_ method: String, _ path: String, _ body: String? = nil, form: Bool = false) async throws -> HarnessAnswer {
                let said = try await Family.say(
                    method, origin + path, body.map { Data($0.utf8) }, as: form ? nil : token, form: form, authorities: authorities)
                #expect(said.status < 500, "\(method) \(path)")
                return said
            }

            func prompt() async throws -> Prompted.Prompt? {
                try await ask("GET", "/sos/v1/prompt").decoded(as: Prompted.self).prompt
            }
        }

        /// The edge of `trackme up`, before this suite.
        private static func edge(of suite: RealSuite) async throws -> (process: ServiceProcess, port: Int, authorities: String) {
            let free = try FreePorts.find(2)
            // Every one of them: nothing has parsed their defaults.
            var ports = SuitePorts()
            (ports.ingestPort, ports.sosPort, ports.sosDeputyPort) = (suite.ingest.port, suite.sos.port, suite.deputy?.port ?? 0)
            (ports.consentPort, ports.notifierPort) = (suite.consent?.port ?? 0, suite.notifier?.port ?? 0)
            (ports.gatewayPort, ports.edgePort, ports.edgeHTTPPort) = (suite.gateway?.port ?? 0, free[0], free[1])
            let edge = Edge(layout: suite.layout, ports: ports)
            let part = try #require(try edge.part(Readiness()))
            let process = try ServiceProcess(
                "edge", port: free[1], command: part.command, log: suite.root.appendingPathComponent("edge.log"))
            process.start()
            try await eventually("the edge answers", within: .seconds(40)) { await part.probe?() == .ready }
            return (process, free[0], edge.rootCertificate.path)
        }

        @Test(
            "SOS-14, SOS-22, SOS-41: a button that was pressed while one dispatcher was halted was answered 503: it is pressed once more, at the other",
            .enabled(if: SystemProgram.find("caddy") != nil, "caddy is not installed"), .timeLimit(.minutes(5)))
        func halted() async throws {
            let company = try TextPeer()
            defer { company.end() }
            let notifier = ["TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(company.port)/messages"]
            try await RealSuite.with(SuiteShape(environment: [.notifier: notifier], hasAccounts: true, hasDeputy: true)) { suite in
                let anna = try await Family(in: suite, contacts: [("Carla", Self.carla)])
                let (process, port, authorities) = try await Self.edge(of: suite)
                let front = Front(origin: "https://localhost:\(port)", authorities: authorities, token: anna.token)
                try await anna.beat(31)
                let asked = try await eventually("the prompt") { try await front.prompt() }
                let path = try await eventually("the contact's text", within: .seconds(40)) { company.linkedPath(to: Self.carla) }
                suite.sos.abandon()
                try await suite.halt([{ $0.sos }])
                let began = ContinuousClock.now
                var pressed = try await front.ask("POST", path, "answer=on-my-way", form: true)
                // As a browser does it that is led on.
                if pressed.status == 307 { pressed = try await front.ask("POST", "\(path)?&again=1", "answer=on-my-way", form: true) }
                #expect(pressed.status == 303 && ContinuousClock.now - began < .seconds(4))
                let help = "{\"emergency\":\"\(asked.emergency)\",\"answer\":\"help\"}"
                #expect(try await front.ask("POST", "/sos/v1/prompt/answers", help).status == 200)
                try await suite.sos.kill()
                suite.sos.start()
                try await suite.sos.untilReady()
                try await process.stop()
            }
        }

        @Test(
            "SOS-13, SOS-14, SOS-22, SOS-28: one of the two dispatchers dies in an emergency: prompt, answers and contacts' pages go on through the edge",
            .enabled(if: SystemProgram.find("caddy") != nil, "caddy is not installed"), .timeLimit(.minutes(5)))
        func failover() async throws {
            let company = try TextPeer()
            defer { company.end() }
            let notifier = ["TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(company.port)/messages"]
            try await RealSuite.with(SuiteShape(environment: [.notifier: notifier], hasAccounts: true, hasDeputy: true)) { suite in
                let anna = try await Family(in: suite, contacts: [("Carla", Self.carla)])
                let (process, port, authorities) = try await Self.edge(of: suite)
                let front = Front(origin: "https://localhost:\(port)", authorities: authorities, token: anna.token)
                try await anna.beat(31)
                let asked = try await eventually("the prompt") { try await front.prompt() }

                suite.sos.abandon()
                try await suite.sos.kill()
                // Whoever looks or presses at once is answered: neither request may be lost with the first.
                #expect(try await front.ask("GET", "/sos/v1/prompt").status == 200)
                let help = "{\"emergency\":\"\(asked.emergency)\",\"answer\":\"help\"}"
                try await eventually("the second takes the answer") {
                    try await front.ask("POST", "/sos/v1/prompt/answers", help).status == 200
                }
                let still = try await eventually("the second shows the same") { try await front.prompt() }
                #expect(still.emergency == asked.emergency)
                let path = try await eventually("the contact's text", within: .seconds(40)) { company.linkedPath(to: Self.carla) }
                #expect(try await front.ask("GET", path).status == 200)
                #expect(try await front.ask("POST", path, "answer=on-my-way", form: true).status == 303)

                suite.sos.start()
                try await suite.sos.untilReady()
                try await eventually("the first knows what was said to the second") {
                    let said = try await Family.say("GET", "http://127.0.0.1:\(suite.sos.port)\(path)")
                    return said.status == 200 && (said.text.contains("You said: ") || said.text.contains("Hai detto: "))
                }
                suite.deputy?.abandon()
                try await suite.deputy?.kill()
                #expect(try await front.ask("GET", path).status == 200)
                let body = "{\"emergency\":\"\(asked.emergency)\",\"answer\":\"false-alarm\"}"
                let receipt = try await front.ask("POST", "/sos/v1/prompt/answers", body)
                #expect(receipt.status == 200)
                #expect(try receipt.decoded(as: Receipt.self).alreadyDispatched)
                try await process.stop()
            }
        }
    }
}
