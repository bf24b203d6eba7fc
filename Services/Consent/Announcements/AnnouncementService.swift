// What operators announce to everybody: times of maintenance above all (ACC-35), and breaches of personal data, of which each person is written to.

import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct AnnouncementService: Sendable {
    /// Most announcements that are shown at a time.
    static let most = 100
    /// People who are written to in one transaction.
    static let atOnce = 20
    /// Poll interval, in case a wake-up was lost.
    private static let interval = Duration.seconds(60)

    let store: Store
    let firstAnswers: FirstAnswers<Int64>
    let vault: ProfileVault
    let outbox: MessageOutbox
    let logger: Logger
    private let table = AnnouncementStore()
    private let accounts = AccountStore()
    private let wake = WakeUpSignal()

    init(store: Store, firstAnswers: FirstAnswers<Int64>, vault: ProfileVault, outbox: MessageOutbox, logger: Logger) {
        (self.store, self.firstAnswers, self.vault, self.outbox, self.logger) = (store, firstAnswers, vault, outbox, logger)
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
        if announcement.isBreach { wake.notify() }
        logger.notice("an announcement was published", metadata: ["operator": "\(maker)", "announcement": "\(announcement.number)"])
        return announcement
    }

    private static func checked(_ form: JSONTree, now: Timestamp) throws -> AnnouncementForm {
        switch AnnouncementForm.check(form, now: now) {
        case .right(let checked): return checked
        case .wrong(let errors):
            throw Problem.invalidAnnouncement.saying(
                "Nothing was announced. Correct the named fields.", italian: "Nulla è stato annunciato. Corregga i campi indicati.",
                errors: errors)
        }
    }

    /// - Throws: `Problem.notFound`.
    func withdraw(_ number: Int64, by maker: OperatorID, at: Timestamp) async throws {
        guard try await store.write({ [table] db in try table.withdraw(db, number, by: maker, at: at) }) else { throw Problem.notFound }
        logger.notice("an announcement was withdrawn", metadata: ["operator": "\(maker)", "announcement": "\(number)"])
    }

    // MARK: Breaches

    /// Writes to people until it is cancelled; after a restart it goes on where it was.
    func run() async throws {
        while true {
            while try await writeToSome() {}
            try Task.checkCancellation()
            await wake.wait(atMost: Self.interval)
        }
    }

    /// Mail and inbox of the next people. What is withdrawn is sent nevertheless: it has happened.
    /// - Returns: whether there may be more.
    private func writeToSome() async throws -> Bool {
        try await store.write { [self] db in
            guard let (announcement, through) = try table.unwritten(db) else { return false }
            let some = try accounts.page(db, of: .person, after: through, limit: Self.atOnce)
            for account in some where account.state == .active {
                let contact = try vault.contact(account)
                guard let text = announcement.texts[contact.language] else { continue }
                try outbox.enqueue(
                    db,
                    SendMessage(
                        message: .random(), recipient: Recipient(person: account.subject.person, mail: contact.email.text),
                        channels: [.mail, .inbox], template: .dataBreach, language: contact.language,
                        values: ["title": text.title, "text": text.text]))
            }
            let isOver = some.count < Self.atOnce
            try table.write(db, announcement.number, through: isOver ? nil : some.last?.number)
            if isOver { logger.notice("an announcement was sent to everybody", metadata: ["announcement": "\(announcement.number)"]) }
            return true
        }
    }
}
