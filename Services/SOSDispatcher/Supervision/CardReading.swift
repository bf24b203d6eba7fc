// Subscribers without an emergency card: consent is asked for it.

import Bus
import Contracts
import Logging
import ServiceKit
import Synchronization

/// Consent says a card once it has heard of the subscription, and the second dispatcher hears of that from the first: each comes on a
/// stream of its own, the card often first. Cards of people who are not supervised here are not kept. So whoever becomes known without
/// a card is asked for until consent has answered once; what it says after that reaches somebody who is known. No call waits for it.
struct CardReading: SupervisionEventConsumer {
    private static let pollInterval = Duration.seconds(60)
    /// While consent does not answer. What happens to a person who has no card shortens it.
    private static let backoff = Backoff(.milliseconds(250), upTo: pollInterval)

    let supervision: SupervisionService
    let consent: BusClient
    let logger: Logger

    /// Once more before something is told of them, should all else have failed: what follows the first message has the card.
    func heard(_ events: [SupervisionEvent]) async {
        let kinds: Set<SupervisionEvent.Kind> = [.opened, .askedAgain, .doubted, .fell, .signalLost, .goesOn]
        let people = Set(events.filter { kinds.contains($0.kind) }.map(\.person))
        supervision.missingCards.note(await supervision.withoutCard(among: people))
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let loop = WorkLoop(every: Self.pollInterval, signal: supervision.missingCards.wakeUp, backoff: Self.backoff) { [logger] error in
            logger.warning(
                "consent was asked for emergency cards in vain: calls for these people say no name until it answers; retrying",
                metadata: ["reason": "\(error.logReason)"])
        }
        try await loop.poll { try await readMissing() }
    }

    private func readMissing() async throws {
        var waiting = await supervision.withoutCard(among: supervision.missingCards.take())
        do {
            while !waiting.isEmpty {
                let asked = Array(waiting.prefix(ReadEmergencyCards.mostPeople))
                let reply = try await consent.ask(ReadEmergencyCards(people: asked), deadline: .seconds(1))
                await supervision.fill(reply.cards)
                waiting.subtract(asked)
            }
        } catch {
            supervision.missingCards.putBack(waiting)
            throw error
        }
    }
}

/// Subscribers without a card of whom consent is still to be asked.
final class MissingCards: Sendable {
    let wakeUp = WakeUpSignal()
    private let people = Mutex<Set<PersonID>>([])

    func note(_ more: Set<PersonID>) {
        guard !more.isEmpty else { return }
        people.withLock { $0.formUnion(more) }
        wakeUp.notify()
    }

    /// Without a wake-up: a round that failed would wake itself out of its pause.
    func putBack(_ waiting: Set<PersonID>) {
        people.withLock { $0.formUnion(waiting) }
    }

    func take() -> Set<PersonID> {
        people.withLock { people in
            defer { people = [] }
            return people
        }
    }
}
