// `trackme demo`: the whole path in under a minute, judged.

import ArgumentParser
import Contracts
import Foundation

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows, without any screen, how a failing heart becomes an acknowledged call, and judges it.",
        discussion: """
            Starts the suite and an emergency desk with a folder and ports of their own, plays a healthy and a failing heart through the \
            real door, prints the emergency's timeline, and ends with 0 only if the call was acknowledged less than 5 s after the first \
            critical entry, the desk's own ledger agrees, nobody was called for the healthy heart, and the audit chain is whole. \
            Then a person registers, pairs a wearable, uploads, looks, pauses, resumes and is erased. Less than a minute. With --running \
            it is played on the suite that runs already, whose desk's ledger must be readable here.

            Example: trackme demo
            Example: trackme demo --running --desk-ledger desk-ledger.jsonl

            \(ExitStatus.documentation)
            """)

    @Flag(help: "Show the lines of the services too.")
    var verbose = false
    @Flag(help: "Play on the suite that runs already, and start nothing.")
    var running = false
    @Option(help: ArgumentHelp("With --running: ingest or the edge.", valueName: "address"))
    var url = "http://127.0.0.1:8101"
    @Option(help: ArgumentHelp("With --running: consent or the edge.", valueName: "address"))
    var consentURL = "http://127.0.0.1:8103"
    @Option(help: ArgumentHelp("With --running: PEM file of the authority that vouches for an https server.", valueName: "file"))
    var ca: String?
    @Option(help: ArgumentHelp("With --running: the ledger of the desk that the suite calls.", valueName: "file"))
    var deskLedger = "desk-ledger.jsonl"
    @Option(
        help: ArgumentHelp(
            "Keep everything in this folder; default: a temporary one that is removed. With --running: the suite's folder.",
            valueName: "folder"))
    var data: String?

    func run() async throws {
        try await reportingErrors {
            if running { return try await playOnRunningSuite() }
            try await OwnDemoSuite.inFolder(data) { folder in
                try await OwnDemoSuite(folder: folder, verbose: verbose).run { try await DemoPlay(target: $0).run() }
            }
        }
    }

    private func playOnRunningSuite() async throws {
        let layout = SuiteLayout(data: data, environment: ProcessInfo.processInfo.environment)
        let deskLog = URL(fileURLWithPath: deskLedger)
        guard FileManager.default.isReadableFile(atPath: deskLog.path) else {
            throw OperatorError(
                .configuration, "the desk's ledger \(deskLog.path) cannot be read",
                mend: "start `trackme desk` first, and name its ledger with --desk-ledger")
        }
        let client = layout.clientFolder("demo-\(UInt32.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: client) }
        try await DemoPlay(
            target: DemoTarget(layout: layout, server: url, consent: consentURL, authorities: ca, deskLog: deskLog, client: client)
        ).run()
    }
}
