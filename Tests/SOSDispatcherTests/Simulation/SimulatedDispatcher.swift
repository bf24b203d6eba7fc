// A dispatcher of the simulated suite: the real one, whole, from its assembly, as a process that can be killed and started again.

import Contracts
import Foundation
import HTTPKit
import Logging
import Outbound
import ServiceKit
import ServiceLifecycle
import Storage

@testable import SOSDispatcher
@testable import Storage

/// One life of a dispatcher's process, and the files that it leaves behind.
final class SimulatedDispatcher {
    let role: PairRole
    /// Its jobs' owner in `VirtualTime`; 0 before the first start.
    private(set) var process = 0
    private(set) var parts: SOSModule?
    /// Where the files of this life are.
    private(set) var folder: URL
    private var lives = 0
    /// When it was killed, while it is down.
    var downSince: Int64?
    /// How many facts each stream of ingest had when it was killed.
    var headsAtEnd: [String: Int] = [:]
    /// Jobs since the beginning, of all its lives.
    var jobs = 0

    init(_ role: PairRole, files: URL) {
        (self.role, folder) = (role, files)
    }

    var isUp: Bool { parts != nil }

    /// Starts on a copy of the files as they are, so that whatever the last life still holds of them is not in the way.
    func start(in suite: SimulatedSuite) throws {
        lives += 1
        let fresh = suite.folder.appendingPathComponent("\(role)-\(lives)")
        try FileManager.default.copyItem(at: folder, to: fresh)
        folder = fresh
        let number = suite.time.newProcess()
        process = number
        let carried = Carried((suite, self))
        suite.time.enter(number) {
            Task {
                let (suite, dispatcher) = carried.value
                do {
                    let parts = try await SimulatedDispatcher.build(dispatcher.role, in: fresh, process: number, suite)
                    dispatcher.parts = parts
                    suite.started(dispatcher)
                    for service in parts.services where !(service is HTTPServer) { Task { try? await service.run() } }
                } catch {
                    suite.note("\(dispatcher.role) cannot start: \(error)")
                    suite.crash(number, for: 300)
                }
            }
        }
    }

    private static func build(_ role: PairRole, in folder: URL, process: Int, _ suite: SimulatedSuite) async throws -> SOSModule {
        var reader = SettingsReader(
            environment: [
                "TRACKME_STORE_DIRECTORY": folder.path, "TRACKME_BUS_DIRECTORY": suite.keys.path,
                "TRACKME_BUS_KEYS": try suite.keys(ofProcess: process).path,
                "TRACKME_SOS_CANARY": "false", "TRACKME_SOS_PLACE": role.rawValue,
            ])
        let settings = SuiteSettings(&reader, peer: role.peer, httpPort: 0)
        var own = SOSAssembly.settings(&reader)
        own.rules.normalBeforeClosing = .seconds(6)
        own.nextIntegrator = .seconds(10)
        var store = StoreSettings()
        store.disk = SimulatedDisk(suite, role, process: process)
        let carried = Carried(suite)
        // Not at once: SQLite is still at work when it is told.
        store.onFatal = { _ in carried.value.time.after(0) { carried.value.crash(process, for: 100) } }
        let runtime = try Runtime(
            peer: role.peer, settings: settings, logger: suite.logger(role), store: store,
            bus: suite.network.line(of: role.peer, process: process),
            outside: { await carried.value.carry($0, from: role, process) })
        return try await SOSModule(own, on: runtime)
    }

    /// The databases of another time; the mark of the store's life beside them stays, as no backup takes it.
    func putBack(_ copy: URL) throws {
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: folder.path) where !name.hasSuffix(".life") {
            try files.removeItem(at: folder.appendingPathComponent(name))
        }
        for name in try files.contentsOfDirectory(atPath: copy.path) where !name.hasSuffix(".life") {
            try files.copyItem(at: copy.appendingPathComponent(name), to: folder.appendingPathComponent(name))
        }
    }

    /// Nothing of it runs any more; what is in its files stays.
    func end() {
        guard let parts else { return }
        self.parts = nil
        parts.store.store.closeNow()
        // Its task is not the process's: that has none any more.
        Task { await parts.supervision.keys.close() }
    }
}
