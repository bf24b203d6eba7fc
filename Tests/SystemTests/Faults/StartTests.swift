// How soon a service is back after `kill -9`: what is computed at a start is time in which nobody is served.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Starts")
    struct StartTests {
        private static let kills = 7

        /// The middle one, so that a machine that is busy for a moment does not decide.
        private static func median(_ times: [Duration]) -> Duration { times.sorted()[times.count / 2] }

        @Test(
            "consent killed was back after 1.0 to 1.4 s, having hashed a password of nobody first: it is back as the notifier is, and within a second on a machine that starts the notifier in 0.6 s",
            .timeLimit(.minutes(5)))
        func consent() async throws {
            try await RealSuite.with(SuiteShape(hasAccounts: true)) { suite in
                let consent = try #require(suite.consent)
                let notifier = try #require(suite.notifier)
                var (ofConsent, ofNotifier): ([Duration], [Duration]) = ([], [])
                for _ in 0..<Self.kills {
                    ofConsent.append(try await consent.killAndRecover())
                    ofNotifier.append(try await notifier.killAndRecover())
                }
                let (own, other) = (Self.median(ofConsent), Self.median(ofNotifier))
                print("figure: kill -9 of consent: back after \(own), notifier after \(other), medians of \(Self.kills)")
                // The notifier publishes one family, consent five: each is tried with a stranger's key.
                #expect(own < other * 2 + .milliseconds(300))
                if other <= .milliseconds(600) { #expect(own < .seconds(1)) }
            }
        }

        @Test(
            "SOS-28: a dispatcher of which one module has failed must not live on half dead: it ends with 70 and its cause in the log",
            .timeLimit(.minutes(3)))
        func endsWhole() async throws {
            try await RealSuite.with(SuiteShape(environment: [.sosDispatcher: ["TRACKME_SOS_CANARY": "true"]])) { suite in
                // Then it waits for the port at once, and did so for ever in half of the starts.
                try await eventually("its test emergency is known") { try await suite.ask(ReadAvailability(hours: 1)).since != nil }
                try await suite.sos.stop()
                // An address of a network that is nobody's: the module that listens fails once the others run.
                var environment = suite.layout.environment(of: .sosDispatcher, httpPort: suite.sos.port)
                environment["TRACKME_HTTP_HOST"] = "192.0.2.1"
                let log = suite.root.appendingPathComponent("half-dead.log")
                let command = ChildCommand(
                    executable: ServiceExecutable(peer: .sosDispatcher, port: suite.sos.port).file.path, environment: environment)
                for _ in 0..<5 {
                    let process = try ServiceProcess("sos-dispatcher", port: suite.sos.port, command: command, log: log)
                    process.start(again: false)
                    do {
                        try await eventually("it ends") { !process.ends.isEmpty }
                    } catch {
                        try await process.kill()
                        throw error
                    }
                    #expect(process.ends == [.exited(70)])
                }
                let lines = String(decoding: try Data(contentsOf: log), as: UTF8.self).split(separator: "\n")
                #expect(lines.contains { $0.contains("started") }, "it ran before")
                let causes = lines.filter { $0.contains(#""critical""#) && $0.contains("a module of the service failed") }
                #expect(causes.count >= 5)
            }
        }
    }
}
