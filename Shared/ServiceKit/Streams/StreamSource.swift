// One publisher's streams as their consumers can ask for them: replay from the log, the current facts, progress.

package import Bus
package import Contracts
package import GRDB
package import Storage
import Synchronization

/// Answers ReplayStream, SnapshotStream and ConfirmPositions for the streams of one store, and lets their log forget.
package struct StreamSource: Sendable {
    /// A page is cut at whichever comes first.
    static let factsPerPage = 1000
    static let bytesPerPage = 900_000
    /// A consumer that confirmed or asked something within this time runs: it confirms each `BusLimits.confirmEvery`.
    static let runningBound = BusLimits.confirmEvery * 3

    package let families: [StreamFamily]
    private let store: Store
    /// Whether a stream is one of this service's that `families` does not name, because it came to be later.
    private let further: @Sendable (String) -> Bool
    private let forgetting: @Sendable (Database, Peer) throws -> Void
    private let render: @Sendable (Database, StreamRow) throws -> [UInt8]?
    private let snapshot: @Sendable (SnapshotStream) async throws -> SnapshotStream.Reply
    /// How far each stream was when this process began: nothing behind that can have been said before a restore.
    private let begun: [String: Int64]
    private let lastQuestions = LastQuestions()

    /// When each consumer confirmed or asked something last, in the life of this process. As many as are let in.
    private final class LastQuestions: Sendable {
        private let times = Mutex<[Peer: ContinuousClock.Instant]>([:])

        func note(_ consumer: Peer) {
            times.withLock { $0[consumer] = .now }
        }

        /// How long ago; nil where it never did.
        func age(of consumer: Peer) -> Duration? {
            times.withLock { $0[consumer] }.map { .now - $0 }
        }
    }

    /// Call before anything is said.
    /// - Parameters:
    ///   - further: for streams that come and go while the service runs; none unless told.
    ///   - forgetting: what else the service does where the operator says that a consumer is gone for good, in the same transaction.
    ///   - render: runs in the read that fetched the row; gives the payload as it was published, byte for byte; nil where the person's
    ///     key is gone, which is answered as `erased`.
    ///   - snapshot: asked only for families that keep state.
    package init(
        families: [StreamFamily], store: Store, further: @escaping @Sendable (String) -> Bool = { _ in false },
        forgetting: @escaping @Sendable (_ db: Database, _ consumer: Peer) throws -> Void = { _, _ in },
        render: @escaping @Sendable (Database, StreamRow) throws -> [UInt8]?,
        snapshot: @escaping @Sendable (SnapshotStream) async throws -> SnapshotStream.Reply = { _ in
            throw Failure(.invalid, "this stream keeps no state; newcomers start at its head")
        }
    ) {
        (self.families, self.store, self.further, self.forgetting) = (families, store, further, forgetting)
        (self.render, self.snapshot) = (render, snapshot)
        begun = (try? store.readNow { try StreamLog().heads($0) }) ?? [:]
    }

    /// Adds the answers to the service's own.
    package func register(in methods: inout Methods) {
        methods.onReplay { request, context in
            lastQuestions.note(context.peer)
            return try await replay(request, for: context.peer)
        }
        methods.onSnapshot { request, context in
            lastQuestions.note(context.peer)
            return try await snapshot(request)
        }
        methods.onConfirm { request, context in
            lastQuestions.note(context.peer)
            try await store.write { try Confirmations().save($0, of: context.peer, request.positions) }
        }
        methods.onForget { request, _ in try await forget(request.consumer, evenRunning: request.evenRunning ?? false) }
    }

    /// A service of the suite that never was here is forgotten too: the log would wait for it.
    private func forget(_ consumer: Peer, evenRunning: Bool) async throws -> ForgetConsumer.Reply {
        if !evenRunning, let age = lastQuestions.age(of: consumer), age < Self.runningBound {
            throw Failure(.conflict, "\(consumer) runs, it was here \(age.components.seconds) s ago: stop it first, or say --even-running")
        }
        return try await store.write { [families, forgetting] db in
            let wasForgotten = try Confirmations().isForgotten(db, consumer)
            let expected = families.reduce(into: Set<Peer>()) { $0.formUnion($1.consumers) }.subtracting([.trackme])
            let known = expected.union(try Confirmations().consumers(db))
            guard wasForgotten || known.contains(consumer) else {
                throw Failure(.notFound, "no such consumer is known, only \(known.map(\.name).sorted().joined(separator: ", "))")
            }
            try Confirmations().forget(db, consumer)
            try forgetting(db, consumer)
            return ForgetConsumer.Reply(wasForgotten: wasForgotten)
        }
    }

    private func replay(_ request: ReplayStream, for consumer: Peer) async throws -> ReplayStream.Reply {
        guard families.contains(where: { $0.streams.contains(request.stream) }) || further(request.stream) else {
            throw Failure(.notFound, "no such stream here")
        }
        let log = StreamLog()
        let reply = try await store.read { db in
            let stream = request.stream
            let (epoch, head, oldest) = try (log.epoch(db), log.head(db, stream), log.oldest(db, stream))
            guard request.epoch == epoch else {
                let position = StreamPosition(stream: stream, epoch: request.epoch, next: request.from)
                let next = try log.goingOn(db, from: position, of: consumer)
                return ReplayStream.Reply(epoch: epoch, head: head, oldest: next, facts: [])
            }
            if request.from > head + 1 { return ReplayStream.Reply(epoch: epoch, head: head, oldest: oldest, facts: []) }
            guard request.from >= oldest else { return ReplayStream.Reply(epoch: epoch, head: head, oldest: oldest, facts: []) }
            let searched = request.subject == nil ? head : min(head, request.from + ReplayStream.mostSearched - 1)
            let rows = try log.rows(
                db, stream, from: request.from, through: min(request.through, searched), about: request.subject,
                limit: StreamSource.factsPerPage)
            var facts: [ReplayStream.Fact] = []
            var size = 0
            for row in rows {
                let fact = try fact(db, row, epoch: epoch, head: head)
                size += fact.payload.utf8.count
                if size > StreamSource.bytesPerPage, !facts.isEmpty { break }
                facts.append(fact)
            }
            return ReplayStream.Reply(epoch: epoch, head: head, oldest: oldest, facts: facts)
        }
        if request.epoch == reply.epoch, request.from > reply.head + 1 { try await beginAnew(request, shownBy: consumer) }
        return reply
    }

    /// A consumer of the suite has applied more than this log holds: its volume was restored, `StoreLife`'s file with it. The process ends;
    /// the next one begins a new epoch, in which everybody goes on behind what the two logs have in common. A stranger's word ends nothing.
    private func beginAnew(_ request: ReplayStream, shownBy consumer: Peer) async throws {
        let isConsumer = families.contains { $0.streams.contains(request.stream) && $0.consumers.contains(consumer) }
        guard isConsumer, consumer != .trackme, Peer.suite.contains(consumer), try await store.read({ try StoreLife.isKept(in: $0) }) else {
            return
        }
        try await store.write { [begun] db in try StreamLog().part(db, at: begun) }
        store.endAsPutBack()
    }

    private func fact(_ db: Database, _ row: StreamRow, epoch: String, head: Int64) throws -> ReplayStream.Fact {
        var header = row.header(epoch: epoch, head: head)
        guard !row.isErased, let payload = try render(db, row) else {
            header.type = StreamHeader.erased
            return ReplayStream.Fact(header: header, payload: "")
        }
        return ReplayStream.Fact(header: header, payload: String(decoding: payload, as: UTF8.self))
    }
}

