// A peer's runtime for the tests of this folder: its store, bus and keys in one folder, shared by all peers of a test.

import Bus
import Contracts
import Foundation
import Logging
import TestKit
import Testing

@testable import ServiceKit
import Storage

extension Runtime {
    /// - Parameter folder: a short path, since sockets lie in it.
    /// - Parameter onFatal: instead of the end of the process.
    static func test(
        _ peer: Peer, in folder: URL, beginsAnew: Bool = false, logger: Logger = Running.quiet,
        onFatal: (@Sendable (Int32) -> Void)? = nil
    ) throws -> Runtime {
        var store = StoreSettings()
        store.onFatal = onFatal ?? store.onFatal
        var reader = SettingsReader(environment: [
            "TRACKME_STORE_DIRECTORY": folder.appendingPathComponent(peer.name).path,
            "TRACKME_BUS_DIRECTORY": folder.appendingPathComponent("b").path,
            "TRACKME_BUS_KEYS": folder.appendingPathComponent("k").path,
        ])
        return try Runtime(
            peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0), logger: logger, store: store,
            beginsAnew: beginsAnew)
    }
}

extension Runtime {
    /// Ends what runs on it, takes it off the bus and closes the store.
    func end(_ running: Task<Void, any Error>, closing store: Store) async {
        running.cancel()
        _ = try? await running.value
        await bus.shutdown()
        await store.close()
    }
}

/// How the peers are made between which `StreamsTests`, `FollowerTests` and `RestoredStreamTests` hold the promises of streams. A second
/// implementation is one more value here.
struct StreamUnderTest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// As `Runtime.test`.
    let runtime: @Sendable (_ peer: Peer, _ folder: URL, _ onFatal: (@Sendable (Int32) -> Void)?) throws -> Runtime

    static let zeroMQ = StreamUnderTest(testDescription: "ZeroMQ") { try Runtime.test($0, in: $1, onFatal: $2) }

    static let all = [zeroMQ]
}
