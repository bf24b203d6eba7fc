// `trackme watch`: one service under the same watch as the whole suite has under `trackme up`, for containers.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs one service, and starts it again when it ends or hangs. For containers.",
        discussion: """
            No health check of a container engine starts anything again: this does, within the container. A service that ends is started \
            again at once; one that sends no heartbeat for a second is killed and started again. What the service writes is passed on to \
            standard error. SIGTERM stops the service, and then this.

            Example: trackme watch /usr/local/bin/service

            \(ExitStatus.documentation)
            """)

    @Argument(help: "The service's executable.", completion: .file())
    var executable: String

    @Argument(parsing: .allUnrecognized, help: ArgumentHelp("What it is given, such as --new.", valueName: "argument"))
    var arguments: [String] = []

    func run() async throws {
        try await reportingErrors {
            let folder = try Watch.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let part = SupervisedPart(
                name: URL(fileURLWithPath: executable).lastPathComponent,
                command: ChildCommand(
                    executable: executable, arguments: arguments, environment: ProcessInfo.processInfo.environment),
                heartbeat: folder.appendingPathComponent("heartbeat").path)
            let supervisor = Supervisor([part]) { _, line in
                Console.shared.complain(line)
            } notice: { notice in
                for text in SupervisorScreen.words(notice) { Console.shared.complain(Watch.logLine(text)) }
            }
            let status = await supervisor.runUntilInterrupted()
            if status != .ok { throw status.code }
        }
    }

    /// Of this process alone, in the folder for temporary files.
    private static func makeFolder() throws -> URL {
        var path = FileManager.default.temporaryDirectory.appendingPathComponent("trackme-XXXXXX").path.utf8CString.map { $0 }
        guard mkdtemp(&path) != nil else {
            throw OperatorError(
                .configuration, "no folder for the heartbeats: \(String(cString: strerror(errno)))",
                mend: "make /tmp writable, or set TMPDIR")
        }
        return URL(fileURLWithPath: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self), isDirectory: true)
    }

    /// As a service's own log lines, since both stand in one log.
    private static func logLine(_ text: String) -> String {
        struct Line: Encodable {
            var time: String
            var level = "warning"
            var service = "watch"
            var message: String
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = Line(time: Timestamp.now.rfc3339, message: text)
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? text
    }
}
