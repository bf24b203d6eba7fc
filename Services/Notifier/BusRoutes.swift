// The door on the bus: messages in, their states out.

import Bus
import Contracts

struct BusRoutes: Sendable {
    let desk: MessageDesk

    func register(in methods: inout Methods) {
        methods.on(SendMessage.self) { try await desk.take($0, $1) }
        methods.on(ReadMessage.self) { try await desk.states($0, $1) }
    }
}
