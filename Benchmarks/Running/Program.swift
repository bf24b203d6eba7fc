// A process that is measured, or that measures.

import Dispatch
import Foundation
import Glibc
import Synchronization

/// Runs until it ends by itself or is stopped; whatever still runs when the benchmarks end is killed.
final class Program: Sendable {
    private static let running = Mutex<[Program]>([])

    private let process: Process
    /// Empty once the process has ended. `Process.waitUntilExit` would turn its run loop round and round for as long, and use as much
    /// of the machine as what is measured.
    private let lives = DispatchGroup()
    let name: String

    /// Finds `executable` by its path, or by its name in `PATH`. Output and errors go to `log`.
    init(_ executable: String, _ arguments: [String], environment: [String: String] = [:], log: URL) throws {
        process = Process()
        name = executable
        process.executableURL = URL(fileURLWithPath: try Self.find(executable))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if !FileManager.default.fileExists(atPath: log.path) { _ = FileManager.default.createFile(atPath: log.path, contents: nil) }
        let output = try FileHandle(forWritingTo: log)
        try output.seekToEnd()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        process.terminationHandler = { [lives] _ in lives.leave() }
        lives.enter()
        do {
            try Self.withSignals { [process] in try process.run() }
        } catch {
            lives.leave()
            throw error
        }
        Self.running.withLock { $0.append(self) }
    }

    /// What is started inherits the mask of the thread that starts it, and threads of tasks block all signals: pgbench would never be
    /// told by its alarm that the time is over.
    private static func withSignals(_ body: () throws -> Void) throws {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    /// Beside the benchmarks' own executable.
    static func own(_ name: String) -> String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
    }

    private static func find(_ executable: String) throws -> String {
        if executable.contains("/") {
            guard FileManager.default.isExecutableFile(atPath: executable) else {
                throw BenchmarkError("\(executable) is missing: swift build -c release")
            }
            return executable
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        for folder in path.split(separator: ":") where FileManager.default.isExecutableFile(atPath: "\(folder)/\(executable)") {
            return "\(folder)/\(executable)"
        }
        throw BenchmarkError("\(executable) is not installed: `make bench` installs it")
    }

    var id: Int32 { process.processIdentifier }

    func signal(_ number: Int32) {
        if process.isRunning { kill(id, number) }
    }

    /// Kills it, as a power cut would end it, and waits until it is gone.
    func kill9() {
        signal(SIGCONT)
        signal(SIGKILL)
        waitForEnd()
    }

    /// Its exit status.
    @discardableResult
    func waitForEnd() -> Int32 {
        lives.wait()
        Self.running.withLock { $0.removeAll { $0 === self } }
        return process.terminationStatus
    }

    /// What it has used so far, in steps of 10 ms.
    var processorTime: Duration {
        let text = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return .zero }
        return .milliseconds(10 * (user + system))
    }

    /// MB of memory that it holds; 0 once it has ended.
    var residentMegabytes: Double {
        let text = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0) * 1024 / 1_000_000
    }

    /// Runs a program to its end and gives what it wrote.
    static func output(_ executable: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let log = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: log) }
        let program = try Program(executable, arguments, environment: environment, log: log)
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: program.waitForEnd()) }
        }
        let text = try String(contentsOf: log, encoding: .utf8)
        guard status == 0 else { throw BenchmarkError("\(executable) failed (\(status)): \(text.suffix(500))") }
        return text
    }

    static func endAll() {
        for program in running.withLock({ $0 }) { program.kill9() }
    }

    /// Ctrl-C and SIGTERM leave nothing running, as long as what this returns is kept.
    static func endAllOnInterrupt() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            Glibc.signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { @Sendable in
                endAll()
                exit(130)
            }
            source.resume()
            return source
        }
    }
}

/// What stops a benchmark: words for the person who started it.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
