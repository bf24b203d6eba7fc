// The notifier's side of the bus, with a real log and replay: keeps what it is asked to send, and says what a test tells it to.

import Bus
import Contracts
import Foundation
import ServiceKit
import TestKit

@testable import SOSDispatcher

final class TalkingNotifier: Sendable {
    private let speaker: FactSpeaker
    private let taken = Mailbox()

    init(_ runtime: Runtime, _ folder: URL) async throws {
        speaker = try await FactSpeaker(.deliveries, runtime, folder, methods: taken.methods)
    }

    /// Each once, as the real one tells repetitions by their ids.
    var messages: [SendMessage] {
        taken.messages().reduce(into: []) { known, next in
            if !known.contains(where: { $0.message == next.message }) { known.append(next) }
        }
    }

    func messages(_ template: MessageTemplate) -> [SendMessage] {
        messages.filter { $0.template == template }
    }

    func say(_ settled: MessageSettled) async throws {
        try await speaker.say(settled, type: MessageSettled.type, of: nil)
    }

    func close() async {
        await speaker.close()
    }
}

extension SupervisionService {
    func knowsPlace(of person: PersonID) -> Bool {
        subscriber(of: person)?.places.places.isEmpty == false
    }

    /// As the person's own list and card would have it.
    func name(_ contacts: [EmergencyContact], _ card: EmergencyCard? = nil, of person: PersonID) async {
        people[person]?.subscriber.contacts = contacts
        people[person]?.subscriber.card = card
        if let watched = people[person] { changes.put(watched, of: person) }
        await storeChanges()
        try? await journal.commitEverything()
    }
}

extension EmergencyContact {
    static let berta = EmergencyContact(
        id: "ctc_1", name: "Berta", telephone: "+39333000001", email: "berta@example.org", language: .italian)
    static let carlo = EmergencyContact(id: "ctc_2", name: "Carlo", telephone: "+39333000002", email: nil, language: .english)
}
