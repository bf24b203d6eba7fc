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
    }
}
