// Tells whoever started this process that it is alive, by the datagrams of systemd's `sd_notify`.

import Foundation
import Synchronization

/// The other end is systemd, `trackme up` or `trackme watch`: each names a socket in `NOTIFY_SOCKET`, and in `WATCHDOG_USEC` how long
/// silence may last. Beats leave from a thread of their own, five in that time. They stop while the process is halted, and while its
/// tasks are: a process whose tasks stand still answers nobody.
package final class Heartbeat: Sendable {
    /// What a process says of itself, as `sd_notify` spells it.
    package enum Message: String, Sendable {
        case ready = "READY=1"
        case alive = "WATCHDOG=1"
        case stopping = "STOPPING=1"
    }

    /// Runs its argument as the process runs its work.
    package typealias Pulse = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Tasks that have stood still for so long end the beats. Well above the longest that one task may keep a thread.
    static let taskBound = Duration.seconds(3)
    private static let beatsPerBound: Int64 = 5

    private struct Tasks {
        /// When they last ran; nil until the process has started: what a start opens and recovers may keep every thread.
        var ranAt: ContinuousClock.Instant?
        var isAsked = false
    }

    private let path: String
    private let socket: Int32
    /// Nil where nobody waits for beats.
    private let interval: Duration?
    private let taskBound: Duration
    private let pulse: Pulse
    private let tasks: Mutex<Tasks>

    /// Nil where the environment names no socket, or one of a kind that this does not know.
    package convenience init?(_ environment: [String: String]) {
        self.init(environment, taskBound: Heartbeat.taskBound) { answered in Task(priority: .high) { answered() } }
    }

    init?(_ environment: [String: String], taskBound: Duration, pulse: @escaping Pulse) {
        guard let path = environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@") else { return nil }
        socket = Foundation.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let bound = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        interval = isMeant && bound > 0 ? .microseconds(bound / Heartbeat.beatsPerBound) : nil
        (self.path, self.taskBound, self.pulse) = (path, taskBound, pulse)
        tasks = Mutex(Tasks())
    }

    deinit {
        close(socket)
    }

    /// Begins the beats, where somebody waits for them: the first thing that a process does. They end with it.
    package func begin() {
        guard let interval else { return }
        Thread.detachNewThread { [self] in
            while true {
                beat()
                // Not a task: its sleep would end when the tasks that it watches let it run. This thread does nothing else.
                Thread.sleep(forTimeInterval: interval / .seconds(1))
            }
        }
    }

    /// All is open and sound. From here on tasks that stand still are a failure too.
    package func started() {
        tasks.withLock { $0 = Tasks(ranAt: .now) }
        say(.ready)
    }

    private func beat() {
        let (isAlive, asks) = tasks.withLock { tasks in
            guard let ranAt = tasks.ranAt else { return (true, false) }
            defer { tasks.isAsked = true }
            return (ContinuousClock.now - ranAt < taskBound, !tasks.isAsked)
        }
        if asks {
            pulse { [self] in tasks.withLock { $0 = Tasks(ranAt: .now) } }
        }
        if isAlive { say(.alive) }
    }

    /// One line for people about the state of the process, as `systemctl status` shows it.
    package func describe(_ state: String) {
        say("STATUS=" + state.split(whereSeparator: \.isNewline).joined(separator: " "))
    }

    /// Does nothing where nobody listens any more, and never waits.
    package func say(_ message: Message) {
        say(message.rawValue)
    }

    private func say(_ text: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // A name that is in no file system begins with a zero, which its text shows as `@`.
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(
                    socket, text, text.utf8.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), address,
                    length)
            }
        }
    }
}
