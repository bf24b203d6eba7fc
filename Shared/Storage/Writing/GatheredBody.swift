// Bodies of one kind that are cheaper done together than one after the other.

package import GRDB

/// A body as a value, for what comes by the thousand each second. Adjacent ones of one type in a group share a savepoint and whatever
/// `perform` does once for all of them.
package protocol GatheredBody: Sendable {
    associatedtype Value: Sendable

    /// Must do what doing one after the other would, and give one value for each. When it throws, everything it did is undone, and
    /// each of `bodies` is performed alone, so that only those throw whose own fault it was; effects that it gave to `afterCommit` are
    /// dropped with it.
    static func perform(_ bodies: [Self], in database: Database) throws -> [Value]

    /// What `perform` gave is on disk. Called on the writer's thread, after the commit, before any of `bodies` is told and before the next
    /// commit; must be quick.
    static func committed(_ bodies: [Self], _ values: [Value])
}

extension GatheredBody {
    package static func committed(_ bodies: [Self], _ values: [Value]) {}
}

extension Store {
    /// As `write`, sharing work with other bodies of this type.
    package func write<Body: GatheredBody>(_ body: Body) async throws -> Body.Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(body) { continuation.resume(with: $0) }
        }
    }

    /// As `write`, for callers that cannot wait: `answer` is called once, from any thread, and must be quick.
    package func enqueue<Body: GatheredBody>(_ body: Body, answer: @escaping @Sendable (Result<Body.Value, any Error>) -> Void) {
        enqueue(.gathered(Gathered(body, answer)))
    }
}

/// One of several bodies that can be performed together.
protocol GatheredWork: AnyObject, Sendable {
    /// Bodies of equal kinds go together.
    var kind: ObjectIdentifier { get }

    /// Performs all of `run`, which are of this kind; gives what tells the waiters so.
    func perform(_ run: ArraySlice<WaitingWrite>, in database: Database) throws -> @Sendable () -> Void

    func refuse(_ error: any Error)
}

private final class Gathered<Body: GatheredBody>: GatheredWork {
    private let body: Body
    private let answer: @Sendable (Result<Body.Value, any Error>) -> Void

    init(_ body: Body, _ answer: @escaping @Sendable (Result<Body.Value, any Error>) -> Void) {
        (self.body, self.answer) = (body, answer)
    }

    var kind: ObjectIdentifier { ObjectIdentifier(Body.self) }

    // Loops, because the standard library's `map` and `zip` are not specialised here: they cost an upload 2 of 55 µs.
    func perform(_ run: ArraySlice<WaitingWrite>, in database: Database) throws -> @Sendable () -> Void {
        var members: [Gathered<Body>] = []
        var bodies: [Body] = []
        members.reserveCapacity(run.count)
        bodies.reserveCapacity(run.count)
        for write in run {
            guard case .gathered(let work) = write, let member = work as? Gathered<Body> else { continue }
            members.append(member)
            bodies.append(member.body)
        }
        let values = try Body.perform(bodies, in: database)
        precondition(values.count == run.count, "each body has its value")
        return { [members, bodies] in
            Body.committed(bodies, values)
            for place in members.indices { members[place].answer(.success(values[place])) }
        }
    }

    func refuse(_ error: any Error) {
        answer(.failure(error))
    }
}
