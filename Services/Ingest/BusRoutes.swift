// The requests that ingest serves on the bus, and who handles them.

import Bus
import Contracts
import ServiceKit

struct IngestBusRoutes: Sendable {
    let devices: Devices
    let readings: Readings
    let manual: ManualEntries
    let streams: StreamSource
    let jobs: JobRoutes
    let answers: StoredAnswers

    var methods: Methods {
        var methods = Methods(memory: answers)
        methods.on(AddDevice.self) { try await devices.add($0, $1) }
        methods.on(RevokeDevice.self) { try await devices.revoke($0, $1) }
        methods.on(ReadLatest.self) { request, _ in try await readings.latest(request) }
        methods.on(RecordEntries.self) { try await manual.record($0, $1) }
        streams.register(in: &methods)
        jobs.register(in: &methods)
        return methods
    }
}
