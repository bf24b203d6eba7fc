// The parts that face people in an emergency: the subscriber's prompt and the contacts' alarms, joined.

import Bus
import Contracts
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

/// What is stored in one transaction with what happens to a person: a message to them, a case of their contacts. Made before supervision.
struct PeopleMessages: Sendable {
    let outbox: MessageOutbox
    let messenger: MessageEffects
    let capabilities: Capabilities
    let contacts: ContactStore
    private let letters: PersonLetters
    private let clock: SteadyClock

    init(on runtime: Runtime, database: Store, keys: PersonKeys, names: Names, clock: SteadyClock) async throws {
        let notifier = try await runtime.client(of: .notifier)
        let hand: MessageOutbox.Hand = { message in
            // The notifier answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
            _ = try await notifier.ask(message, trace: "\(message.message)", deadline: .seconds(2))
        }
        outbox = MessageOutbox(in: database, sealedUnder: try runtime.key("outbox"), logger: runtime.logger, hand: hand)
        messenger = MessageEffects(store: database, outbox: outbox, hand: hand, logger: runtime.logger)
        // Shared by both dispatchers of a pair, so that a link opens at either.
        capabilities = Capabilities(
            key: try SymmetricKey(bytes: runtime.secret("capabilities.key", of: .sosDispatcher)),
            origin: runtime.settings.publicOrigin)
        contacts = ContactStore(store: database, keys: keys, names: names)
        (letters, self.clock) = (PersonLetters(capabilities: capabilities), clock)
    }

    /// As `SupervisionEventBus.Keep`.
    func keep(_ event: SupervisionEvent, of subscriber: Subscriber, in batch: inout StoreBatch) -> Bool {
        let begun = ContactCase(begunBy: event, of: subscriber, capabilities, alertedAt: clock.now)
        if let begun, let write = try? contacts.beginning(begun) { batch.further.append(write) }
        guard let letter = letters.letter(about: event, to: subscriber) else { return false }
        batch.further.append { [outbox] in try outbox.enqueue($0, letter) }
        return true
    }
}

struct PeopleModule: Sendable {
    let prompts: PromptService
    let contacts: ContactAlarms
    let routes: [Route]
    let services: [any Service]

    init(
        _ settings: Settings, _ messages: PeopleMessages, on runtime: Runtime, database: Store, store: SOSStore,
        supervision: SupervisionService, pair: PairState, clock: SteadyClock
    ) async {
        var escalation = settings.escalation
        if pair.role == .second { escalation.lead = ContactEscalation.lead }
        prompts = PromptService(
            supervision: supervision, emergencies: store, store: PromptStore(store: database), messenger: messages.messenger,
            capabilities: messages.capabilities, abortWindow: settings.abortWindow, logger: runtime.logger)
        contacts = ContactAlarms(
            supervision: supervision, emergencies: store, store: messages.contacts, messenger: messages.messenger,
            capabilities: messages.capabilities, rules: escalation, clock: clock, pair: pair, logger: runtime.logger)
        supervision.events.add(prompts.events)
        supervision.events.add(contacts.events)
        await prompts.resume()
        await contacts.resume()
        routes =
            PromptRoutes(service: prompts, country: settings.country).all
            + ContactPageRoutes(alarms: contacts, supervision: supervision, country: settings.country).all
        let follower = messages.contacts.follower(on: runtime)
        let (prompts, contacts) = (prompts, contacts)
        services = [
            Background(messages.outbox.run), Background { await prompts.run() }, Background { await contacts.run() },
            Background(follower.run),
        ]
    }

    /// Nothing more is shown or told about the person.
    func forget(_ person: PersonID) async {
        await prompts.forget(person)
        await contacts.forget(person)
    }
}
