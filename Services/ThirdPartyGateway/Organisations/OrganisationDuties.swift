// What consent still has to be told, and registrations that were begun and never finished: done until it is done.

import Contracts
import Logging
import Metrics
import ServiceKit
import Storage
import Synchronization

struct OrganisationDuties: Sendable {
    private static let atOnce = 50
    /// Without a ring the tables are looked at all the same.
    private static let look = Duration.seconds(10)
    /// Pauses while consent does not answer: doubled from the first to the last.
    private static let pauses = Duration.milliseconds(250)...Duration.seconds(10)
    /// A registration that has taken so long is not finished any more: whoever began it has crashed or been told to try again.
    static let unfinished = Duration.seconds(30)

    let store: Store
    let table: OrganisationTable
    let members: MemberTable
    let consent: ConsentAsker
    let logger: Logger
    let now: @Sendable () -> Timestamp
    let bell = Bell()
    private let duties = DutyTable()
    private let refusals = DutyRefusals()

    init(
        store: Store, table: OrganisationTable, members: MemberTable, consent: ConsentAsker, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.table, self.members) = (store, table, members)
        (self.consent, self.logger, self.now) = (consent, logger, now)
    }

    /// Runs until it is cancelled.
    func run() async throws {
        var pause = Self.pauses.lowerBound
        while !Task.isCancelled {
            if try await work() {
                pause = Self.pauses.lowerBound
                await bell.wait(atMost: Self.look)
            } else {
                await bell.wait(atMost: pause)
                pause = min(pause * 2, Self.pauses.upperBound)
            }
        }
        throw CancellationError()
    }

    /// Does what waits.
    /// - Returns: false where consent was not to be had.
    func work() async throws -> Bool {
        var last: Int64 = 0
        while true {
            let waiting = try await store.read { [duties, last] db in try duties.waiting(db, after: last, limit: Self.atOnce) }
            for duty in waiting where refusals.isDue(duty.number, at: now()) {
                switch await told(duty) {
                case .done: try await store.write { [duties] db in try duties.done(db, duty) }
                // Its own fault: those behind it do not wait for it.
                case .refused: refusals.add(duty.number, at: now())
                case .silent: return false
                }
            }
            guard waiting.count == Self.atOnce, let number = waiting.last?.number else { break }
            last = number
        }
        let since = now() - Self.unfinished
        return try await store.read { [table] db in try table.unfinished(db, since: since) }.isEmpty ? true : takeBack(since: since)
    }

    /// Unfinished registrations go, and so do the log-ins that consent may have made for them.
    private func takeBack(since: Timestamp) async throws -> Bool {
        try await store.write { [table, duties] db in
            for organisation in try table.unfinished(db, since: since) {
                try table.deleteUnfinished(db, organisation)
                try duties.add(db, .closeOrganisation(organisation))
            }
        }
        return try await work()
    }

    private enum Told {
        case done
        /// Consent answers, and refuses this one.
        case refused
        /// Consent is not to be had.
        case silent
    }

    private func told(_ duty: OrganisationDuty) async -> Told {
        do {
            switch duty.task {
            case .removeMember(let member): try await consent.remove(member)
            case .closeOrganisation(let organisation): _ = try await consent.close(organisation)
            }
            return .done
        } catch {
            // What consent does not know does not have to be ended there.
            if error.code == .notFound { return .done }
            let isRefused = !error.isRetriable
            logger.log(
                level: isRefused ? .error : .warning,
                isRefused ? "consent refuses what it is told; it is told again later" : "consent could not be told; it is asked again",
                metadata: ["code": "\(error.code.rawValue)", "duty": "\(duty.number)"])
            if isRefused { Counter(label: "organisation_duties_refused_total").increment() }
            return isRefused ? .refused : .silent
        }
    }
}

/// Duties that consent has refused, and when each is tried again; forgotten at a restart, which tries them all.
private final class DutyRefusals: Sendable {
    /// Doubled from the first to the last.
    private static let pauses = Duration.seconds(30)...Duration.seconds(3600)

    private struct Refusal {
        var count: Int
        var until: Timestamp
    }

    private let refused = Mutex<[Int64: Refusal]>([:])

    func isDue(_ duty: Int64, at now: Timestamp) -> Bool {
        refused.withLock { refused in
            guard let until = refused[duty]?.until else { return true }
            // One that is put off further than there are pauses was put off by a clock that has been set back since.
            return until <= now || until > now + Self.pauses.upperBound
        }
    }

    func add(_ duty: Int64, at now: Timestamp) {
        refused.withLock { refused in
            let count = (refused[duty]?.count ?? 0) + 1
            let pause = min(Self.pauses.upperBound, Self.pauses.lowerBound * (1 << min(count - 1, 10)))
            refused[duty] = Refusal(count: count, until: now + pause)
        }
    }
}
