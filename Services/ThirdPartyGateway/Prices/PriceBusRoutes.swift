// The doors of prices on the bus: what `trackme prices` asks.

import Bus
import Contracts
import ServiceKit
import Storage

struct PriceBusRoutes: Sendable {
    let store: Store
    let answers: StoredAnswers
    let clock: @Sendable () -> Timestamp
    private let table = PriceListStore()

    init(store: Store, answers: StoredAnswers, clock: @escaping @Sendable () -> Timestamp) {
        (self.store, self.answers, self.clock) = (store, answers, clock)
    }

    func register(in methods: inout Methods) {
        methods.on(ReadPrices.self) { _, _ in
            let current = try await store.read { [table] db in try table.current(db) }
            return Self.reply(current)
        }
        methods.on(SetPrices.self) { asked, context in
            let faults = asked.prices.faults
            guard faults.isEmpty else { throw Failure(.invalid, faults.joined(separator: "; ")) }
            return try await store.write { [self] db in
                let current = try table.current(db)
                // The same list again is the same version.
                let version =
                    current.version > 0 && current.prices == asked.prices ? current : try table.add(db, asked.prices, at: clock())
                let reply = Self.reply(version)
                try answers.remember(reply, to: context, in: db)
                return reply
            }
        }
    }

    private static func reply(_ version: PriceVersion) -> ReadPrices.Reply {
        ReadPrices.Reply(version: version.version, from: version.from, prices: version.prices)
    }
}
