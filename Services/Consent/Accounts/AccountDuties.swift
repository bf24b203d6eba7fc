// Asking other services what an account needs of them, again and again until they have answered.

import Bus
import Contracts
import Foundation
import Logging
import ServiceKit
import Storage

/// The neighbours that registration asks. The body is the JSON of the contract; the id is the same at every repetition.
struct AccountNeighbours: Sendable {
    /// - Throws: `Failure`.
    typealias Ask = @Sendable (_ id: String, _ body: [UInt8]) async throws -> Void

    let recordEntries: Ask
    let subscribePerson: Ask
}

extension AccountNeighbours {
    /// The suite's own.
    init(on runtime: Runtime) async throws {
        let ingest = try await runtime.client(of: .ingest)
        let dispatcher = try await runtime.client(of: .sosDispatcher)
        recordEntries = { id, body in
            _ = try await ingest.ask(id: id, method: RecordEntries.method, body: body, deadline: .seconds(2), attempts: 2)
        }
        subscribePerson = { id, body in
            _ = try await dispatcher.ask(id: id, method: SubscribePerson.method, body: body, deadline: .seconds(1), attempts: 2)
        }
    }
}

struct AccountDuties: Sendable {
    private static let atOnce = 16
    private static let look = Duration.seconds(5)
    /// Pauses between tries, doubled from the first to the last.
    private static let pauses = Duration.milliseconds(200)...Duration.seconds(60)
    /// How long a duty waits that is tried at once by whoever made it.
    static let head = Duration.seconds(10)

    let store: Store
    let book: AccountBook
    let neighbours: AccountNeighbours
    let logger: Logger
    let bell = Bell()

    /// Does what is due until it is cancelled. A part of the service (`Background`).
    func run() async throws {
        while !Task.isCancelled {
            let (duties, next) = try await store.read { [table = book.duties] db in
                (try table.due(db, now: .now, limit: Self.atOnce), try table.nextDue(db, after: .now))
            }
            guard !duties.isEmpty else {
                await bell.wait(atMost: next.map { max(.milliseconds(1), min(Self.look, $0 - .now)) } ?? Self.look)
                continue
            }
            await withTaskGroup(of: Void.self) { group in
                for duty in duties { group.addTask { await tryOnce(duty) } }
            }
        }
        throw CancellationError()
    }

    /// Asks the SOS dispatcher at once and says what came of it; a refusal is final (ACC-06).
    func joinNow(_ account: AccountNumber) async throws -> AutomatedSOSWish {
        let duty = try await store.read { [table = book.duties] db in try table.find(db, account: account, kind: .joinSOS) }
        guard let duty else { return AutomatedSOSWish(status: .asked) }
        do {
            try await neighbours.subscribePerson(duty.question, duty.body)
            return try await settle(duty, AutomatedSOSWish(status: .active))
        } catch let failure as Failure {
            return try await settle(duty, AutomatedSOSWish(status: .refused, reason: Self.words(failure)))
        }
    }

    private func tryOnce(_ duty: Duty) async {
        do {
            switch duty.kind {
            case .recordEntries: try await record(duty)
            case .joinSOS: try await join(duty)
            }
        } catch {
            logger.warning("a duty was not settled", metadata: ["kind": "\(duty.kind.rawValue)"])
            // The store would not take it: without a pause the next look would find the same.
            try? await Task.sleep(for: Self.look)
        }
    }

    private func record(_ duty: Duty) async throws {
        do {
            try await neighbours.recordEntries(duty.question, duty.body)
        } catch let failure as Failure {
            guard failure.isLasting else { return try await postpone(duty) }
            logger.error("entries were not taken", metadata: ["code": "\(failure.code.rawValue)"])
        }
        try await store.write { [table = book.duties] db in try table.remove(db, duty.number) }
    }

    private func join(_ duty: Duty) async throws {
        do {
            try await neighbours.subscribePerson(duty.question, duty.body)
            _ = try await settle(duty, AutomatedSOSWish(status: .active))
        } catch let failure as Failure {
            guard failure.isLasting else { return try await postpone(duty) }
            _ = try await settle(duty, AutomatedSOSWish(status: .refused, reason: Self.words(failure)))
        }
    }

    private func settle(_ duty: Duty, _ wish: AutomatedSOSWish) async throws -> AutomatedSOSWish {
        try await store.write { [book] db in
            try book.duties.remove(db, duty.number)
            try book.settleSOS(db, duty.account, wish, at: .now)
        }
        return wish
    }

    private func postpone(_ duty: Duty) async throws {
        let pause = min(Self.pauses.lowerBound * (1 << min(duty.tries, 16)), Self.pauses.upperBound)
        try await store.write { [table = book.duties] db in try table.postpone(db, duty.number, until: .now + pause) }
    }

    /// For the person; the dispatcher's own reasons hold nothing personal by contract.
    private static func words(_ failure: Failure) -> String {
        failure.isRetriable
            ? "AutomatedSOS did not answer; the account works without it. Join again from the app." : failure.reason
    }
}

extension Failure {
    /// Asking again will not help. Whoever does not know the person yet may have heard of them a moment later.
    fileprivate var isLasting: Bool {
        switch code {
        case .invalid, .conflict: true
        case .notFound, .forbidden, .unknownMethod, .unavailable, .deadline, .internal: false
        }
    }
}
