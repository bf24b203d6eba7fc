// The parts that face people in an emergency: the subscriber's prompt and the contacts' alarms, joined.

import Bus
import Contracts
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct PeopleModule: Sendable {
    let prompts: PromptService
    let contacts: ContactAlarms
    let messages: MessageOutbox
    let routes: [Route]
    let services: [any Service]

    init(
        _ settings: Settings, on runtime: Runtime, database: Store, keys: PersonKeys, names: Names, store: SOSStore,
        supervision: SupervisionService, pair: PairState, clock: SteadyClock
    ) async throws {
        var escalation = settings.escalation
        if pair.role == .second { escalation.lead = ContactEscalation.lead }
        let notifier = try await runtime.client(of: .notifier)
        let hand: MessageOutbox.Hand = { message in
            // The notifier answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
            _ = try await notifier.ask(message, trace: "\(message.message)", deadline: .seconds(2))
        }
        messages = MessageOutbox(in: database, sealedUnder: try runtime.key("outbox"), logger: runtime.logger, hand: hand)
        let messenger = MessageEffects(store: database, outbox: messages, hand: hand, logger: runtime.logger)
        // Shared by both dispatchers of a pair, so that a link opens at either.
        let capabilities = Capabilities(
            key: try SymmetricKey(bytes: runtime.secret("capabilities.key", of: .sosDispatcher)),
            origin: runtime.settings.publicOrigin)
        prompts = PromptService(
            supervision: supervision, emergencies: store, store: PromptStore(store: database), messenger: messenger,
            capabilities: capabilities, abortWindow: settings.abortWindow, logger: runtime.logger)
        let contactStore = ContactStore(store: database, keys: keys, names: names)
        contacts = ContactAlarms(
            supervision: supervision, emergencies: store, store: contactStore, messenger: messenger, capabilities: capabilities,
            rules: escalation, clock: clock, pair: pair, logger: runtime.logger)
        let letters = PersonLetters(capabilities: capabilities)
        supervision.events.keep { [messages] event, subscriber, batch in
            let begun = ContactCase(begunBy: event, of: subscriber, capabilities, alertedAt: clock.now)
            if let begun, let write = try? contactStore.beginning(begun) { batch.further.append(write) }
            guard let letter = letters.letter(about: event, to: subscriber) else { return false }
            batch.further.append { try messages.enqueue($0, letter) }
            return true
        }
        supervision.events.add(prompts.events)
        supervision.events.add(contacts.events)
        await prompts.resume()
        await contacts.resume()
        routes =
            PromptRoutes(service: prompts, country: settings.country).all
            + ContactPageRoutes(alarms: contacts, supervision: supervision, country: settings.country).all
        let follower = contactStore.follower(on: runtime)
        let (prompts, contacts, messages) = (prompts, contacts, messages)
        services = [
            Background(messages.run), Background { await prompts.run() }, Background { await contacts.run() }, Background(follower.run),
        ]
    }

    /// Nothing more is shown or told about the person.
    func forget(_ person: PersonID) async {
        await prompts.forget(person)
        await contacts.forget(person)
    }
}
