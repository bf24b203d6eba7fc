// Flipped bytes in the files of every service: it starts and serves the rest, or says which file, why, and what to do. It never traps, and
// never goes on under another key.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit
import Testing

@testable import Anonymiser
@testable import Consent
@testable import Ingest
@testable import Notifier
@testable import Operator
@testable import SOSDispatcher
@testable import ServiceKit
@testable import ThirdPartyGateway

/// `TRACKME_FLIPS` bytes of each file's head and as many anywhere else in it; `all` takes each of the first 200 and 1,000 random ones.
/// `TRACKME_FLIP_FILES` is a pattern of services and files, such as `^ingest .*\.db$`; `TRACKME_FLIP_SEED` repeats a run.
private enum FlipPlan {
    static let head = 200
    private static let wanted = ProcessInfo.processInfo.environment["TRACKME_FLIPS"]
    private static let files = ProcessInfo.processInfo.environment["TRACKME_FLIP_FILES"]

    /// Whether the service and this file of its are wanted.
    static func holds(_ peer: Peer, _ file: String) -> Bool {
        files.map { "\(peer) \(file)".range(of: $0, options: .regularExpression) != nil } ?? true
    }

    static let seed = ProcessInfo.processInfo.environment["TRACKME_FLIP_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: .min ... .max)

    /// Unless told, few: each is a start of a service.
    static func offsets(of size: Int, _ generator: inout SeededGenerator) -> [Int] {
        guard wanted != "all" else {
            // Of a file that is no longer than a head, the random ones would be the same again.
            return Array(0..<min(head, size)) + (size > head ? (0..<1000).map { _ in Int.random(in: 0..<size, using: &generator) } : [])
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
        (.sosDeputy, { try await start(SOSAssembly.self, as: .sosDeputy, $0, $1) }),
        (.thirdPartyGateway, { try await start(GatewayAssembly.self, $0, $1) }),
        (.anonymiser, { try await start(AnonymiserAssembly.self, $0, $1) }),
    ]
    /// Starts at once: most of each is waiting.
    private static let width = 6
    private static let quiet = Running.quiet

    private static func start<Built: Assembly>(
        _: Built.Type, as peer: Peer = Built.peer, _ layout: SuiteLayout, _ port: Int
    ) async throws -> (services: [any Service], runtime: Runtime) {
        var environment = layout.environment(of: peer, httpPort: port)
        environment["TRACKME_SOS_CANARY"] = "false"
        // Nobody is there; its secret is read.
        environment["TRACKME_SOS_HEARTBEAT_URL"] = "http://127.0.0.1:9/"
        var reader = SettingsReader(environment: environment)
        let suite = SuiteSettings(&reader, peer: peer, httpPort: port)
        let own = Built.settings(&reader)
        // Damage that is found while it runs ends a process; here it ends the parts that meet it.
        var store = StoreSettings()
        store.onFatal = { _ in }
        let runtime = try Runtime(peer: peer, settings: suite, logger: quiet, store: store)
        do {
            return (try await Built.build(own, on: runtime), runtime)
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
    }

    /// A suite with something in every store, closed; each service has started once.
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
            for (peer, _) in services where peer.deputyOf == nil {
                let folder = fixture.appendingPathComponent(peer.name)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let own = suite.layout.data.appendingPathComponent(peer.name)
                let stores = try FileManager.default.contentsOfDirectory(atPath: own.path).filter { $0.hasSuffix(".db") }
                for name in stores {
                    try await DatabaseQueue(path: own.appendingPathComponent(name).path)
                        .vacuum(into: folder.appendingPathComponent(name).path)
                }
                let life = "\(peer).life"
                if FileManager.default.fileExists(atPath: own.appendingPathComponent(life).path) {
                    try FileManager.default.copyItem(at: own.appendingPathComponent(life), to: folder.appendingPathComponent(life))
                }
            }
            try FileManager.default.copyItem(at: suite.layout.keysFolder, to: fixture.appendingPathComponent("keys"))
        }
        // The story has one dispatcher; the other one makes its files here.
        #expect(try await refusal(of: { try await start(SOSAssembly.self, as: .sosDeputy, $0, $1) }, in: fixture) == nil)
    }

    /// What a service reads at its start, by the paths in the suite's folder: its store, its keys, its mark of life, its secrets, those that
    /// it shares, and what it knows of others.
    private static func files(of peer: Peer, in fixture: URL) throws -> [String] {
        func names(_ folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: fixture.appendingPathComponent(folder).path).sorted().map {
                "\(folder)/\($0)"
            }
        }
        let isOwn = { (file: String) in [".db", ".life"].contains { file.hasSuffix($0) } }
        let shared = peer.deputyOf.map { first in sharedByDispatchers.map { "keys/\(first)/\($0)" } } ?? []
        // A dispatcher knows all the others that anybody knows.
        let known = try peer == .sosDispatcher ? names("keys/public") : ["keys/public/\(peer).json"]
        return try names(peer.name).filter(isOwn) + names("keys/\(peer)") + shared + known
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
                for file in try Self.files(of: peer, in: fixture) where FlipPlan.holds(peer, file) {
                    let whole = try Data(contentsOf: fixture.appendingPathComponent(file))
                    let flips = FlipPlan.offsets(of: whole.count, &generator).map { offset in
                        Flip(file: file, offset: offset, by: UInt8.random(in: 1...255, using: &generator))
                    }
                    var (served, stopped) = (0, 0)
                    try await withThrowingTaskGroup(of: Bool.self) { group in
                        for (place, flip) in flips.enumerated() {
                            if place >= Self.width, let isServed = try await group.next() {
                                if isServed { served += 1 } else { stopped += 1 }
                            }
                            group.addTask { try await Self.serves(flip, peer, start, fixture) }
                        }
                        for try await isServed in group { if isServed { served += 1 } else { stopped += 1 } }
                    }
                    FlipPlan.tell("\(peer) with \(file): \(served) served the rest, \(stopped) stopped")
                }
            }
        }
    }

    private struct Flip: CustomStringConvertible {
        let file: String
        let offset: Int
        let by: UInt8

        var description: String { "\(file) byte \(offset) ^ \(by)" }

        /// Data lie under it: the file of a key of 32 bytes.
        var isOfDataKey: Bool { [".kek", ".key", ".seed"].contains { file.hasSuffix($0) } }
    }

    /// Whether the service serves the rest with this byte flipped in a copy of the suite's files.
    private static func serves(_ flip: Flip, _ peer: Peer, _ start: Start, _ fixture: URL) async throws -> Bool {
        try await withTemporaryFolder { folder in
            for part in [peer.name, "keys"] {
                try FileManager.default.copyItem(at: fixture.appendingPathComponent(part), to: folder.appendingPathComponent(part))
            }
            let file = folder.appendingPathComponent(flip.file)
            let before = try Data(contentsOf: file)
            var after = before
            after[after.startIndex + flip.offset] ^= flip.by
            let handle = try FileHandle(forWritingTo: file)
            try handle.seek(toOffset: UInt64(flip.offset))
            try handle.write(contentsOf: after[flip.offset...flip.offset])
            try handle.close()
            FlipPlan.tell("\(peer): \(flip)")
            let text = try await refusal(of: start, in: folder)
            if let text {
                #expect(text.contains(flip.file.hasPrefix("keys/") ? file.path : folder.path), "\(flip): \(text)")
                #expect(
                    text.range(of: "restore|put |start |rotate", options: [.regularExpression, .caseInsensitive]) != nil,
                    "\(flip): \(text)")
            } else if flip.isOfDataKey, flip.file.hasPrefix("keys/\(peer)/"), !sharedByDispatchers.contains(file.lastPathComponent) {
                // Of what both dispatchers share the copy stands in, as `SharedSecretTests` show.
                #expect(secret(before) == secret(after), "\(flip): it serves under another key")
            }
            return text == nil
        }
    }

    /// Of the first dispatcher's folder, what the other one goes by as well.
    private static let sharedByDispatchers = [
        "emergency-identity.key", "signing.seed", "capabilities.key", "webhook.secret", "heartbeat.secret", "integrator.token",
    ]

    /// White space around it, and the case of its digits, make no other key.
    private static func secret(_ file: Data) -> [UInt8]? {
        String(data: file, encoding: .utf8).flatMap { Hex.decode($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }
}

extension FlipPlan {
    /// At once, since a trap would take with it what is not written yet: the last line names the byte.
    fileprivate static func tell(_ line: String) {
        FileHandle.standardError.write(Data("X16: \(line)\n".utf8))
    }
}
