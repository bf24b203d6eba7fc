// The played devices and ingest: uploads until they are answered, a durable log, news of it, and its replay.

import Contracts
import Foundation

@testable import Bus
@testable import SOSDispatcher

/// One upload of one entry, from the device's memory to ingest's log.
struct SimulatedUpload {
    var life: Int
    var measuredAt: Timestamp
    var value: Double
    var attempts = 0
    var isAnswered = false
    /// When ingest received what is in the log, on the true time line and by ingest's clock.
    var receivedAt: Int64?
    var wall = Timestamp(milliseconds: 0)
    /// Whether it was said before it was stored, and fresh then.
    var alarmedEarly = false
    var isCritical: Bool { value < 45 || value > 120 }
    /// Whether it alarms: not what was a minute old when it came, or seemed to be by a clock that was set meanwhile.
    var alarms: Bool { isCritical && wall - measuredAt <= .seconds(60) }
}

struct SimulatedIngest {
    static let page = 50
    /// What the log keeps when it forgets, in milliseconds.
    static let kept: Int64 = 3000

    let epoch = "e1"
    var isRunning = true
    var process = 0
    /// Durable: the uploads in each stream, in sequence from 1.
    var logs: [String: [Int]] = Dictionary(uniqueKeysWithValues: StreamFamily.samples.streams.map { ($0, []) })
    /// The first fact that each log still has.
    var oldest: [String: Int] = [:]
    /// By life, which dispatchers may never hear a critical entry of it: the log has forgotten it.
    var unheard: [Int: Set<PairRole>] = [:]
    var downSince: Int64?
    var uploads: [SimulatedUpload] = []
    /// What each device has not got an answer to, in order.
    var pending: [[Int]] = []
}

extension SimulatedSuite {
    // MARK: Devices

    func measure(_ index: Int) {
        guard now < SimulationPlan.lastMeasurement else { return }
        let life = plan.lives[index]
        time.after(life.interval + dice.between(-100, 100)) { [self] in measure(index) }
        var upload = SimulatedUpload(life: index, measuredAt: wall, value: 70)
        switch life.role {
        case .healthy: break
        case .stale:
            if life.critical.contains(now) { (upload.measuredAt, upload.value) = (wall - .seconds(61 + dice.between(0, 600)), life.value) }
        case .spike:
            let isFirst = !ingest.uploads.contains { $0.life == index && $0.isCritical }
            if life.critical.contains(now), isFirst { upload.value = life.value }
        case .breach, .passing, .fine, .falseAlarm:
            if life.critical.contains(now) { upload.value = life.value }
            if flaw == .cancelsOnRecovery, now > life.critical.until { callOff(life.person) }
        }
        ingest.uploads.append(upload)
        ingest.pending[index].append(ingest.uploads.count - 1)
        if ingest.pending[index].count == 1 { sendNext(of: index) }
    }

    /// Planted: nobody has said so.
    private func callOff(_ person: PersonID) {
        network.ask(AnswerPrompt(person: person, answer: .falseAlarm), of: .sosDispatcher, from: .trackme, id: "\(person)-\(now)") { _ in }
    }

    private func sendNext(of life: Int) {
        if let next = ingest.pending[life].first { send(next) }
    }

    private func send(_ upload: Int) {
        ingest.uploads[upload].attempts += 1
        let attempt = ingest.uploads[upload].attempts
        time.after(dice.between(5, 40)) { [self] in receive(upload) }
        time.after(1000) { [self] in
            if !ingest.uploads[upload].isAnswered, ingest.uploads[upload].attempts == attempt { send(upload) }
        }
    }

    private func answer(_ upload: Int) {
        time.after(2) { [self] in
            guard !ingest.uploads[upload].isAnswered else { return }
            ingest.uploads[upload].isAnswered = true
            ingest.pending[ingest.uploads[upload].life].removeAll { $0 == upload }
            sendNext(of: ingest.uploads[upload].life)
        }
    }

    // MARK: Taking uploads

    private func receive(_ upload: Int) {
        guard ingest.isRunning else { return }
        if ingest.uploads[upload].receivedAt != nil { return answer(upload) }
        if flaw == .acknowledgesBeforeCommit { answer(upload) }
        if ingest.uploads[upload].isCritical { sayProvisionally(upload) }
        // A commit that fails has left its rows behind or not; in either case the process ends, and nobody is answered.
        let refuses = plan.ingestDiskRefuses.contains { $0.contains(now) }
        let (isDurable, process, at, clock) = (!refuses || dice.happens(50), ingest.process, now, wall)
        time.after(dice.between(2, 25)) { [self] in
            let isOver = process != ingest.process
            // A crash during the commit: either way is possible.
            if isOver && dice.happens(50) { return }
            if isDurable, ingest.uploads[upload].receivedAt == nil {
                (ingest.uploads[upload].receivedAt, ingest.uploads[upload].wall) = (at, clock)
                let stream = StreamFamily.samplesStream(of: plan.lives[ingest.uploads[upload].life].person)
                ingest.logs[stream, default: []].append(upload)
                note("ingest stored upload \(upload) of life \(ingest.uploads[upload].life): \(ingest.uploads[upload].value)")
                if !refuses, !isOver, ingest.isRunning { publish(stream) }
            }
            guard ingest.isRunning, !isOver else { return }
            if refuses { crashIngest(for: dice.between(60, 500)) } else { answer(upload) }
        }
    }

    func crashIngest(for duration: Int64) {
        guard ingest.isRunning else { return }
        (ingest.isRunning, ingest.downSince) = (false, now)
        ingest.process += 1
        note("ingest crashes for \(duration) ms")
        time.after(duration) { [self] in
            ingest.isRunning = true
            if let since = ingest.downSince { ledger.ingestDowns.append(Span(from: since, until: now)) }
        }
    }

