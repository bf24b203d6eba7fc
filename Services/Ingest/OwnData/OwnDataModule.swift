// What lets people meet their own data, put together: by hand, as charts, as activities, out and in.

import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct OwnDataModule: Sendable {
    let manual: ManualEntries
    let charts: Charts
    let activities: Activities
    let transfers: Transfers
    let exports: Exports
    let imports: Imports
    let service: TransferService
    private let people: People
    let arrivals: Watchers<PersonID>

    init(
        _ settings: IngestSettings, uploads: Uploads, readings: Readings, people: People, registry: DeviceRegistry,
        answers: StoredAnswers, on runtime: Runtime
    ) {
        let (store, vault) = (uploads.store, uploads.vault)
        (self.people, arrivals) = (people, uploads.arrivals)
        manual = ManualEntries(uploads: uploads, people: people, registry: registry, answers: answers, settings: settings)
        charts = Charts(
            store: store, vault: vault, readings: readings, rules: settings.statistics, recent: settings.recent)
        activities = Activities(store: store, vault: vault, registry: registry)
        transfers = Transfers(store: store, vault: vault, files: SealedFiles(in: runtime.settings.storeFolder, named: "transfers"))
        exports = Exports(
            transfers: transfers, registry: registry, activities: activities, perDay: settings.exportsPerDay, kept: settings.exportsKept,
            cutAt: settings.exportFileMebibytes << 20)
        imports = Imports(transfers: transfers, uploads: uploads, people: people, registry: registry, activities: activities)
        service = TransferService(transfers: transfers, exports: exports, imports: imports, logger: runtime.logger)
    }

    func routes(_ settings: IngestSettings) -> [Route] {
        let rate = Double(settings.requestsPerSecond)
        return ManualEntryRoutes(entries: manual, limiter: RateLimiter(rate: rate, burst: rate)).all
            + ChartRoutes(charts: charts, activities: activities, people: people, arrivals: arrivals).all
            + ActivityRoutes(activities: activities, people: people, clockSkew: settings.clockSkew).all
            + ExportRoutes(exports: exports, people: people).all + ImportRoutes(imports: imports, people: people).all
    }
}
