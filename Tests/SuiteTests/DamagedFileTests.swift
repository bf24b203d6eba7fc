// Flipped bytes in the files of every service: it starts and serves the rest, or says which file, why, and what to do. It never traps, and
// never goes on under another key.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit
import Testing

@testable import Consent
@testable import Ingest
@testable import Notifier
@testable import Operator
@testable import SOSDispatcher
@testable import ServiceKit
@testable import ThirdPartyGateway

/// `TRACKME_FLIPS` bytes of each file's head and as many anywhere else in it; `all` takes each of the first 200 and 1,000 random ones.
private enum FlipPlan {
    static let head = 200
    private static let wanted = ProcessInfo.processInfo.environment["TRACKME_FLIPS"]
    static let seed = ProcessInfo.processInfo.environment["TRACKME_FLIP_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: .min ... .max)

    /// Unless told, few: each is a start of a service.
    static func offsets(of size: Int, _ generator: inout SeededGenerator) -> [Int] {
        guard wanted != "all" else {
            return Array(0..<min(head, size)) + (0..<1000).map { _ in Int.random(in: 0..<size, using: &generator) }
        }
        let usual = size > head ? 2 : 0
        let count = wanted.flatMap { Int($0) } ?? usual
        return (0..<max(1, count)).map { _ in Int.random(in: 0..<min(head, size), using: &generator) }
            + (0..<count).map { _ in Int.random(in: 0..<size, using: &generator) }
    }
}

@Suite("Damaged files", .serialized, .timeLimit(.minutes(600)))
struct DamagedFileTests {
    private typealias Start = @Sendable (SuiteLayout, Int) async throws -> (services: [any Service], runtime: Runtime)

    private static let services: [(peer: Peer, start: Start)] = [
        (.ingest, { try await start(IngestAssembly.self, $0, $1) }), (.consent, { try await start(ConsentAssembly.self, $0, $1) }),
        (.notifier, { try await start(NotifierAssembly.self, $0, $1) }),
        (.sosDispatcher, { try await start(SOSAssembly.self, $0, $1) }),
        (.thirdPartyGateway, { try await start(GatewayAssembly.self, $0, $1) }),
    ]
    private static let quiet = Logger(label: "flips") { _ in SwiftLogNoOpLogHandler() }

    private static func start<Built: Assembly>(
        _: Built.Type, _ layout: SuiteLayout, _ port: Int
    ) async throws -> (services: [any Service], runtime: Runtime) {
        var environment = layout.environment(of: Built.peer, httpPort: port)
        environment["TRACKME_SOS_CANARY"] = "false"
        var reader = SettingsReader(environment: environment)
        let suite = SuiteSettings(&reader, peer: Built.peer, httpPort: port)
        let own = Built.settings(&reader)
        // Damage that is found while it runs ends a process; here it ends the parts that meet it.
        var store = StoreSettings()
        store.onFatal = { _ in }
        let runtime = try Runtime(peer: Built.peer, settings: suite, logger: quiet, store: store)
        do {
            return (try await Built.build(own, on: runtime), runtime)
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
    }

    /// A suite with something in every store, closed.
    private static func fill(_ fixture: URL) async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.subscriber(bounds: ["heart-rate": Bounds(low: 60, high: nil)])
            for rate in [64.0, 55, 64, 63] { try await suite.beat(rate, from: watch) }
            _ = try await eventually("an alert") { try await suite.emergencies(of: watch).first }
            let client = PeopleClient(consent: suite.consent, ingest: suite.server, authorities: nil)
            let person = DemoPerson.random()
            let terms = try await client.call("GET", .consent, "/consent/v1/terms").expecting(200, "terms").text("version") ?? ""
            _ = try await client.call("POST", .consent, "/consent/v1/accounts", body: person.form(acceptedTerms: terms))
                .expecting(201, "registering")
            for (peer, _) in services {
                let folder = fixture.appendingPathComponent(peer.name)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                for name in ["\(peer).db", "\(peer)-keys.db"] {
                    let source = suite.layout.data.appendingPathComponent("\(peer)/\(name)")
                    try await DatabaseQueue(path: source.path).vacuum(into: folder.appendingPathComponent(name).path)
                }
            }
            try FileManager.default.copyItem(at: suite.layout.keysFolder, to: fixture.appendingPathComponent("keys"))
        }
    }

