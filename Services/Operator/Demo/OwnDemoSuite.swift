// A suite and a desk of the demo's own: started for it, with a folder and ports that nobody else uses, and stopped after it.

import Contracts
import Foundation
import HTTPKit
import Logging
import ServiceLifecycle
import Synchronization

struct OwnDemoSuite: Sendable {
    let folder: URL
    let verbose: Bool
    /// The first of its ports, which follow one another; nil takes any that are free.
    var firstPort: Int?
    /// Settings of the services beside the demo's own.
    var settings: [String: String] = [:]
    /// Where its progress is shown.
    var say: @Sendable (String) -> Void = { DemoPlay.say($0) }

    private static let startBound = Duration.seconds(20)
    /// Of the services and the desk.
    static let portCount = 8
    static let firstPorts = 1024...65_536 - portCount

    /// Gives `body` the named folder, or a temporary one that is removed when all went well.
    static func inFolder(_ name: String?, called: String = "demo", _ body: (URL) async throws -> Void) async throws {
        if let name { return try await body(URL(fileURLWithPath: name, isDirectory: true)) }
        let folder = URL(fileURLWithPath: "/tmp/trackme-\(called)-\(UInt32.random(in: 0 ... .max))", isDirectory: true)
        do {
            try await body(folder)
            try? FileManager.default.removeItem(at: folder)
        } catch {
            Console.shared.complain("what it left is in \(folder.path)")
            throw error
        }
    }

    func run(_ play: (DemoTarget) async throws -> Void) async throws {
        let found = try chosenPorts()
        let layout = SuiteLayout(data: folder.path, environment: ProcessInfo.processInfo.environment)
        var ports = SuitePorts()
        (ports.ingestPort, ports.sosPort, ports.consentPort, ports.notifierPort) = (found[0], found[1], found[3], found[4])
        (ports.sosDeputyPort, ports.gatewayPort, ports.anonymiserPort) = (found[5], found[6], found[7])
        let isReady = Mutex(false)
        let log = try DemoLog(folder.appendingPathComponent("services.log"), shown: verbose)
        let supervision = SuiteSupervision(
            layout: layout, ports: ports,
            additional: [
                "TRACKME_SOS_WEBHOOK_URL": "http://127.0.0.1:\(found[2])\(DeskService.path)", "TRACKME_SOS_MESSAGE_STATUS": "exercise",
                "TRACKME_HTTP_PUBLIC_ORIGIN": "http://127.0.0.1:\(ports.consentPort)",
                // The people who are made up here are Italian.
                "TRACKME_COUNTRY_CODE": Country.italy.code.rawValue, "TRACKME_COUNTRY_PLACES": "",
                // Nobody reads the mail of people who do not exist, or holds their authenticators.
                "TRACKME_ACC_CONFIRM_REQUIRED": "false", "TRACKME_ACC_SECOND_FACTOR": "offered",
            ].merging(settings) { $1 }, withEdge: false, withDeputy: false)
        let supervisor = Supervisor(try supervision.parts()) { name, line in
            log.line("\(name) | \(line)")
        } notice: { notice in
            if notice == .everythingIsReady { isReady.withLock { $0 = true } }
            log.line("\(notice)")
        }
        say("the suite starts in \(folder.path)")
        let suite = Task { await supervisor.run() }
        do {
            _ = try await DemoPlay.waiting("the suite was not ready", within: OwnDemoSuite.startBound) {
                isReady.withLock { $0 } ? true : nil
            }
            try await withDesk(layout, port: found[2]) { deskLog in
                try await play(
                    DemoTarget(
                        layout: layout, server: "http://127.0.0.1:\(ports.ingestPort)",
                        consent: "http://127.0.0.1:\(ports.consentPort)", gateway: "http://127.0.0.1:\(ports.gatewayPort)",
                        authorities: nil, deskLog: deskLog, client: layout.clientFolder("demo")))
            }
        } catch {
            supervisor.stop()
            _ = await suite.value
            log.showLast()
            throw error
        }
        supervisor.stop()
        guard await suite.value == .ok else {
            throw OperatorError(.failed, "the suite did not stop cleanly", mend: "its lines are in \(log.file.path)")
        }
        say("the suite stopped cleanly")
    }

    /// Those that were asked for, if nobody has any of them; else any.
    private func chosenPorts() throws -> [Int] {
        guard let firstPort else { return try FreePorts.find(Self.portCount) }
        let chosen = Array(firstPort..<firstPort + Self.portCount)
        for port in chosen { try PortProbe.requireFree(port, at: "127.0.0.1", option: "--first-port") }
        return chosen
    }

    /// A desk in this process; `body` gets the file of its log.
    private func withDesk(_ layout: SuiteLayout, port: Int, _ body: (URL) async throws -> Void) async throws {
        let log = try DeskLog(folder.appendingPathComponent("desk-ledger.jsonl"))
        let desk = DeskService(
            mode: .accept, keys: try DeskKeys.load(layout, secretFile: nil, publicKey: nil), log: log,
            show: { [say] in say("desk: \($0)") }, callBack: { _, _ in })
        let server = ServiceGroup(
            services: [desk.server(port: port)], logger: Logger(label: "trackme.demo") { _ in SwiftLogNoOpLogHandler() })
        let serving = Task { try await server.run() }
        defer { serving.cancel() }
        try await body(log.file)
        await server.triggerGracefulShutdown()
        try await serving.value
    }
}

/// The services' lines during the demo: in a file, on request also on the screen.
final class DemoLog: Sendable {
    let file: URL
    private let shown: Bool
    private let kept = Mutex<[String]>([])
    private let handle: FileHandle

    private static let lastLines = 30

    init(_ file: URL, shown: Bool) throws {
        (self.file, self.shown) = (file, shown)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw OperatorError(.configuration, "\(file.path) cannot be written", mend: "name a folder that you may write to with --data")
        }
        handle = try FileHandle(forWritingTo: file)
    }

    func line(_ text: String) {
        kept.withLock { lines in
            lines.append(text)
            if lines.count > DemoLog.lastLines { lines.removeFirst() }
            try? handle.write(contentsOf: Data((text + "\n").utf8))
        }
        if shown { Console.shared.complain(text) }
    }

    func showLast() {
        for line in kept.withLock({ $0 }) where !shown { Console.shared.complain(line) }
    }
}