    // MARK: Saying so

    /// - Parameter early: when it was received, where it is not stored yet.
    private func fact(_ stream: String, _ sequence: Int, _ index: Int, at early: Timestamp? = nil) -> StreamEvent {
        let upload = ingest.uploads[index]
        let (person, received) = (plan.lives[upload.life].person, early ?? upload.wall)
        let header = StreamHeader(
            stream: stream, epoch: ingest.epoch, sequence: Int64(sequence),
            head: early == nil ? Int64(ingest.logs[stream]?.count ?? 0) : 0,
            type: early == nil ? SamplesRecorded.type : SamplesRecorded.provisionalType, subject: "\(person)", at: received, trace: "")
        let recorded = SamplesRecorded(
            device: DeviceID(bits: UInt128(upload.life + 1)), receivedAt: received, intervalMs: nil,
            samples: [Sample(type: .heartRate, at: upload.measuredAt, value: upload.value)])
        return StreamEvent(header: header, payload: (try? Array(JSONEncoder().encode(recorded))) ?? [])
    }

    private func publish(_ stream: String) {
        guard let log = ingest.logs[stream], let upload = log.last else { return }
        let event = fact(stream, log.count, upload)
        network.carry(event.header.frame, event.payload, of: StreamFamily.samples.name, from: .ingest)
    }

    /// Before it is stored, as ingest does where an alarm is likely; perhaps never heard, and perhaps never stored.
    private func sayProvisionally(_ upload: Int) {
        if wall - ingest.uploads[upload].measuredAt <= .seconds(60) { ingest.uploads[upload].alarmedEarly = true }
        let event = fact(StreamFamily.samplesStream(of: plan.lives[ingest.uploads[upload].life].person), 0, upload, at: wall)
        network.carry(event.header.frame, event.payload, of: StreamFamily.samples.name, from: .ingest)
    }

    func beatAtIngest() {
        time.after(200) { [self] in beatAtIngest() }
        guard ingest.isRunning else { return }
        network.say(Heartbeat(epoch: ingest.epoch, heads: ingest.logs.mapValues { Int64($0.count) }), of: .samples, from: .ingest)
    }

    /// What a dispatcher asks ingest.
    func answerAtIngest(_ question: Question, from client: Peer, _ reply: @escaping PlayedNetwork.Reply) {
        guard ingest.isRunning else { return }
        func say(_ body: some Encodable) { reply((try? busJSON(body)).map { .success($0) } ?? .failure(Failure(.internal, ""))) }
        switch question.method {
        case ReplayStream.method:
            guard let request = try? JSONDecoder().decode(ReplayStream.self, from: Data(question.body)) else { return }
            switch treatment(of: request, from: client) {
            case .atOnce: say(page(request))
            case .refused: reply(.failure(Failure(.unavailable, "not now")))
            case .after(let delay, let most): time.after(delay) { [self] in say(page(request, most: most)) }
            }
        case SnapshotStream.method: say(SnapshotStream.Reply(epoch: ingest.epoch, sequence: 0, facts: [], next: nil))
        case ReadLatest.method: say(ReadLatest.Reply(samples: []))
        case ConfirmPositions.method: say(Nothing())
        default: reply(.failure(Failure(.unavailable, "not in the simulation")))
        }
    }

    private func page(_ request: ReplayStream, most: Int = SimulatedIngest.page) -> ReplayStream.Reply {
        let log = ingest.logs[request.stream] ?? []
        let oldest = ingest.oldest[request.stream] ?? 1
        var page = ReplayStream.Reply(epoch: ingest.epoch, head: Int64(log.count), oldest: Int64(oldest), facts: [])
        let from = max(Int(request.from), oldest)
        var sequences = stride(from: from, through: min(Int(request.through), log.count), by: 1).filter { sequence in
            request.subject.map { $0 == person(of: log[sequence - 1]) } ?? true
        }
        if flaw == .leavesOutEarlierFacts, request.subject != nil { sequences = Array(sequences.suffix(1)) }
        for sequence in sequences.prefix(most) {
            let fact = fact(request.stream, sequence, log[sequence - 1])
            page.facts.append(.init(header: fact.header, payload: String(decoding: fact.payload, as: UTF8.self)))
        }
        if flaw == .dropsOnGap { (page.facts, page.oldest) = ([], page.head + 1) }
        return page
    }

    // MARK: Forgetting

    func forgetAtIngest() {
        for (stream, log) in ingest.logs {
            let first = (ingest.oldest[stream] ?? 1) - 1
            let kept = log.firstIndex { (ingest.uploads[$0].receivedAt ?? now) > now - SimulatedIngest.kept } ?? log.count
            guard kept > first else { continue }
            ingest.oldest[stream] = kept + 1
            note("ingest forgets \(stream) up to \(kept)")
            for upload in log[first..<kept].map({ ingest.uploads[$0] }) where upload.isCritical {
                let deaf = PairRole.allCases.filter { mayHaveMissed($0, since: upload.receivedAt ?? now) }
                ingest.unheard[upload.life, default: []].formUnion(deaf)
            }
        }
    }

    /// Whether what came then may be neither known to that dispatcher nor on its disk, for ever: another copy of its disk counts as well.
    private func mayHaveMissed(_ role: PairRole, since begin: Int64) -> Bool {
        let troubles =
            (ledger.downs[role] ?? []) + (plan.cuts[role] ?? []) + plan.weathers.map(\.span) + (plan.disks[role] ?? []).map(\.span)
            + ledger.ingestDowns
        let isTroubled = troubles.contains { $0.from <= now && $0.until >= begin }
        return isTroubled || !dispatcher(role).isUp || !ingest.isRunning || plan.restores[role] != nil
    }
}
