// The doors of sharing on the bus: what organisations ask through their gateway.

import Bus
import Contracts

struct SharingBusRoutes: Sendable {
    let service: SharingService

    func register(in methods: inout Methods) {
        methods.on(OpenRequest.self) { try await service.open($0, $1) }
        methods.on(ReadRequest.self) { asked, _ in try await service.read(asked) }
        methods.on(EndRequest.self) { try await service.end($0, $1) }
    }
}
