// A peer's runtime for the tests of this folder: its store, bus and keys in one folder, shared by all peers of a test.

import Contracts
import Foundation
import Logging

@testable import ServiceKit
import Storage

extension Runtime {
    /// - Parameter folder: a short path, since sockets lie in it.
    /// - Parameter onFatal: instead of the end of the process.
    static func test(_ peer: Peer, in folder: URL, onFatal: (@Sendable (Int32) -> Void)? = nil) throws -> Runtime {
        var store = StoreSettings()
        store.onFatal = onFatal ?? store.onFatal
        var reader = SettingsReader(environment: [
            "TRACKME_STORE_DIRECTORY": folder.appendingPathComponent(peer.name).path,
            "TRACKME_BUS_DIRECTORY": folder.appendingPathComponent("b").path,
            "TRACKME_BUS_KEYS": folder.appendingPathComponent("k").path,
        ])
        return try Runtime(
            peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0),
            logger: Logger(label: peer.name) { _ in SwiftLogNoOpLogHandler() }, store: store)
    }
}
