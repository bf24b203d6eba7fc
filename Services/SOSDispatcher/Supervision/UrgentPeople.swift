// Whose heart fails while the dispatcher is behind: their own backlog is judged before everybody's (`docs/decisions/0050-*`).

import Bus
import Contracts
import Logging
import ServiceKit
import Synchronization

/// After an outage of both dispatchers what comes live waits behind all that was said meanwhile, of everybody. A person whose live facts
/// are critical is judged ahead: first what was said of them alone, in its order, so that their emergency has the name of the same first
/// entry as in its turn. When that comes, their state has it (`Watched.receive`).
final class UrgentPeople: Sendable {
    /// Who wait to be judged ahead; further ones are judged in their turn.
    static let most = 256
    /// What has no place in the stream, of one person.
    static let mostProvisional = 16
    private static let pollInterval = Duration.seconds(60)

    private struct Waiting: Sendable {
        let person: PersonID
        var provisional: [StreamEvent] = []

        mutating func note(_ event: StreamEvent) {
            guard event.header.sequence == 0, provisional.count < UrgentPeople.mostProvisional else { return }
            provisional.append(event)
        }
    }

    private let supervision: SupervisionService
    private let ingest: BusClient
    private let logger: Logger
    private let wakeUp = WakeUpSignal()
    private let waiting = Mutex<[Waiting]>([])

    init(supervision: SupervisionService, ingest: BusClient, logger: Logger) {
        (self.supervision, self.ingest, self.logger) = (supervision, ingest, logger)
    }

    /// What came live of a stream that is behind.
    func hear(ahead event: StreamEvent) async {
        guard let person = await supervision.urgent(event) else { return }
        waiting.withLock { waiting in
            if let index = waiting.firstIndex(where: { $0.person == person }) { return waiting[index].note(event) }
            guard waiting.count < Self.most else { return }
            var one = Waiting(person: person)
            one.note(event)
            waiting.append(one)
        }
        wakeUp.notify()
    }

    /// Runs until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.pollInterval, signal: wakeUp).run { [self] in
            guard let next = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return .whenWoken }
            do {
                try await judge(next)
            } catch let failure as Failure {
                // The next live fact asks again; else the stream's turn comes.
                logger.warning(
                    "ingest did not say what it had said before of a person in danger: judged in turn",
                    metadata: ["failure": "\(failure.code.rawValue)"])
            }
            return .atOnce
        }
    }

    private func judge(_ one: Waiting) async throws {
        guard var place = await supervision.place(of: one.person) else { return }
        var head = Int64.max
        while place.next <= head {
            let asked = ReplayStream(stream: place.stream, epoch: place.epoch, from: place.next, through: .max, subject: one.person)
            let reply = try await ingest.replay(asked)
            guard reply.epoch == place.epoch, reply.oldest <= place.next else { return }
            // What is said while this one is judged is for the next live fact to ask for.
            head = min(head, reply.head)
            let facts = reply.facts.map { StreamEvent(header: $0.header, payload: Array($0.payload.utf8)) }
            await supervision.judge(facts.filter { $0.header.subject == "\(one.person)" })
            place.next = facts.last.map { $0.header.sequence + 1 } ?? place.next + ReplayStream.mostSearched
        }
        for event in one.provisional { await supervision.hear(provisional: event) }
    }
}
