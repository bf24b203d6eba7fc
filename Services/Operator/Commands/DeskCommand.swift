// `trackme desk`: the reference emergency desk.

import ArgumentParser
import Contracts
import Foundation
import HTTPKit
import Logging
import ServiceLifecycle

struct Desk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the reference emergency desk: receives, verifies, shows and acknowledges dispatches.",
        discussion: """
            Takes signed messages at http://127.0.0.1:8190/dispatch. The ledger (JSON lines, on the disk before the answer) holds time, \
            message id, SHA-256 of the bytes, whether it was verified, and the answer: no vital signs, no place. \
            A CAP 1.2 message is answered with a CAP Ack or Error. \
            Modes: \(DeskMode.words). All but accept are for trying what the suite does with desks that fail; lie answers a bare 200 or \
            a forged signature in turns, flaky refuses each first try, slow takes 1.5 s.

            Example: trackme desk --mode delay:5s --ledger desk.jsonl

            \(ExitStatus.documentation)
            """)

    static let port = 8190

    @Option(help: "Port on loopback; 0 takes a free one.")
    var port = Desk.port
    @Option(help: ArgumentHelp("Address to listen on.", valueName: "address"))
    var host = "127.0.0.1"
    @Option(help: ArgumentHelp("File with the secret shared with the suite; default: the one that the suite made.", valueName: "file"))
    var secretFile: String?
    @Option(help: ArgumentHelp("The suite's public key for v1a; default: the suite's own, where its keys are here.", valueName: "whpk_…"))
    var publicKey: String?
    @Option(help: ArgumentHelp("The desk's ledger.", valueName: "file"))
    var ledger = "desk-ledger.jsonl"
    @Option(help: ArgumentHelp("How it behaves: \(DeskMode.words).", valueName: "mode"))
    var mode = DeskMode.accept
    @Option(help: ArgumentHelp("Where delayed acknowledgements go.", valueName: "address"))
    var sos = "http://127.0.0.1:8102"
    @Option(help: ArgumentHelp("File with the bearer token of delayed acknowledgements; default: the suite's own.", valueName: "file"))
    var tokenFile: String?
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535") }
    }

    func run() async throws {
        try await reportingErrors {
            if port != 0 { try PortProbe.requireFree(port, at: host, option: "--port") }
            let desk = try DeskService(
                mode: mode, keys: DeskKeys.load(suite.layout, secretFile: secretFile, publicKey: publicKey),
                log: DeskLog(URL(fileURLWithPath: ledger)), show: { Console.shared.line($0) }, callBack: callBack())
            let server = desk.server(host: host, port: port)
            Task {
                let port = await server.boundPort
                Console.shared.complain("desk in mode \(mode) at http://\(host):\(port)\(DeskService.path), ledger \(ledger)")
            }
            let group = ServiceGroup(
                services: [server], logger: Logger(label: "trackme.desk") { _ in SwiftLogNoOpLogHandler() })
            let interrupted = Task {
                await Interrupt.wait()
                await group.triggerGracefulShutdown()
            }
            defer { interrupted.cancel() }
            do {
                try await group.run()
            } catch {
                throw OperatorError(.failed, "the desk cannot listen on \(host):\(port): \(error)", mend: "choose another --port")
            }
        }
    }

    private func callBack() throws -> @Sendable (String, DeskResponse) async -> Void {
        guard case .delay = mode else { return { _, _ in } }
        let token = try DeskCallBack.token(suite.layout, file: tokenFile)
        let callBack = DeskCallBack(suite: sos, token: token) { Console.shared.complain($0) }
        return { await callBack.deliver($0, $1) }
    }
}

extension DeskMode: ExpressibleByArgument {
    init?(argument: String) {
        self.init(argument)
    }

    var defaultValueDescription: String { description }
}
