// The doors of consent on the bus: each subject answers its own questions; one source answers for all streams.

import Bus
import Contracts
import ServiceKit
import Storage

struct ConsentBusRoutes: Sendable {
    let logIns: LogInModule
    let sharing: SharingModule
    let erasure: ErasureModule
    let organisations: OrganisationAccounts
    let cards: EmergencyCardStore
    let streams: StreamSource
    let jobs: JobRoutes
    let answers: StoredAnswers

    var methods: Methods {
        var methods = Methods(memory: answers)
        logIns.register(in: &methods)
        sharing.register(in: &methods)
        erasure.register(in: &methods)
        organisations.register(in: &methods)
        cards.register(in: &methods)
        streams.register(in: &methods)
        jobs.register(in: &methods)
        return methods
    }
}

/// The facts of every state stream of consent, by the subject that keeps them.
struct ConsentStreams: Sendable {
    let accounts: AccountModule
    let logIns: LogInModule
    let sharing: SharingModule
    let erasure: ErasureModule
    let cards: EmergencyCardStore
    let cohorts: CohortProfileStore

    /// A row as it was published; nil where the person's key is gone.
    func render(_ row: StreamRow) throws -> [UInt8]? {
        if StreamFamily.emergencyCards.streams.contains(row.stream) { return try cards.render(row) }
        if StreamFamily.cohortProfiles.streams.contains(row.stream) { return try cohorts.render(row) }
        return SharingModule.families.contains { $0.streams.contains(row.stream) } ? try sharing.render(row) : row.body
    }

    /// One page of the facts that are true now.
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        if let reply = try await logIns.snapshot(asked) { return reply }
        if asked.stream == StreamFamily.erasuresStream { return try await erasure.repository.snapshot(asked) }
        if StreamFamily.emergencyCards.streams.contains(asked.stream) { return try await cards.snapshot(asked) }
        if StreamFamily.cohortProfiles.streams.contains(asked.stream) { return try await cohorts.snapshot(asked) }
        if StreamFamily.people.streams.contains(asked.stream) { return try await accounts.snapshot(asked) }
        return try await sharing.snapshot(asked)
    }
}