/// Lets the log forget what is older than the retention and what every consumer of the family has applied.
package struct LogRetention: Sendable {
    private let families: [StreamFamily]
    private let store: Store
    private let retention: Duration

    /// `retention` is the least: what a consumer has not confirmed stays longer.
    package init(families: [StreamFamily], store: Store, retention: Duration) {
        (self.families, self.store, self.retention) = (families, store, retention)
    }

    /// Runs until it is cancelled, once a minute.
    package func run() async throws {
        while true {
            for family in families {
                for stream in family.streams { try await release(stream, of: family) }
            }
            try await Task.sleep(for: .seconds(60))
        }
    }

    /// Those who confirm. A deputy counts once it has been there: an installation may do without. The operator's tool may listen, keeps
    /// nothing and confirms nothing.
    private func waitedFor(_ db: Database, _ family: StreamFamily) throws -> [Peer] {
        try family.consumers.filter { try $0 != .trackme && ($0.deputyOf == nil || !Confirmations().positions(db, of: $0).isEmpty) }
    }

    private func release(_ stream: String, of family: StreamFamily) async throws {
        let before = Timestamp.now - retention
        var released: Int
        repeat {
            guard try await store.read({ db in try StreamLog().hasOlder(db, stream, than: before) }) else { return }
            released = try await store.write { db in
                try StreamLog().release(db, stream, before: before, confirmedBy: try waitedFor(db, family))
            }
        } while released == StreamLog.releaseLimit
    }
}
