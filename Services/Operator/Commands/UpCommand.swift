// `trackme up`: the whole suite on this machine.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Starts all services and the edge on this machine, and keeps them running.",
        discussion: """
            Makes keys at the first start. A part that ends is started again at once, and so is a service that sends no heartbeat for a \
            second. One that refuses to start, with a damaged file or a wrong setting, says why and is tried again every half minute; the \
            others run without it, and only where none can start the suite ends with 78. Ctrl-C or SIGTERM stops the parts one after the other. Under systemd it says when the suite is ready and keeps its \
            watchdog content (deploy/systemd). Settings are TRACKME_ environment variables and are passed on. Emergency calls go to TRACKME_SOS_WEBHOOK_URL; where \
            that is not set, as exercises to `trackme desk` on this machine. Without caddy the services still answer on loopback; \
            --require-edge refuses that.

            Example: trackme up --data /srv/trackme

            \(ExitStatus.documentation)
            """)

    @Option(parsing: .upToNextOption, help: ArgumentHelp("Start only these parts: \(Up.names.joined(separator: ", ")).", valueName: "name"))
    var only: [String] = []
    @Flag(help: "Do not start without the edge.")
    var requireEdge = false
    @Flag(
        name: .customLong("new"),
        help: "Where a service's store or its keys are missing, set the rest aside and begin anew instead of refusing. For one start.")
    var beginsAnew = false
    @OptionGroup var ports: SuitePorts
    @OptionGroup var suite: SuiteOptions

    private static let names = ServiceExecutable.all().map(\.peer.name) + ["edge"]
    private static let referenceDesk = "http://127.0.0.1:\(Desk.port)\(DeskService.path)"

    private var webhook: String? { suite.layout.environment["TRACKME_SOS_WEBHOOK_URL"] }

    /// Nobody's ambulance is sent to a simulated heart: calls to the reference desk are marked as exercises.
    private var deskSettings: [String: String] {
        guard webhook == nil else { return [:] }
        let status = suite.layout.environment["TRACKME_SOS_MESSAGE_STATUS"] ?? "exercise"
        return ["TRACKME_SOS_WEBHOOK_URL": Up.referenceDesk, "TRACKME_SOS_MESSAGE_STATUS": status]
    }

    /// Reported before anything starts, instead of by a part that ends again and again.
    private func requireFreePorts() async throws {
        var (problems, mends): ([String], [String]) = ([], [])
        for (port, part, setting) in ports.all where only.isEmpty || only.contains(where: { part.hasPrefix($0) }) {
            let state = await PortProbe().state(of: port, isEdge: ports.isEdge(port))
            guard state != .free else { continue }
            let finding = Checks.port(port, of: part, state, setting: setting)
            problems.append("\(finding.subject): \(finding.detail)")
            mends.append(finding.mend.isEmpty ? "stop it first, or choose another port with \(setting)" : finding.mend)
        }
        guard problems.isEmpty else {
            throw OperatorError(.configuration, problems.joined(separator: "\n"), mend: mends.joined(separator: "\n  → "))
        }
    }

    func validate() throws {
        if let stranger = only.first(where: { !Up.names.contains($0) }) {
            throw ValidationError("there is no part \(stranger); there are \(Up.names.joined(separator: ", "))")
        }
    }

    func run() async throws {
        try await reportingErrors {
            try await requireFreePorts()
            let supervision = SuiteSupervision(
                layout: suite.layout, ports: ports, additional: deskSettings, only: only.isEmpty ? nil : Set(only),
                beginsAnew: beginsAnew)
            let parts = try supervision.parts()
            do {
                try ports.write(to: suite.layout.portsFile)
            } catch {
                // A full disk keeps nobody from starting.
                Console.shared.complain("other commands will look at the usual ports: \(FileTrouble.text(error) ?? "\(error)")")
            }
            let hasEdge = parts.contains { $0.name == "edge" }
            if !hasEdge, only.isEmpty || only.contains("edge") {
                let (fault, mend) =
                    Edge.program == nil
                    ? ("caddy is not installed", "apt-get install caddy")
                    : ("the edge cannot run", "see that this user may write \(suite.layout.edgeFolder.path)")
                if requireEdge { throw OperatorError(.configuration, fault, mend: mend) }
                Console.shared.complain("\(fault): no edge, services answer on loopback only\n  → \(mend)")
            }
            let screen = SupervisorScreen(
                layout: suite.layout, ports: ports, names: parts.map(\.name), hasEdge: hasEdge, calls: webhook ?? Up.referenceDesk)
            let heartbeat = Heartbeat(ProcessInfo.processInfo.environment)
            heartbeat?.begin()
            let refusals = SuiteRefusals(layout: suite.layout)
            let supervisor = Supervisor(parts, line: screen.line) { notice in
                if let state = refusals.received(notice) { heartbeat?.describe(state) }
                switch notice {
                // To systemd the suite has started when what can run runs: it would end one that never reports it.
                case .everythingIsReady, .readyWithout, .unready: heartbeat?.started()
                default: break
                }
                screen.notice(notice)
            }
            let status = await supervisor.runUntilInterrupted { heartbeat?.say(.stopping) }
            if status != .ok { throw status.code }
        }
    }
}
