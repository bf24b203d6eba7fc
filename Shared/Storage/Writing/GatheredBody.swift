// Bodies of one kind that are cheaper done together than one after the other.

package import GRDB

/// A body as a value, for what comes by the thousand each second. Neighbours of one type in a group share a savepoint and whatever
/// `perform` does once for all of them.
package protocol GatheredBody: Sendable {
    associatedtype Value: Sendable

    /// Must do what doing one after the other would, and give one value for each. When it throws, everything it did is undone, and
    /// each of `bodies` is performed alone, so that only those throw whose own fault it was.
    static func perform(_ bodies: [Self], in database: Database) throws -> [Value]
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

    /// Performs all of `run`, which are of this kind; gives what tells each waiter so.
    func perform(_ run: ArraySlice<WaitingWrite>, in database: Database) throws -> [@Sendable () -> Void]

    func refuse(_ error: any Error)
}

private final class Gathered<Body: GatheredBody>: GatheredWork {
    private let body: Body
    private let answer: @Sendable (Result<Body.Value, any Error>) -> Void

    init(_ body: Body, _ answer: @escaping @Sendable (Result<Body.Value, any Error>) -> Void) {
        (self.body, self.answer) = (body, answer)
    }

    var kind: ObjectIdentifier { ObjectIdentifier(Body.self) }

    func perform(_ run: ArraySlice<WaitingWrite>, in database: Database) throws -> [@Sendable () -> Void] {
        let members = run.compactMap { write in
            if case .gathered(let work) = write { work as? Gathered<Body> } else { nil }
        }
        let values = try Body.perform(members.map(\.body), in: database)
        precondition(values.count == run.count, "each body has its value")
        return zip(members, values).map { member, value in
            { member.answer(.success(value)) }
        }
    }

    func refuse(_ error: any Error) {
        answer(.failure(error))
    }
}
