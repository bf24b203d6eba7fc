// One child process: how it is started, how its output is read, how its end is noticed. Decides nothing.

import Dispatch
import Foundation
import Synchronization

/// What to run. The environment is the whole of it, not an addition.
struct ChildCommand: Sendable {
    var executable: String
    var arguments: [String] = []
    var environment: [String: String]
}

/// A running child. It has a process group of its own, so that Ctrl-C in a terminal reaches only the supervisor, which stops
/// the children in order; where util-linux's `setpriv` is there, it is asked to stop if the supervisor itself is killed.
final class ChildProcess: Sendable {
    /// Nil before it runs and after it was reaped: its number may by then belong to another process.
    private let running = Mutex<pid_t?>(nil)

    /// Longest line handed on; what is longer is cut into several.
    static let lineBytes = 16_384
    private static let lastLines = DispatchTimeInterval.milliseconds(20)

    /// Starts it. `line` gets its output and errors line by line; `exited` is called once, also where it could not be started.
    /// Both are called on threads of this child's own.
    init(
        _ command: ChildCommand, line: @escaping @Sendable (String) -> Void, exited: @escaping @Sendable (ChildStatus) -> Void
    ) {
        // The kernel sends the death signal when the thread that made the child ends, so this thread lives as long as the child.
        Thread.detachNewThread { [self] in
            let started = ChildProcess.start(ChildProcess.dyingWithParent(command))
            guard case .running(let child, let reading) = started else {
                if case .failed(let reason) = started { exited(.couldNotStart("\(command.executable): \(reason)")) }
                return
            }
            running.withLock { $0 = child }
            let read = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                ChildProcess.readLines(from: reading, into: line)
                read.signal()
            }
            let status = waitForEnd(of: child)
            // Its last lines are reported before its end, unless a grandchild keeps the pipe open.
            _ = read.wait(timeout: .now() + ChildProcess.lastLines)
            exited(status)
        }
    }

    /// Does nothing where it has already ended.
    func signal(_ number: Int32) {
        running.withLock { child in
            if let child { _ = kill(child, number) }
        }
    }

    var processID: Int32? { running.withLock { $0 } }

    /// What it has used of the processor since it was started; nil where that cannot be read.
    var processorTime: Duration? {
        guard let child = processID, let stat = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8) else { return nil }
        // After the name, which may hold anything: state, then ten numbers, then ticks of the process itself and of the kernel for it.
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
        guard fields.count > 13, let own = Int64(fields[12]), let kernel = Int64(fields[13]) else { return nil }
        return Duration.seconds(own + kernel) / sysconf(Int32(_SC_CLK_TCK))
    }

    private func waitForEnd(of child: pid_t) -> ChildStatus {
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        // From here its number is given back: nobody may signal it any more.
        return running.withLock { running in
            var status: Int32 = 0
            while waitpid(child, &status, 0) == -1, errno == EINTR {}
            running = nil
            let signal = status & 0x7F
            return signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
        }
    }

    private enum Start {
        case running(pid_t, output: Int32)
        case failed(String)
    }

    /// Between making a pipe and keeping it from other children no other child may be made.
    private static let oneAtATime = Mutex(())

    private static func start(_ command: ChildCommand) -> Start {
        oneAtATime.withLock { _ in
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { return .failed(String(cString: strerror(errno))) }
            ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
            let (child, failure) = spawn(command, output: ends[1])
            close(ends[1])
            guard let child else {
                close(ends[0])
                return .failed(String(cString: strerror(failure)))
            }
            return .running(child, output: ends[0])
        }
    }

    private static let setpriv: String? = ["/usr/bin/setpriv", "/bin/setpriv"].first { (path: String) in access(path, X_OK) == 0 }

    private static func dyingWithParent(_ command: ChildCommand) -> ChildCommand {
        guard let setpriv, access(command.executable, X_OK) == 0 else { return command }
        var wrapped = command
        wrapped.executable = setpriv
        wrapped.arguments = ["--pdeathsig", "TERM", "--", command.executable] + command.arguments
        return wrapped
    }

    private static func spawn(_ command: ChildCommand, output: Int32) -> (pid_t?, Int32) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, output, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var all = sigset_t()
        sigfillset(&all)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let arguments = ([command.executable] + command.arguments).map { strdup($0) } + [nil]
        let environment = command.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + environment).forEach { free($0) } }
        var child: pid_t = 0
        let failure = posix_spawn(&child, command.executable, &actions, &attributes, arguments, environment)
        return failure == 0 ? (child, 0) : (nil, failure)
    }

    private static func readLines(from descriptor: Int32, into line: @Sendable (String) -> Void) {
        defer { close(descriptor) }
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == -1, errno == EINTR { continue }
            guard count > 0 else { break }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? (rest.count > lineBytes ? lineBytes : nil) {
                line(String(decoding: rest[..<min(end, lineBytes)], as: UTF8.self))
                rest.removeFirst(end < lineBytes && rest[end] == UInt8(ascii: "\n") ? end + 1 : min(end, lineBytes))
            }
        }
        if !rest.isEmpty { line(String(decoding: rest, as: UTF8.self)) }
    }
}
