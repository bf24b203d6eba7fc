// What operators announce to everybody: times of maintenance above all (ACC-35).

import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct AnnouncementService: Sendable {
    /// Most announcements that are shown at a time.
    static let most = 100

    let store: Store
    let firstAnswers: FirstAnswers<Int64>
    let logger: Logger
    private let table = AnnouncementTable()

    init(store: Store, firstAnswers: FirstAnswers<Int64>, logger: Logger) {
        (self.store, self.firstAnswers, self.logger) = (store, firstAnswers, logger)
    }

    func current(now: Timestamp) async throws -> [Announcement] {
        try await store.read { [table] db in try table.current(db, now: now, limit: Self.most) }
    }

    /// - Throws: `invalid-announcement`, with every wrong field named; nothing is announced then.
    func announce(by maker: OperatorID, _ form: JSONTree, _ request: RepeatableRequest, at: Timestamp) async throws -> Announcement {
        let checked = try Self.checked(form, now: at)
        let announcement = try await store.write { [table, firstAnswers] db in
            let first = try firstAnswers.find(db, request)
            let number = try first ?? table.add(db, checked, by: maker, at: at)
            if first == nil { try firstAnswers.remember(db, number, of: request, status: 201, at: at) }
            return try table.find(db, number)
        }
        guard let announcement else { throw Problem.notFound }
        logger.notice("something was announced", metadata: ["operator": "\(maker)", "announcement": "\(announcement.number)"])
        return announcement
    }

    private static func checked(_ form: JSONTree, now: Timestamp) throws -> AnnouncementForm {
        switch AnnouncementForm.check(form, now: now) {
        case .right(let checked): return checked
        case .wrong(let errors):
            throw AccountProblem.invalidAnnouncement.problem("Nothing was announced. Correct the named fields.", errors: errors)
        }
    }

    /// - Throws: `Problem.notFound`.
    func withdraw(_ number: Int64, by maker: OperatorID, at: Timestamp) async throws {
        guard try await store.write({ [table] db in try table.withdraw(db, number, by: maker, at: at) }) else { throw Problem.notFound }
        logger.notice("an announcement was withdrawn", metadata: ["operator": "\(maker)", "announcement": "\(number)"])
    }
}
