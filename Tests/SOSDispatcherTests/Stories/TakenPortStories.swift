// A dispatcher whose port another process has, and which has to end: whoever starts it again must not wait for what hangs.

import Bus
import Contracts
import Foundation
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("A dispatcher whose port is taken", .timeLimit(.minutes(2)))
struct TakenPortStories {
    private struct BrokenModule: Error {}

    @Test(
        "SOS-28: a dispatcher whose port was taken lived on half dead once a module had failed, with heartbeats and a closed store, since its test emergency waited for the port for ever: all modules end"
    )
    func endsWhole() async throws {
        let other = try Loopback.listening()
        defer { close(other.descriptor) }
        try await Stage.play { stage in
            let built = try await stage.built(["TRACKME_SOS_CANARY": "true", "TRACKME_HTTP_PORT": "\(other.port)"])
            let fails = WakeUpSignal()
            let failing = Background {
                await fails.wait(atMost: .seconds(60))
                throw BrokenModule()
            }
            let log = RecordingLog()
            let modules = ModuleGroup([failing as any Service] + built.parts.services, folder: stage.folder, logger: log.logger)
            let outcome = Mutex<String?>(nil)
            Task {
                do {
                    try await modules.run()
                    outcome.withLock { $0 = "no failure" }
                } catch {
                    outcome.withLock { $0 = "\(error)" }
                }
            }
            // Its row is the last that it writes before it waits for the port.
            try await eventually("the test emergency is about to wait for the port") {
                try await built.parts.store.store.read { try CanaryStore().load($0)?.person } != nil
            }
            fails.notify()
            let ended = try await eventually("all modules end") { outcome.withLock { $0 } }
            #expect(ended == "\(BrokenModule())")
            #expect(log.lines.contains { $0.contains("a module of the service failed") && $0.contains("BrokenModule") })
            await built.runtime.bus.shutdown()
        }
    }
}
