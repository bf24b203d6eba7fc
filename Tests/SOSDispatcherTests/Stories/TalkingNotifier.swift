// The notifier's side of the bus, with a real log and replay: keeps what it is asked to send, and says what a test tells it to.

import Bus
import Contracts
import Foundation
import ServiceKit
import Storage
import Synchronization
import TestKit

@testable import SOSDispatcher

final class TalkingNotifier: Sendable {
    private let runtime: Runtime
    private let store: Store
    private let relay: EventRelay
    private let epoch: String
    private let taken = Mutex<[SendMessage]>([])

    init(in folder: URL) async throws {
        runtime = try Stage.runtime(.notifier, folder, [:])
        let store = try runtime.openStore(applicationID: 1, migrations: [.streams])
        self.store = store
        epoch = try await store.read { try StreamLog().epoch($0) }
        relay = EventRelay(publisher: try await runtime.publisher(of: .deliveries, epoch: epoch, heads: [:]), heads: [:])
        var methods = Methods()
        StreamSource(families: [.deliveries], store: store, render: { $1.body }).register(in: &methods)
        methods.on(SendMessage.self) { [self] message, _ in
            taken.withLock { $0.append(message) }
            return Nothing()
        }
        try await runtime.answer(methods)
    }

    /// Each once, as the real one tells repetitions by their ids.
    var messages: [SendMessage] {
        taken.withLock { all in
            all.reduce(into: []) { known, next in if !known.contains(where: { $0.message == next.message }) { known.append(next) } }
        }
    }

    func messages(_ template: MessageTemplate) -> [SendMessage] {
        messages.filter { $0.template == template }
    }

    func say(_ settled: MessageSettled) async throws {
        let (stream, at) = (StreamFamily.deliveries.streams[0], Timestamp.now)
        let body = Array(try JSONEncoder().encode(settled))
        let sequence = try await store.write { db in
            try StreamLog().append(db, stream: stream, type: MessageSettled.type, subject: nil, at: at, body: body)
        }
        let header = StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: MessageSettled.type, subject: "", at: at, trace: "")
        relay.committed(.init(header: header, payload: { body }))
    }

    func close() async {
        await runtime.bus.shutdown()
        await store.close()
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
