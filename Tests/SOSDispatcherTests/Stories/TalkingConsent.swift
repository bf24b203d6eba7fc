// Consent's side of the bus as far as emergency cards go, with a real log and replay: says and answers what a test tells it to.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit

final class TalkingConsent: Sendable {
    private final class Cards: Sendable {
        let known = Mutex<[PersonID: EmergencyCard]>([:])
        /// When it was asked since it refuses; nil while it answers.
        let refused = Mutex<[ContinuousClock.Instant]?>(nil)

        func answer(_ request: ReadEmergencyCards) throws -> ReadEmergencyCards.Reply {
            let refuses = refused.withLock { times in
                times?.append(.now)
                return times != nil
            }
            guard !refuses else { throw Failure(.internal, "not now") }
            let known = known.withLock { $0 }
            return ReadEmergencyCards.Reply(
                cards: request.people.compactMap { person in known[person].map { EmergencyCardState(person: person, card: $0) } })
        }
    }

    private let cards: Cards
    private let speaker: FactSpeaker

    init(_ runtime: Runtime, _ folder: URL) async throws {
        let cards = Cards()
        var methods = Methods()
        methods.on(ReadEmergencyCards.self) { request, _ in try cards.answer(request) }
        self.cards = cards
        speaker = try await FactSpeaker(.emergencyCards, runtime, folder, methods: methods)
    }

    /// Answers with it from now on, and says nothing by itself.
    func know(_ card: EmergencyCard, of person: PersonID) {
        cards.known.withLock { $0[person] = card }
    }

    /// Refuses at once to say any card from now on.
    func refuse() {
        cards.refused.withLock { $0 = [] }
    }

    /// When it was asked for cards, and refused.
    var refusals: [ContinuousClock.Instant] { cards.refused.withLock { $0 ?? [] } }

    /// As when the profile changes, or the subscription has come to be known.
    func say(_ card: EmergencyCard, of person: PersonID) async throws {
        know(card, of: person)
        try await speaker.say(EmergencyCardState(person: person, card: card), type: EmergencyCardState.type, of: person)
    }

    func close() async {
        await speaker.close()
    }
}
