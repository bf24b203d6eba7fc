// `trackme replay`: a recording becomes a device's uploads.

import ArgumentParser
import Contracts
import Foundation
import Sealing
import ServiceKit
import Synchronization

struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends a recording (CSV) as if a device had measured it.",
        discussion: """
            Columns are recognised by name and unit (HR_bpm, SpO2_%, latitude, speed_mps, …); --dry-run shows how. A value that no body \
            or device can show, such as the 0 of a disconnected sensor, is no reading: it is counted, not sent. Entries wait in a sealed \
            queue until the server has acknowledged them; a replay that was broken off is finished by the next one of the same file. \
            Without --token-file each recording becomes a person of its own, whose device is made at the first run and remembered, so a \
            second run adds nothing; --person gives it to somebody instead.

            Example: trackme replay run.csv --live --speed 10

            \(ExitStatus.documentation)
            """)

    @Argument(help: "The recording: a header line, then one row per instant.", completion: .file(extensions: ["csv"]))
    var file: String

    @Flag(help: "Show the mapping of columns and the account of rows, and send nothing.")
    var dryRun = false

    @Flag(help: "Move the first row to now and send at the recorded pace.")
    var live = false

    @Option(help: ArgumentHelp("Send N times as fast as it was recorded. Without --live, times stay as recorded.", valueName: "N"))
    var speed: Double?

    @Option(help: ArgumentHelp("File with the device's token.", valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("Whose device is made where there is no token; default: a new person.", valueName: "per_…"))
    var person: PersonID?

    @OptionGroup var client: ClientOptions
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        if let speed, !(0.001...100_000).contains(speed) { throw ValidationError("--speed must be from 0.001 to 100000") }
    }

    func run() async throws {
        try await reportingErrors {
            let (recording, name) = try read()
            Console.shared.line("\(file): \(recording.account.rows) rows")
            recording.mapping.lines.forEach { Console.shared.line("  \($0)") }
            recording.accountLines.forEach { Console.shared.line("  \($0)") }
            if dryRun { return }
            try await send(recording, name)
        }
    }

    private func read() throws -> (recording: Recording, name: String) {
        guard let content = FileManager.default.contents(atPath: file) else {
            throw OperatorError(.failed, "\(file) cannot be read", mend: "name a CSV file")
        }
        do {
            // What is recorded names it, wherever the file lies and whatever it is called.
            return (try Recording(csv: Array(content)), "recording-" + Hex.encode(Digest.sha256(Array(content)).prefix(8)))
        } catch {
            throw OperatorError(.failed, "\(file): \(error)", mend: "see `trackme replay --help` for what is understood")
        }
    }

    private func send(_ recording: Recording, _ name: String) async throws {
        let queue = try OutboxQueue.open(client.folder("replay", in: suite.layout), durability: .flushed)
        let (partition, token) = try await device(in: queue, of: name)
        let left = queue.waiting(in: partition)
        if left > 0 { Console.shared.line("\(left) entries of an earlier run still wait and go first") }
        let run = ReplayRun(
            recording: recording, queue: queue, partition: partition, token: token, transport: client.transport(),
            live: live ? .now : nil, speed: speed)
        let (account, sent) = try await run.run()
        Console.shared.line("\(sent) readings of this run and \(left) of earlier ones: \(account.lines.joined(separator: "\n"))")
        Console.shared.line("\(queue.waiting(in: partition)) entries waiting")
        guard queue.waiting(in: partition) == 0, account.refused == 0 else {
            throw OperatorError(.failed, "not everything was delivered", mend: "run the command again: what waits is sent first")
        }
    }

    /// The partition's name is the recording's, with the person who was named, or for a token from a file its fingerprint.
    private func device(in queue: OutboxQueue, of recording: String) async throws -> (partition: String, token: String) {
        if let tokenFile {
            let token = try TokenFile.read(tokenFile)
            let partition = "token-" + TokenFile.fingerprint(token)
            if queue.partitions[partition] != token { try queue.open(partition: partition, token: token) }
            return (partition, token)
        }
        let partition = person.map { "\(recording)-\($0)" } ?? recording
        if let known = queue.partitions[partition] { return (partition, known) }
        let added = try await SuiteConnection.with(suite.layout) { connection in
            try await connection.ask(AddDevice(person: person, name: "replay", intervalMs: nil))
        }
        try queue.open(partition: partition, token: added.token)
        Console.shared.line("made device \(added.device) of person \(added.person)")
        return (partition, added.token)
    }
}

/// One replay on its way: a producer that appends rows when they are due, and the partition's sender.
struct ReplayRun: Sendable {
    let recording: Recording
    let queue: OutboxQueue
    let partition: String
    let token: String
    let transport: UploadTransport
    let live: Timestamp?
    let speed: Double?

    /// Rows appended at once where nothing has to wait for its time.
    private static let chunk = 2000

    func run() async throws -> (UploadAccount, sent: Int) {
        let account = Mutex(UploadAccount())
        let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let sender = QueueSender(partition: partition, token: token, queue: queue, transport: transport) { event in
            account.withLock { $0.count(event) }
            Console.shared.progress(ReplayRun.progress(event, account.withLock { $0 }, waiting: queue.waiting(in: partition)))
        }
        wake.yield()
        let sent = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                defer { wake.finish() }
                return try await produce { wake.yield() }
            }
            group.addTask {
                try await sender.run(wakes)
                return 0
            }
            return try await group.reduce(0, +)
        }
        return (account.withLock { $0 }, sent)
    }

    private func produce(_ wake: @Sendable () -> Void) async throws -> Int {
        guard let first = recording.rows.first?.at else { return 0 }
        let schedule = ReplaySchedule(first: first, live: live, speed: speed)
        let clock = ContinuousClock()
        let start = clock.now
        var sent = 0
        var pending: [[UInt8]] = []
        for row in recording.rows {
            if start + schedule.due(row.at) > clock.now {
                try queue.append(pending, to: partition)
                pending = []
                wake()
                try await clock.sleep(until: start + schedule.due(row.at))
            }
            for case .reading(var sample) in row.outcomes {
                sample.at = schedule.time(of: sample.at)
                pending.append(try UploadBody.entry(sample))
                sent += 1
            }
            if pending.count >= ReplayRun.chunk {
                try queue.append(pending, to: partition)
                pending = []
                wake()
            }
        }
        try queue.append(pending, to: partition)
        wake()
        return sent
    }

    private static func progress(_ event: UploadEvent, _ account: UploadAccount, waiting: Int) -> String {
        let state = "\(account.accepted) accepted, \(account.duplicates) duplicates, \(account.rejected) rejected, \(waiting) waiting"
        guard case .waiting(_, let outcome, let pause) = event else { return state }
        let reason = outcome.status == 0 ? "no connection" : "the server answered \(outcome.status)"
        return state + " – \(reason), again in \(SpokenDuration(pause))"
    }
}
