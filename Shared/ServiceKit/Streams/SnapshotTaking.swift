// Takes a snapshot into a store in short transactions, between which others write.

import Bus
import Contracts
import GRDB
import Storage

struct SnapshotTaking: Sendable {
    /// What one transaction takes at most, so that nobody's write waits for long: whichever comes first, but always one fact.
    private static let longest = Duration.milliseconds(10)
    private static let most = 250

    let store: Store
    let rules: SnapshotRules
    /// What was taken of a page is committed.
    let after: @Sendable ([StreamEvent]) async -> Void
    private let marks = SnapshotMarks()

    init(store: Store, rules: SnapshotRules, after: @escaping @Sendable ([StreamEvent]) async -> Void) {
        (self.store, self.rules, self.after) = (store, rules, after)
    }

    func take(_ page: SnapshotPage) async throws {
        // Of one that was broken off.
        if page.isFirst { try await clear(page.stream) }
        var left = page.facts.filter { $0.header.type != StreamHeader.erased }[...]
        while !left.isEmpty {
            let some = left.prefix(Self.most)
            let taken = try await store.write { [rules, marks] db in
                try Self.inTurn(some) { event in
                    if let key = try rules.take(db, event) { try marks.mark(db, page.stream, key) }
                }
            }
            await after(Array(some.prefix(taken)))
            left = left.dropFirst(taken)
        }
    }

    /// Ends what no page has named. After the last page.
    func finish(_ stream: String) async throws {
        guard let ending = rules.ending else { return }
        var place: [UInt8]? = []
        while let from = place {
            let (next, effects) = try await store.write { [marks] db -> ([UInt8]?, [SnapshotRules.Effect]) in
                let keys = try ending.known(db, stream, from, Self.most)
                var effects: [SnapshotRules.Effect] = []
                let seen = try Self.inTurn(keys[...]) { key in
                    if try !marks.isMarked(db, stream, key), let effect = try ending.forget(db, key) { effects.append(effect) }
                }
                let isLast = seen == keys.count && keys.count < Self.most
                return (isLast ? nil : keys[seen - 1], effects)
            }
            for effect in effects { await effect() }
            place = next
        }
    }

    /// Needs nothing of it any more: what is left of it by a crash is cleared by the next one.
    func clear(_ stream: String) async throws {
        guard rules.ending != nil else { return }
        while try await store.write({ [marks] db in try marks.clear(db, stream) }) == SnapshotMarks.clearLimit {}
    }

    /// As many as fit into one turn of the writer.
    /// - Returns: how many; at least one where there is one.
    private static func inTurn<Element>(_ elements: ArraySlice<Element>, _ body: (Element) throws -> Void) throws -> Int {
        let begun = ContinuousClock.now
        var done = 0
        for element in elements {
            try body(element)
            done += 1
            if ContinuousClock.now - begun >= longest { break }
        }
        return done
    }
}
