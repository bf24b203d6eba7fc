// Follows the other dispatcher and lets what it publishes take effect here.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage
import Synchronization

/// Follows the other side's stream. It begins before anything that was due is done, so that what was called off there is not called
/// here; a side that is alone waits `startTimeout` for it, once, at its start.
actor PairLink {
    /// How long a start waits for what the other side has published.
    static let startTimeout = Duration.milliseconds(300)
    private static let look = Duration.milliseconds(5)
    private static let pause = Duration.seconds(1)

    private let role: PairRole
    private let runtime: Runtime
    private let supervision: SupervisionService
    private let dispatcher: Dispatcher
    private let pair: PairState
    private let keys: PersonKeys
    /// What of other subjects is kept in step, by the kind of its notes.
    private let participants: [String: PairState.Participant]
    private let freshness = StreamFreshness()
    /// The newest known places of a person, from ingest.
    private let latest: @Sendable (PersonID) async -> [Sample]
    private var positions: [StreamPosition]
    private var following: Task<Void, Never>?
    private var asking: Task<Void, Never>?
    private(set) var isAsking = false
    private var askingUnstored: Task<Void, Never>?
    private var isAnybodyUnreadable = false
    /// Said by the operator; it may be said before this begins, which looked into the store before.
    private var isOtherGone = false

    init(
        on runtime: Runtime, supervision: SupervisionService, dispatcher: Dispatcher, pair: PairState, keys: PersonKeys,
        participants: [String: PairState.Participant], positions: [StreamPosition],
        latest: @escaping @Sendable (PersonID) async -> [Sample]
    ) {
        (self.runtime, self.supervision, self.dispatcher, self.pair, self.keys) = (runtime, supervision, dispatcher, pair, keys)
        (role, self.participants) = (pair.role, participants)
        self.positions = positions.filter { $0.stream == pair.role.other.stream }
        self.latest = latest
    }

    /// How long ago everything that the other side had said was known here; nil where it was never heard.
    nonisolated var silentFor: Duration? { freshness.age }

    /// Begins to follow, and returns once everything that the other side has said is known, or after `startTimeout`.
    /// - Parameters:
    ///   - waiting: whether there may be another side at all.
    ///   - hasForgotten: the store was restored from a copy: beside all that the other side has published since, what it knows of people is
    ///     requested until it answers or `otherIsGone`.
    ///   - isAnybodyUnreadable: somebody's state cannot be read: likewise, until it answers.
    func begin(waiting: Bool, hasForgotten: Bool, isAnybodyUnreadable: Bool) async {
        self.isAnybodyUnreadable = isAnybodyUnreadable
        following = Task { await follow() }
        if hasForgotten && !isOtherGone || isAnybodyUnreadable {
            isAsking = true
            asking = Task { await askEverything() }
        }
        if waiting || isAsking { askingUnstored = Task { await askUnstored() } }
        let end = ContinuousClock.now + (waiting || isAsking ? PairLink.startTimeout : .zero)
        while freshness.age == nil || isAsking, ContinuousClock.now < end {
            // The bus tells nobody when it has caught up.
            try? await Task.sleep(for: PairLink.look)
        }
    }

    /// A part of the service: ends with it.
    func run() async {
        await withTaskCancellationHandler {
            await following?.value
        } onCancel: {
            Task { await self.end() }
        }
    }

    /// The operator says that the other side is gone for good: nobody tells back what was forgotten. Whoever's state cannot be read here is
    /// asked for all the same: should the other side return, they are watched again.
    func otherIsGone() {
        isOtherGone = true
        askingUnstored?.cancel()
        guard isAsking, !isAnybodyUnreadable else { return }
        asking?.cancel()
        isAsking = false
        runtime.logger.notice("the other dispatcher is gone for good and is no longer asked", metadata: ["peer": "\(role.other.peer)"])
    }

    private func end() {
        following?.cancel()
        asking?.cancel()
        askingUnstored?.cancel()
    }

    /// Who subscribed here, what was set and what people and emergency services have said since the copy was made: the other side was told, and
    /// tells it back. What it has said itself comes from its log.
    private func askEverything() async {
        guard let other = try? await runtime.client(of: role.other.peer) else { return }
        var isReported = false
        while !Task.isCancelled {
            do {
                var after: String?
                repeat {
                    let page = try await other.snapshot(SnapshotStream(stream: role.other.stream, after: after))
                    await hear(page.facts.map { StreamEvent(header: $0.header, payload: Array($0.payload.utf8)) }, [])
                    after = page.next
                } while after != nil
                var batch = StoreBatch()
                batch.further.append(PairTables.knowsAgain)
                supervision.journal.note(batch)
                isAsking = false
                return
            } catch {
                if !isReported, !Task.isCancelled { reportSilence() }
                isReported = true
                // A pause between attempts: the other side may be starting too.
                try? await Task.sleep(for: PairLink.pause)
            }
        }
    }

    /// What the last process here knew and its disk did not take, as far as the other side knows it too: a call that runs goes on from here
    /// as well. Once is enough, since whatever comes after is heard; and nobody waits for it, since what is due here is known here.
    private func askUnstored() async {
        guard let other = try? await runtime.client(of: role.other.peer) else { return }
        while !Task.isCancelled {
            do {
                var after: PersonID?
                repeat {
                    let page = try await other.ask(ReadUnstored(after: after), deadline: PairLink.startTimeout, attempts: 1)
                    await hear(unstored: page.facts.compactMap { PairFact.read(Array($0.utf8)) })
                    after = page.next
                } while after != nil
                return
            } catch {
                // An earlier release has no answer to this.
                guard error.isRetriable else { return }
                // A pause between attempts: the other side may be starting too.
                try? await Task.sleep(for: PairLink.pause)
            }
        }
    }

    private func reportSilence() {
        runtime.logger.warning(
            "the other dispatcher is asked, until it answers, for what this store has forgotten or cannot read; calls do not wait for it",
            metadata: [
                "peer": "\(role.other.peer)",
                "if_gone_for_good": "trackme consumers forget \(role.other.peer) --of \(role.peer)",
            ])
    }

    private func follow() async {
        while !Task.isCancelled {
            do {
                let consumer = try await runtime.consumer(of: role.other.family, freshness: freshness)
                try await consumer.run(from: positions) { [self] events, next in
                    await hear(events, next)
                } restart: { [self] page in
                    await hear(page.facts, page.next.map { [$0] } ?? [])
                } provisional: { [self] event in
                    await hear(provisional: event)
                }
                return
            } catch {
                guard !Task.isCancelled else { return }
                runtime.logger.error("the other dispatcher cannot be followed", metadata: ["reason": "\(error.logReason)"])
                // A pause between attempts, so that a fault that stays does not fill the log.
                try? await Task.sleep(for: PairLink.pause)
            }
        }
    }

    private func hear(_ events: [StreamEvent], _ next: [StreamPosition]) async {
        var facts: [PairFact] = []
        for event in events where event.header.type == PairFact.type {
            guard let fact = PairFact.read(event.payload) else {
                runtime.logger.error("a fact of the other dispatcher cannot be read", metadata: ["sequence": "\(event.header.sequence)"])
                continue
            }
            // Neither side's tests are anything to the other, which would call for them in earnest.
            if let person = fact.subject, supervision.names.synthetic.contains(person) { continue }
            // A person who was erased here is not brought back. Of one whose key is damaged it is heard, and not stored.
            if let person = fact.subject, !(await mayBeHeard(of: person)) { continue }
            facts.append(fact)
        }
        let notes = facts.compactMap { fact -> SealedBatchStore.FurtherWrite? in
            guard case .note(let kind, _, let body) = fact, let participant = participants[kind] else { return nil }
            return { try participant.apply($0, body) }
        }
        let newcomers = await supervision.hear(facts, next, further: notes)
        await dispatcher.heard(facts)
        positions = next.isEmpty ? positions : next
        for person in newcomers {
            // Nobody waits for these: until it comes, the person's position is unknown, and a call says so.
            Task { [latest, supervision] in await supervision.note(latest(person), of: person) }
            Task { [supervision] in await supervision.began(elsewhere: person) }
        }
        let kinds = Set(facts.compactMap(\.kind))
        guard !kinds.isEmpty else { return }
        // What a participant reads is in the file by then, unless the disk refuses.
        _ = await supervision.journal.commit(within: PairLink.pause)
        for kind in kinds { await participants[kind]?.after() }
    }
}