    /// What an operator reads where the service does not start or does not go on; nil where it is ready.
    private static func refusal(of start: Start, in folder: URL) async throws -> String? {
        let layout = SuiteLayout(data: folder.path, environment: [:])
        let port = try FreePorts.find(1)[0]
        do {
            let (services, runtime) = try await start(layout, port)
            let group = ServiceGroup(services: services, logger: quiet)
            let running = Task { try await group.run() }
            let isOver = Mutex(false)
            let watching = Task {
                _ = await running.result
                isOver.withLock { $0 = true }
            }
            // A service alone may not become ready, as it waits for others; what is wrong with its files it says long before.
            let deadline = ContinuousClock.now + .milliseconds(400)
            while !isOver.withLock({ $0 }), ContinuousClock.now < deadline, await !Readiness().isReady(port: port) {
                // Until it serves or is over, whichever comes first; the deadline bounds it.
                try await Task.sleep(for: .milliseconds(5))
            }
            await group.triggerGracefulShutdown()
            let result = await running.result
            await watching.value
            await runtime.bus.shutdown()
            try result.get()
            return nil
        } catch {
            return StartRefusal.text(error, folder: folder)
        }
    }

    @Test("X16: a flipped byte anywhere in a store, its keys or a key file never traps, and what stops a start names file, cause and mend")
    func flips() async throws {
        FlipPlan.tell("TRACKME_FLIP_SEED=\(FlipPlan.seed)")
        var generator = SeededGenerator(seed: FlipPlan.seed)
        try await withTemporaryFolder { fixture in
            try await Self.fill(fixture)
            for (peer, start) in Self.services {
                let secrets = try FileManager.default.contentsOfDirectory(atPath: fixture.appendingPathComponent("keys/\(peer)").path)
                let files = ["\(peer)/\(peer).db", "\(peer)/\(peer)-keys.db"] + secrets.sorted().map { "keys/\(peer)/\($0)" }
                for file in files {
                    let whole = try Data(contentsOf: fixture.appendingPathComponent(file))
                    var (served, stopped) = (0, 0)
                    for offset in FlipPlan.offsets(of: whole.count, &generator) {
                        var bytes = whole
                        let flip = UInt8.random(in: 1...255, using: &generator)
                        bytes[offset] ^= flip
                        let place = "\(file) byte \(offset) ^ \(flip)"
                        let text = try await withTemporaryFolder { folder in
                            for part in [peer.name, "keys"] {
                                try FileManager.default.copyItem(
                                    at: fixture.appendingPathComponent(part), to: folder.appendingPathComponent(part))
                            }
                            let handle = try FileHandle(forWritingTo: folder.appendingPathComponent(file))
                            try handle.seek(toOffset: UInt64(offset))
                            try handle.write(contentsOf: bytes[offset...offset])
                            try handle.close()
                            FlipPlan.tell(place)
                            let text = try await Self.refusal(of: start, in: folder)
                            if let text {
                                #expect(text.contains(folder.path), "\(place): \(text)")
                                #expect(
                                    text.range(of: "restore|put |start |rotate", options: [.regularExpression, .caseInsensitive]) != nil,
                                    "\(place): \(text)")
                            }
                            return text
                        }
                        if text == nil { served += 1 } else { stopped += 1 }
                    }
                    FlipPlan.tell("\(file): \(served) served the rest, \(stopped) stopped")
                }
            }
        }
    }
}

extension FlipPlan {
    /// At once, since a trap would take with it what is not written yet: the last line names the byte.
    fileprivate static func tell(_ line: String) {
        FileHandle.standardError.write(Data("X16: \(line)\n".utf8))
    }
}
