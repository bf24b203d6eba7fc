// Requests, data and files put together: for the gateway's assembly and for tests.

import Contracts
import HTTPKit
import Logging
import ServiceKit
import ServiceLifecycle
import Storage

/// What requests need of others: consent and ingest to ask, the gateway's other subjects in its transactions.
struct RequestNeighbours: Sendable {
    var questions: RequestQuestions
    var data: GrantedData
    var hooks: RequestHooks
    var admit: Admit
    /// Whether what consent says is known here now; nothing is handed out otherwise.
    var isConsentHeard: @Sendable () -> Bool
}

struct RequestParts: Sendable {
    let book: RequestBook
    let desk: RequestDesk
    let news: RequestNews
    let watchers: Watchers<OrganisationID>
    let custody: RequestCustody
    let data: DataDesk
    let files: DataFileDesk
    let ending: RequestEnding
    let erasure: ErasureSteps
    let routes: [Route]
    private let follower: Follower

    init(
        _ settings: RequestSettings, opened: OpenedStore, runtime: Runtime, neighbours: RequestNeighbours,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) throws {
        let (store, logger, hooks) = (opened.store, runtime.logger, neighbours.hooks)
        let vault = RequestVault(keys: opened.keys, serviceKey: try runtime.key("requests"))
        let sealedFiles = SealedFiles(in: runtime.settings.storeFolder, named: "data-files")
        // Event streams that one organisation may have open.
        let watchers = Watchers<OrganisationID>(limit: 20)
        let fileTable = DataFileTable()
        let news = RequestNews(
            table: RequestTable(), files: fileTable, hooks: hooks, keys: opened.keys, watchers: watchers,
            origin: runtime.settings.publicOrigin, clock: clock)
        let custody = RequestCustody(store: store, keys: opened.keys, vault: vault, logger: logger)
        let desk = RequestDesk(
            store: store, vault: vault, news: news, hooks: hooks, questions: neighbours.questions, custody: custody, logger: logger,
            clock: clock)
        let data = DataDesk(store: store, data: neighbours.data, hooks: hooks, clock: clock)
        let files = DataFileDesk(
            store: store, keys: opened.keys, files: sealedFiles, data: data, isConsentHeard: neighbours.isConsentHeard, settings: settings,
            logger: logger, clock: clock)
        let book = RequestBook(store: store, vault: vault)
        let firstAnswers = FirstAnswers<JobID>(secret: try runtime.key("answers"))
        let keeper = RequestFileKeeper(sealedFiles: sealedFiles) {
            try await store.read { db in try fileTable.withFiles(db) }
        }
        erasure =
            RequestErasure(table: RequestTable(), files: fileTable, custody: custody, keeper: keeper, memory: data.memory).steps
        routes =
            RequestRoutes(book: book, desk: desk, watchers: watchers, firstAnswers: firstAnswers, admit: neighbours.admit).all
            + RequestListRoutes(store: store, desk: desk, firstAnswers: firstAnswers, admit: neighbours.admit).all
            + DataRoutes(desk: data, admit: neighbours.admit).all
            + DataFileRoutes(desk: files, data: data, admit: neighbours.admit).all
        follower = Follower(
            family: .requests, on: runtime, store: store, apply: { db, event in try news.apply(db, event) }, snapshot: news.snapshot,
            after: { _ in
                // Somebody may have been named, and files may have to go.
                custody.wake()
                files.wake()
            })
        ending = RequestEnding(store: store, desk: desk, settings: settings, logger: logger, clock: clock)
        (self.book, self.desk, self.news, self.watchers, self.custody) = (book, desk, news, watchers, custody)
        (self.data, self.files) = (data, files)
    }

    var services: [any Service] {
        [
            Background(follower.run), Background(desk.run), Background(custody.run), Background(files.run), Background(ending.run),
        ]
    }
}
