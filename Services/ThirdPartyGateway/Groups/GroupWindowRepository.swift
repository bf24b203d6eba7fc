// What becomes of a window that the anonymiser has closed: it is listed, listeners are told, and of a withheld one a mail goes (ANO-13).

import Contracts
import GRDB
import ServiceKit
import Storage

struct GroupWindowRepository: Sendable {
    let organisations: OrganisationRepository
    let queue: WebhookQueueStore
    let clock: @Sendable () -> Timestamp
    private let requests = GroupRequestStore()
    private let windows = GroupWindowStore()

    init(organisations: OrganisationRepository, queue: WebhookQueueStore, clock: @escaping @Sendable () -> Timestamp) {
        (self.organisations, self.queue, self.clock) = (organisations, queue, clock)
    }

    /// One fact of `anonymiser.windows`, in the transaction of its position. Once is as good as often; of an organisation that is gone
    /// nothing is kept.
    func receive(_ db: Database, _ window: GroupWindowClosed) throws {
        let now = clock()
        guard let request = try requests.find(db, window.request), try windows.add(db, window, at: now) else { return }
        db.afterCommit { [hub = queue.hub] in hub.told(window.request) }
        try queue.enqueue(db, window: GroupWindowNotice(window), to: request.organisation, at: now)
        guard window.status == .withheld else { return }
        try organisations.mail(
            db, to: request.organisation, .groupWindowWithheld,
            ["request": "\(window.request)", "window": "\(window.sequence)", "time": window.to.rfc3339])
    }
}
