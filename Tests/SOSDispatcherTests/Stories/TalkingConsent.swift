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

        func answer(_ request: ReadEmergencyCards) -> ReadEmergencyCards.Reply {
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
        methods.on(ReadEmergencyCards.self) { request, _ in cards.answer(request) }
        self.cards = cards
        speaker = try await FactSpeaker(.emergencyCards, runtime, folder, methods: methods)
    }

    /// Answers with it from now on, and says nothing by itself.
    func know(_ card: EmergencyCard, of person: PersonID) {
        cards.known.withLock { $0[person] = card }
    }

    /// As when the profile changes, or the subscription has come to be known.
    func say(_ card: EmergencyCard, of person: PersonID) async throws {
        know(card, of: person)
        try await speaker.say(EmergencyCardState(person: person, card: card), type: EmergencyCardState.type, of: person)
    }

    func close() async {
        await speaker.close()
    }
}
