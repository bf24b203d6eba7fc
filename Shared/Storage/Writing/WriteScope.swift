// What follows from a body once it is on disk: publications, wake-ups, what memory learns.

package import GRDB
import Synchronization

extension Database {
    /// Runs `effect` once what the body under way has written is on disk, before its caller goes on: after the effects that were added
    /// before, of this body and of those before it in the group. It never runs where the body throws or its group's commit fails.
    ///
    /// The effect runs on the writer's thread, and the next commit waits for it: it must be quick and must not ask the store. That it
    /// neither waits nor throws is in its type.
    ///
    /// The database is all that a body hands on to the functions that it is made of, down to the one that knows the effect: it is the
    /// database that is asked, so that none of those between carries what it does not use and no caller can forget it.
    ///
    /// On a connection that no store writes through (a migration, a file of a test) it follows the connection's next commit.
    package func afterCommit(_ effect: @escaping @Sendable () -> Void) {
        guard let scope = WriteScope.of(self) else { return afterNextTransaction { _ in effect() } }
        scope.add(effect)
    }
}

/// The effects of the group under way on one writer's connection.
final class WriteScope: Sendable {
    /// By connection: GRDB keeps nothing for others with one, and SQLite only from 3.44 on (`sqlite3_set_clientdata`).
    private static let scopes = Mutex<[ObjectIdentifier: WriteScope]>([:])

    private let connection: ObjectIdentifier
    private let effects = Mutex<[@Sendable () -> Void]>([])

    private init(_ connection: ObjectIdentifier) {
        self.connection = connection
    }

    /// Until `close`, which must come before the connection is gone.
    static func open(for database: Database) -> WriteScope {
        let scope = WriteScope(ObjectIdentifier(database))
        scopes.withLock { $0[scope.connection] = scope }
        return scope
    }

    func close() {
        Self.scopes.withLock { $0[connection] = nil }
    }

    static func of(_ database: Database) -> WriteScope? {
        scopes.withLock { $0[ObjectIdentifier(database)] }
    }

    func add(_ effect: @escaping @Sendable () -> Void) {
        effects.withLock { $0.append(effect) }
    }

    /// Taken before a body, for `drop(from:)`.
    var count: Int { effects.withLock { $0.count } }

    /// What was added since then was undone.
    func drop(from count: Int = 0) {
        effects.withLock { $0.removeSubrange(count...) }
    }

    /// After the commit.
    func run() {
        let due = effects.withLock { effects in
            defer { effects.removeAll() }
            return effects
        }
        for effect in due { effect() }
    }
}
