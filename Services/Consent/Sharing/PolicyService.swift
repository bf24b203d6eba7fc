// The data policy of one person (ACC-21): who may see what, and what is shared anonymously.

import Contracts
import Storage

struct PolicyService: Sendable {
    let store: Store
    let sharing: SharingService
    private let choices = AnonymousSharingStore()

    init(store: Store, sharing: SharingService) {
        (self.store, self.sharing) = (store, sharing)
    }

    /// Every type of the registry, chosen or not.
    func anonymous(of person: PersonID) async throws -> [Metric: AnonymousChoice] {
        let now = sharing.clock()
        let chosen = try await store.read { [self] db -> [AnonymousChoice] in
            guard let account = try sharing.repository.people.withID(db, person, now)?.account else { return [] }
            return try choices.choices(db, of: account)
        }
        return Dictionary(uniqueKeysWithValues: chosen.map { ($0.metric, $0) })
    }

    enum Outcome: Sendable {
        case chosen(AnonymousChoice)
        /// A child cannot share more; the guardian can (ACC-36).
        case guardianMustAnswer
        case notFound
    }

    /// Changes one type. Sharing less is everybody's own affair; sharing more of a child's is the guardian's.
    func choose(_ metric: Metric, shared: Bool, of person: PersonID, by source: AnswerSource = .person) async throws -> Outcome {
        let now = sharing.clock()
        return try await store.write { [self] db -> Outcome in
            guard let known = try sharing.repository.people.withID(db, person, now) else { return .notFound }
            if shared, known.needsGuardian, source == .person { return .guardianMustAnswer }
            let before = try choices.choices(db, of: known.account).first { $0.metric == metric }
            let choice = try choices.choose(db, known.account, metric, shared: shared, at: now)
            if shared != (before?.isShared ?? false) { try sharing.repository.people.recordChoice(db, known, choice, source) }
            return .chosen(choice)
        }
    }
}
