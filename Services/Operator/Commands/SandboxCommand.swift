// `trackme sandbox`: everything that a third party's developer needs to try the interface.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

struct Sandbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Gives a third party's developer a client, and a synthetic person who accepts everything.",
        discussion: """
            Makes, through the doors that everybody uses, a person who exists nowhere (her fiscal code begins with SNTPRV), a wearable with \
            some days of synthetic data, an organisation that is confirmed, and an API client with every right but the management of the \
            organisation. Prints what a program needs as lines for a shell (or JSON) on standard output, everything else on standard error. \
            Then it stays: the wearable measures every second, and the person accepts each request within seconds, until Ctrl-C.

            Without --running it starts a suite of its own, with a price list, play money in place of a payment handler, and webhooks to \
            addresses of this machine; it is gone afterwards. With --running it plays on the suite of --data; the accounts that it makes \
            stay there, and prices and ways of paying are that suite's.

            Example: trackme sandbox > sandbox.env      # then, in another terminal: source sandbox.env
            Example: trackme sandbox --running --data var --json

            docs/third-parties/README.md goes on from there: ten minutes with curl.

            \(ExitStatus.documentation)
            """)

    @Flag(help: "Play on the suite that runs already, and start nothing.")
    var running = false
    @Option(help: ArgumentHelp("With --running: ingest or the edge; default: the suite's own port.", valueName: "address"))
    var url: String?
    @Option(help: ArgumentHelp("With --running: consent or the edge; likewise.", valueName: "address"))
    var consentURL: String?
    @Option(help: ArgumentHelp("With --running: the third parties' gateway or the edge; likewise.", valueName: "address"))
    var gatewayURL: String?
    @Option(help: ArgumentHelp("With --running: PEM file of the authority that vouches for an https server.", valueName: "file"))
    var ca: String?
    @Option(
        help: ArgumentHelp(
            "Keep everything in this folder; default: a temporary one that is removed. With --running: the suite's folder.",
            valueName: "folder"))
    var data: String?
    @Option(
        help: ArgumentHelp(
            "Without --running: the first of the \(OwnDemoSuite.portCount) ports in a row that it takes; default: any that are free.",
            valueName: "port"))
    var firstPort: Int?
    @Option(help: "Days of the past that have data.")
    var days = 3
    @Flag(help: "End after the first request that was accepted.")
    var once = false
    @Flag(help: "Print one JSON object.")
    var json = false
    @Flag(help: "Show the lines of the services too.")
    var verbose = false

    static let daysMost = 60

    func validate() throws {
        guard (1...Self.daysMost).contains(days) else { throw ValidationError("--days is 1 to \(Self.daysMost)") }
        guard let firstPort else { return }
        guard !running else { throw ValidationError("--first-port is for a suite of its own, without --running") }
        guard OwnDemoSuite.firstPorts.contains(firstPort) else {
            throw ValidationError("--first-port is \(OwnDemoSuite.firstPorts.lowerBound) to \(OwnDemoSuite.firstPorts.upperBound)")
        }
    }

    func run() async throws {
        try await reportingErrors {
            if running { return try await play(runningPlace) }
            try await OwnDemoSuite.inFolder(data, called: "sandbox") { folder in
                let suite = OwnDemoSuite(
                    folder: folder, verbose: verbose, firstPort: firstPort, settings: Self.ownSettings, say: { Self.say($0) })
                try await suite.run { target in
                    _ = try await SuiteConnection.with(target.layout) { try await $0.ask(SetPrices(prices: Self.ownPrices)) }
                    try await play(
                        SandboxPlace(layout: target.layout, ingest: target.server, consent: target.consent, gateway: target.gateway))
                }
            }
        }
    }

    private var runningPlace: SandboxPlace {
        let layout = SuiteLayout(data: data, environment: ProcessInfo.processInfo.environment)
        let ports = SuitePorts.usual.orThose(in: layout.portsFile)
        return SandboxPlace(
            layout: layout, ingest: url ?? "http://127.0.0.1:\(ports.ingestPort)",
            consent: consentURL ?? "http://127.0.0.1:\(ports.consentPort)",
            gateway: gatewayURL ?? "http://127.0.0.1:\(ports.gatewayPort)", authorities: ca)
    }

    private func play(_ place: SandboxPlace) async throws {
        let (kit, host, wearable) = try await SandboxFounding(place: place, say: Self.say).found(days: days)
        if json {
            try Console.shared.json(kit)
        } else {
            kit.exports.forEach { Console.shared.line($0) }
        }
        Self.say("ready: \(SandboxPerson.name) accepts whatever she is asked" + (once ? ", once" : "; Ctrl-C ends it"))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await Interrupt.wait() }
            group.addTask { try? await host.accept(once: once) }
            group.addTask {
                var worn = wearable
                try? await worn.live()
            }
            await group.next()
            group.cancelAll()
        }
        Self.say("the sandbox ends")
    }

    /// On standard error: standard output is for a shell.
    private static func say(_ text: String) {
        Console.shared.complain("\(Timestamp.now.rfc3339.dropFirst(11))  \(text)")
    }

    private static let ownSettings = [
        "TRACKME_PAY_SANDBOX": "true", "TRACKME_ORG_WEBHOOK_PRIVATE": "true",
        // Enough for groups of more than 1000, and made up in seconds.
        "TRACKME_ANO_SYNTHETIC_PEOPLE": "5000", "TRACKME_ANO_SYNTHETIC_DAYS": "3",
        "TRACKME_ANO_SYNTHETIC_LIVE": "true",
    ]
    /// 5.00 EUR a request and some cents a day, and 10.00 EUR a group, so that paying can be tried too.
    private static let ownPrices = PriceList(
        currency: "EUR", perRequest: 500, usual: .init(seconds: 20, minutes: 10, hours: 5), taxBasisPoints: 2200,
        groups: .init(perRequest: 1000, perThousandEntries: 10))
}
