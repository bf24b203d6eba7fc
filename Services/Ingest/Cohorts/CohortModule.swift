// What is said for group data put together, for the service's assembly.

import Contracts
import ServiceKit
import Storage

struct CohortModule: Sendable {
    let people: CohortPeopleStore
    let events: CohortEventStore
    let closing: HourClosing

    /// - Parameter relay: of the family `ingest.cohort`.
    init(
        _ settings: IngestSettings, store: Store, vault: ChunkVault, epoch: String, relay: EventRelay, devices: DeviceModule,
        synthetic: SyntheticPeople, on runtime: Runtime
    ) {
        people = devices.sharing
        events = CohortEventStore(keys: vault.keys, people: people, epoch: epoch, relay: relay, logger: runtime.logger)
        closing = HourClosing(
            store: store, people: people,
            sums: HourSumStore(vault: vault, people: people, synthetic: synthetic, logger: runtime.logger), events: events,
            watermark: settings.cohortWatermark, silence: { [follower = devices.peopleFollower] in follower.silentFor },
            logger: runtime.logger)
    }
}