extension PairLink {
    /// What the other side could not store yet. It counts at once, and changes nothing when it comes again in its place.
    private func hear(provisional event: StreamEvent) async {
        guard event.header.type == PairFact.provisionalType, let fact = PairFact.read(event.payload), let person = fact.subject,
            !supervision.names.synthetic.contains(person), await mayBeHeard(of: person)
        else { return }
        _ = await supervision.hear([fact], [])
        // Killed before it has stored it, the other side would not know what is called for here.
        if let returned = fact.returned { pair.tell(returned) }
    }

    private func hear(unstored facts: [PairFact]) async {
        var heard: [PairFact] = []
        for fact in facts {
            guard let person = fact.subject, !supervision.names.synthetic.contains(person), await mayBeHeard(of: person) else { continue }
            heard.append(fact)
        }
        guard !heard.isEmpty else { return }
        _ = await supervision.hear(heard, [], isUnstored: true)
        await dispatcher.heard(heard)
    }

    private func mayBeHeard(of person: PersonID) async -> Bool {
        do {
            _ = try await keys.makeKey(for: person)
            return true
        } catch {
            return error is DamagedKey
        }
    }
}

extension PairFact {
    fileprivate var kind: String? {
        switch self {
        case .note(let kind, _, _): kind
        case .contact: ContactReply.kind
        case .settings, .opened, .answered, .attempted, .acknowledged, .erased: nil
        }
    }
}
