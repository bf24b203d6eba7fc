// The clock of table SHR-S: what nobody answers in time is expired, and a subscription ends when its period is over, also where that
// came while nothing ran.

import Contracts
import Logging
import ServiceKit
import Storage

struct SharingExpiry: Sendable {
    /// Requests of one transaction.
    private static let batch = 100
    /// The wall clock may be set, so it is looked at again and again.
    private static let longestPause = Duration.seconds(5)

    let service: SharingService
    private let table = SharingStore()

    init(service: SharingService) {
        self.service = service
    }

    /// Runs until it is cancelled. What is due is in the store: a restart forgets nothing.
    func run() async throws {
        try await WorkLoop(every: Self.longestPause, signal: service.wakeUp).run {
            try await expireDue()
            try await endRunOut()
            let next = try await service.store.read { [table] db in try table.nextDue(db) }
            return next.map { NextRound.after($0 - service.clock()) } ?? .whenWoken
        }
    }

    /// Expires everything whose time is over (SHR-07); the person and, by the stream, the organisation are told.
    /// - Returns: how many.
    @discardableResult
    func expireDue() async throws -> Int { try await close(.unanswered) }

    /// Ends every subscription whose period is over and had time to be delivered (SHR-15, table SHR-S); both sides are told.
    /// - Returns: how many.
    @discardableResult
    func endRunOut() async throws -> Int { try await close(.runOut) }

    private enum Course: String {
        case unanswered, runOut

        var notice: MessageTemplate { self == .unanswered ? .requestExpired : .grantEnded }
    }

    private func close(_ course: Course) async throws -> Int {
        let delivery = service.settings.deliveryTime
        var total = 0
        while true {
            let now = service.clock()
            let count = try await service.store.write { [service, table] db in
                let rows =
                    switch course {
                    case .unanswered: try table.overdue(db, at: now, limit: Self.batch)
                    case .runOut:
                        try table.runOut(db, by: now - delivery, limit: Self.batch)
                            .filter { $0.request.hasRunOut(at: now, delivery: delivery) }
                    }
                for var row in rows {
                    switch course {
                    case .unanswered: try row.request.expired(at: now)
                    case .runOut: try row.request.ended(at: now)
                    }
                    try service.repository.changed(
                        db, row, by: .suite, notice: course.notice, SharingRepository.Moment(now: now, trace: ""))
                }
                return rows.count
            }
            total += count
            if count > 0 { service.logger.notice("requests are over", metadata: ["why": "\(course.rawValue)", "count": "\(count)"]) }
            guard count == Self.batch else { return total }
        }
    }
}
