// What consent still has to be told, and registrations that were begun and never finished: done until it is done.

import Contracts
import Logging
import ServiceKit
import Storage

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
        while true {
            let waiting = try await store.read { [duties] db in try duties.waiting(db, limit: Self.atOnce) }
            for duty in waiting {
                guard try await settle(duty) else { return false }
            }
            if waiting.count < Self.atOnce { break }
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

    private func settle(_ duty: OrganisationDuty) async throws -> Bool {
        let isAnswered = await isAnswered {
            switch duty.task {
            case .removeMember(let member): try await consent.remove(member)
            case .closeOrganisation(let organisation): _ = try await consent.close(organisation)
            }
        }
        guard isAnswered else { return false }
        try await store.write { [duties] db in try duties.done(db, duty) }
        return true
    }

    private func isAnswered(_ ask: () async throws -> Void) async -> Bool {
        do {
            try await ask()
            return true
        } catch {
            logger.warning(
                "consent could not be told; it is asked again",
                metadata: ["code": "\((error as? Failure)?.code.rawValue ?? "cancelled")"])
            return false
        }
    }
}
