// The supervisor with real child processes.

import Foundation
import Synchronization
import TestKit
import Testing

@testable import Operator

@Suite("Supervisor")
struct SupervisorTests {
    private final class Notes: Sendable {
        private let kept = Mutex<(lines: [String], notices: [SupervisorNotice])>(([], []))
        func line(_ name: String, _ text: String) { kept.withLock { $0.lines.append("\(name): \(text)") } }
        func notice(_ notice: SupervisorNotice) { kept.withLock { $0.notices.append(notice) } }
        var lines: [String] { kept.withLock { $0.lines } }
        var notices: [SupervisorNotice] { kept.withLock { $0.notices } }
    }

    private func part(_ name: String, _ script: String) -> SupervisedPart {
        SupervisedPart(
            name: name, command: ChildCommand(executable: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
        ) { .ready }
    }

    @Test(
        "SOS-28, SOS-41: the process that wrote a crashed service's backtrace hung and held its port: none is started unless the operator wants it"
    )
    func backtraces() {
        #expect(HeartbeatSocket.environment([:], at: nil)["SWIFT_BACKTRACE"] == "enable=no")
        #expect(HeartbeatSocket.environment(["SWIFT_BACKTRACE": "enable=yes"], at: nil)["SWIFT_BACKTRACE"] == "enable=yes")
    }

    @Test("SOS-28: a killed part is back at once, its lines carry its name, and a stop ends everything in order")
    func wholeLife() async throws {
        let notes = Notes()
        let supervisor = Supervisor(
            [
                part("one", "echo $$; trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done"),
                part("two", "echo hello; exec sleep 1000"),
            ],
            line: notes.line, notice: notes.notice)
        let running = Task { await supervisor.run() }
        try await eventually("ready") { notes.notices.contains(.everythingIsReady) }
        let first: pid_t = try await eventually("its number") { notes.lines.compactMap { pid_t($0.dropFirst("one: ".count)) }.first }

        kill(first, SIGKILL)

        try await eventually("its second life") { notes.lines.compactMap { pid_t($0.dropFirst("one: ".count)) }.count == 2 }
        #expect(notes.notices.contains(.restarting("one", status: .signalled(SIGKILL))))
        supervisor.stop()
        #expect(await running.value == .ok)
        #expect(notes.lines.contains("two: hello") && notes.lines.last == "one: bye")
    }

    @Test(
        "X6: `--new` was handed to every restart, and a store lost while the suite ran was begun anew in silence: it holds for the first start"
    )
    func firstStart() async throws {
        let notes = Notes()
        var one = part("one", "echo $$ $0; while :; do sleep 0.05; done")
        one.firstArguments = ["--new"]
        let supervisor = Supervisor([one], line: notes.line, notice: notes.notice)
        let running = Task { await supervisor.run() }
        let words = { @Sendable (number: Int) in
            notes.lines.dropFirst(number).first?.split(separator: " ").dropFirst().map(String.init) ?? []
        }
        try await eventually("its first life") { words(0).count == 2 }
        kill(try #require(pid_t(words(0)[0])), SIGKILL)
        try await eventually("its second life") { words(1).count == 2 }
        #expect(words(0)[1] == "--new" && words(1)[1] == "/bin/sh")
        supervisor.stop()
        _ = await running.value
    }

    @Test("a part that ignores the request to stop is killed after its bound")
    func stubborn() async throws {
        let notes = Notes()
        var limits = SupervisorMachine.Limits()
        limits.stopBound = .milliseconds(200)
        let supervisor = Supervisor(
            [part("deaf", "trap '' TERM; echo up; while :; do sleep 0.05; done")], limits: limits, line: notes.line, notice: notes.notice)
        let running = Task { await supervisor.run() }
        try await eventually("up") { notes.lines.contains("deaf: up") }
        supervisor.stop()

        #expect(await running.value == .failed)
        #expect(notes.notices.contains(.killed("deaf")))
    }

    @Test(
        "R6, SOS-41: a part that beats and then stands still is killed and started again within three seconds, not after ten",
        .enabled(if: SystemProgram.find("python3") != nil, "needs python3"))
    func hangs() async throws {
        try await withTemporaryFolder { folder in
            let notes = Notes()
            let beating = """
                import os, socket, time
                beats = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                beats.connect(os.environ["NOTIFY_SOCKET"])
                beats.send(b"WATCHDOG=1")
                print(os.getpid(), flush=True)
                while True:
                    beats.send(b"WATCHDOG=1")
                    time.sleep(int(os.environ["WATCHDOG_USEC"]) / 5e6)
                """
            let part = SupervisedPart(
                name: "one",
                command: ChildCommand(executable: SystemProgram.find("python3") ?? "", arguments: ["-c", beating], environment: [:]),
                heartbeat: folder.appendingPathComponent("beats").path)
            let supervisor = Supervisor([part], line: notes.line, notice: notes.notice)
            let running = Task { await supervisor.run() }
            // Its first beat is under way before it says its number.
            let first: pid_t = try await eventually("its number") { notes.lines.compactMap { pid_t($0.dropFirst("one: ".count)) }.first }
            kill(first, SIGSTOP)
            let halted = ContinuousClock.now

            try await eventually("its second life") { notes.lines.count == 2 }
            // A second of silence, a second for the start, and one for a busy machine.
            #expect(.now - halted < .seconds(3))
            #expect(notes.notices == [.unresponsive("one"), .restarting("one", status: .signalled(SIGKILL))])
            supervisor.stop()
            _ = await running.value
        }
    }

    @Test(
        "SOS-41: an empty datagram ended the reading of a service's heartbeats, and it was killed for its silence: what says nothing is passed over",
        .enabled(if: SystemProgram.find("python3") != nil, "needs python3"))
    func strangeDatagrams() async throws {
        try await withTemporaryFolder { folder in
            let notes = Notes()
            let beating = """
                import os, socket, time
                beats = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                beats.connect(os.environ["NOTIFY_SOCKET"])
                for text in b"WATCHDOG=1", b"", b"\\xff\\xfe", b"\\n\\n", b"WATCHDOG=1" * 100, b"":
                    beats.send(text)
                begun, told = time.monotonic(), False
                while True:
                    try:
                        beats.send(b"WATCHDOG=1")
                    except OSError:
                        # A service sends on whoever listens.
                        pass
                    if time.monotonic() - begun > 2 and not told:
                        told = True
                        print("alive", flush=True)
                    time.sleep(0.1)
                """
            let part = SupervisedPart(
                name: "one",
                command: ChildCommand(executable: SystemProgram.find("python3") ?? "", arguments: ["-c", beating], environment: [:]),
                heartbeat: folder.appendingPathComponent("beats").path)
            let supervisor = Supervisor([part], line: notes.line, notice: notes.notice)
            let running = Task { await supervisor.run() }
            try await eventually("it lives longer than a silence may be") { notes.lines == ["one: alive"] }
            #expect(notes.notices == [])
            supervisor.stop()
            _ = await running.value
        }
    }

    @Test(
        "R6, SOS-41: a halted edge cost 14 s: a door that answers and then stands still is killed and started again within four",
        .enabled(if: SystemProgram.find("python3") != nil, "needs python3"))
    func haltedDoor() async throws {
        let notes = Notes()
        let port = try FreePorts.find(1)[0]
        let answering = """
            import http.server, os, socketserver, sys
            class Door(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(204)
                    self.end_headers()
                def log_message(self, *_):
                    pass
            socketserver.TCPServer.allow_reuse_address = True
            door = socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Door)
            print(os.getpid(), flush=True)
            door.serve_forever()
            """
        let readiness = Readiness()
        let part = SupervisedPart(
            name: "door",
            command: ChildCommand(
                executable: SystemProgram.find("python3") ?? "", arguments: ["-c", answering, String(port)], environment: [:]),
            isDoor: true
        ) {
            await readiness.edgeAnswers(httpPort: port) ? .ready : .silent
        }
        let supervisor = Supervisor([part], line: notes.line, notice: notes.notice)
        let running = Task { await supervisor.run() }
        let first: pid_t = try await eventually("its number") { notes.lines.compactMap { pid_t($0.dropFirst("door: ".count)) }.first }
        try await eventually("it is ready") { notes.notices == [.everythingIsReady] }
        kill(first, SIGSTOP)
        let halted = ContinuousClock.now

        try await eventually("its second life") { notes.notices.contains(.readyAgain("door")) }
        // Asked within 0.2 s, silent for 0.9, a second for the start, and the rest for a busy machine.
        #expect(.now - halted < .seconds(4))
        #expect(notes.notices.dropFirst().prefix(2) == [.unresponsive("door"), .restarting("door", status: .signalled(SIGKILL))])
        supervisor.stop()
        _ = await running.value
    }

    @Test("a part that refuses its configuration and is alone ends the suite with 78, and its own words name the setting")
    func configuration() async throws {
        let notes = Notes()
        let refusing = SupervisedPart(
            name: "bad",
            command: ChildCommand(executable: "/bin/sh", arguments: ["-c", "echo TRACKME_X: no such setting; exit 78"], environment: [:])
        ) { .silent }

        let status = await Supervisor([refusing], line: notes.line, notice: notes.notice).run()

        #expect(status == .configuration && notes.notices == [.refused("bad", reason: "TRACKME_X: no such setting", again: false)])
    }

    @Test("SOS-28: a part that refuses leaves the others running, and starts by itself once what it refused is mended")
    func refuses() async throws {
        try await withTemporaryFolder { folder in
            let notes = Notes()
            let key = folder.appendingPathComponent("key").path
            let script = #"[ -e "\#(key)" ] || { echo '{"level":"critical"}'; echo "\#(key) is missing"; exit 78; }; exec sleep 1000"#
            var one = part("one", script)
            one.probe = { FileManager.default.fileExists(atPath: key) ? .ready : .silent }
            let supervisor = Supervisor(
                [one, part("two", "echo $$; exec sleep 1000")], line: notes.line, notice: notes.notice)
            let running = Task { await supervisor.run() }

            try await eventually("what can run runs") { notes.notices.contains(.readyWithout(["one"])) }
            #expect(notes.notices.first == .refused("one", reason: "\(key) is missing", again: true))
            try Data().write(to: URL(fileURLWithPath: key))
            try await eventually("everything is ready") { notes.notices.contains(.everythingIsReady) }
            #expect(notes.notices.contains(.mended("one")))
            #expect(notes.lines.filter { $0.hasPrefix("two: ") }.count == 1, "the other one was never ended")
            supervisor.stop()
            #expect(await running.value == .ok)
        }
    }

    @Test("an executable that is not there is told like a crash")
    func missing() async throws {
        let notes = Notes()
        let supervisor = Supervisor(
            [SupervisedPart(name: "gone", command: ChildCommand(executable: "/nowhere/at-all", environment: [:])) { .silent }],
            line: notes.line,
            notice: notes.notice)
        let running = Task { await supervisor.run() }
        try await eventually("told of the loop") { notes.notices.contains { if case .crashLoop = $0 { true } else { false } } }
        supervisor.stop()

        #expect(await running.value == .ok)
    }

    @Test("the suite's children end when the supervisor itself is killed", .enabled(if: SystemProgram.find("setpriv") != nil))
    func orphans() async throws {
        // A shell stands for the supervisor: the child asks to be told when the thread that made it ends.
        let notes = Notes()
        let (ended, end) = AsyncStream<ChildStatus>.makeStream()
        let process = ChildProcess(
            ChildCommand(
                executable: "/bin/sh", arguments: ["-c", "grep -c . /proc/self/status; exec sleep 1000"],
                environment: ["PATH": "/usr/bin:/bin"])
        ) {
            notes.line("child", $0)
        } exited: {
            end.yield($0)
        }
        try await eventually("running") { !notes.lines.isEmpty }
        process.signal(SIGTERM)
        var statuses = ended.makeAsyncIterator()

        #expect(await statuses.next() == .signalled(SIGTERM))
        #expect(process.processID == nil)
        process.signal(SIGKILL)
    }

    @Test("long lines are cut, and a last line without an end is handed on")
    func lines() async throws {
        let notes = Notes()
        let (ended, end) = AsyncStream<ChildStatus>.makeStream()
        _ = ChildProcess(
            ChildCommand(
                executable: "/bin/sh", arguments: ["-c", "head -c 40000 /dev/zero | tr '\\0' x; echo; printf last"],
                environment: ["PATH": "/usr/bin:/bin"])
        ) {
            notes.line("child", $0)
        } exited: {
            end.yield($0)
        }
        var statuses = ended.makeAsyncIterator()
        _ = await statuses.next()

        try await eventually("all lines") { notes.lines.last == "child: last" }
        #expect(notes.lines.map { $0.count - 7 } == [16_384, 16_384, 40_000 - 2 * 16_384, 4])
    }
}
