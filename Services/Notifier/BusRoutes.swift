// The route on the bus: messages in, their states out.

import Bus
import Contracts

struct BusRoutes: Sendable {
    let service: MessageService

    func register(in methods: inout Methods) {
        methods.on(SendMessage.self) { try await service.take($0, $1) }
        methods.on(ReadMessage.self) { try await service.states($0, $1) }
    }
}
