// What goes with a change that a person makes of the watch over them: the proof that a lesser one needs, and what the person is told.

import Contracts
import ServiceKit

struct ProtectionChanges: Sendable {
    /// Whether whoever asks has lately proved who they are, and what refuses them where they have not.
    typealias FreshProof = Result<Void, any Error>

    /// What the person has told when joining or chooses since, checked.
    struct Request: Sendable {
        /// nil leaves those that are.
        var own: [Metric: Bounds]?
        var preferences: SupervisionPreferences?
    }

    let supervision: SupervisionService
    let messages: MessageOutbox

    /// Whoever wishes to be watched over less proves once more who they are, unless sport pauses falls, and the person is told of either;
    /// anything else is free.
    func weakening(_ person: PersonID, by request: Request, _ proof: FreshProof) -> SupervisionService.Further {
        { subscriber in
            let losses = subscriber.weakened(own: request.own, preferences: request.preferences, by: supervision.rules, at: .now)
            if losses.contains(where: \.needsProof) { try proof.get() }
            let hasOtherNotes = request.preferences?.tellsOtherNotes(than: subscriber.preferences ?? SupervisionPreferences()) ?? false
            let isTold = subscriber.supervision.subscribed && hasOtherNotes
            return Self.both(
                telling(person, subscriber.language, losses), isTold ? telling(person, subscriber.language, .medicalNotes) : nil)
        }
    }

    /// Tells the person, in the transaction of the change itself; nil where nothing is lost.
    func telling(_ person: PersonID, _ language: Language, _ losses: [Weakening]) -> SealedBatchStore.FurtherWrite? {
        guard !losses.isEmpty else { return nil }
        let message = SendMessage(
            message: .random(), recipient: Recipient(person: person), channels: [.inbox, .push], template: .watchedLess,
            language: language,
            values: ["time": Timestamp.now.rfc3339, "change": losses.map { $0.words(language) }.joined(separator: "; ")])
        return { [messages] in try messages.enqueue($0, message) }
    }

    /// As the other. Of each kind once an hour: within it the name is the same, and the notifier takes a name once.
    func telling(_ person: PersonID, _ language: Language, _ change: RescueChange) -> SealedBatchStore.FurtherWrite {
        let now = Timestamp.now
        let name = supervision.names.message("rescue-changed|\(person)|\(change.rawValue)|\(now.milliseconds / 3_600_000)")
        let message = SendMessage(
            message: name, recipient: Recipient(person: person), channels: [.inbox, .push], template: .rescueChanged, language: language,
            values: ["time": now.rfc3339, "change": change.words(language)])
        return { [messages] in try messages.enqueue($0, message) }
    }

    private static func both(
        _ first: SealedBatchStore.FurtherWrite?, _ second: SealedBatchStore.FurtherWrite?
    ) -> SealedBatchStore.FurtherWrite? {
        guard let first, let second else { return first ?? second }
        return { db in
            try first(db)
            try second(db)
        }
    }
}
