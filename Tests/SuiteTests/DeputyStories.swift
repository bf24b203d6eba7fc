// The second dispatcher beside the whole suite: what consent tells both of them.

import Bus
import Contracts
import ServiceKit
import TestKit
import Testing

@testable import Operator
@testable import SOSDispatcher

@Suite("The second dispatcher in the suite", .timeLimit(.minutes(5)))
struct DeputyStories {
    private func hasCard(_ person: PersonID, _ deputy: SOSModule) async -> Bool {
        let card = await deputy.supervision.subscriber(of: person)?.card
        return card?.name.isEmpty == false
    }

    @Test("SOS-16, SOS-20: for 4 of 12 subscribers the second dispatcher had no emergency card, and no restart brought it")
    func everySubscriberHasACard() async throws {
        try await StorySuite.with { suite in
            let deputy = try await suite.startDeputy()
            var people: [PersonID] = []
            for _ in 0..<3 {
                let person = try await SubscriptionStories.Subscriber(in: suite, [:])
                _ = try await person.addDevice()
                try await eventually("joined") {
                    try await person.sos("PUT", "subscription", ["acceptedClauses": SubscriptionClauses.version]).status == 200
                }
                people.append(person.person)
            }
            for person in people {
                try await eventually("the deputy has the card") { await hasCard(person, deputy.parts) }
            }
            // As stores of earlier releases are.
            await deputy.parts.supervision.know(people.map { EmergencyCardState(person: $0, card: nil) }, [])
            await deputy.stop()
            let again = try await suite.startDeputy()
            for person in people {
                try await eventually("it asks consent") { await hasCard(person, again.parts) }
            }
        }
    }
}

extension StorySuite {
    fileprivate struct Deputy: Sendable {
        let parts: SOSModule
        let runtime: Runtime
        let running: Running

        func stop() async {
            await running.stop()
            await runtime.bus.shutdown()
        }
    }

    /// Until the story ends; it calls nobody.
    fileprivate func startDeputy() async throws -> Deputy {
        let environment = layout.environment(of: .sosDeputy, httpPort: 0).merging(["TRACKME_SOS_CANARY": "false"]) { $1 }
        var reader = SettingsReader(environment: environment)
        let settings = SOSAssembly.settings(&reader)
        let runtime = try harness.runtime(.sosDeputy, under: environment)
        let parts = try await SOSModule(settings, on: runtime)
        return Deputy(parts: parts, runtime: runtime, running: harness.start(parts.services))
    }
}
