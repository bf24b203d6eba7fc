// The simulated devices and ingest: uploads until they are answered, a durable log, news of it, and its replay.

import Contracts

@testable import Bus
@testable import SOSDispatcher

struct SimulatedIngest {
    static let page = 50

    let epoch = "e1"
    var isRunning = false
    var process = 0
    var steps = 0
    /// Durable: the uploads in each stream, in sequence from 1.
    var logs: [String: [Int]] = [:]
    /// What has been said in the heads; the log may be longer for the time of a commit.
    var downSince: Int64?
}

extension SimulatedWorld {
    func handleAtIngest(_ event: SimulatedEvent) {
        switch event {
        case .measure(let life): measure(life)
        case .ingestReceives(let upload): receive(upload)
        case .ingestStored(let upload, let at, let wall, let process, let isDurable):
            stored(upload, at, wall, process, isDurable)
        case .deviceHears(let upload):
            guard !uploads[upload].isAnswered else { return }
            uploads[upload].isAnswered = true
            pending[uploads[upload].life].removeAll { $0 == upload }
            sendNext(of: uploads[upload].life)
        case .deviceWaited(let upload, let attempt):
            if !uploads[upload].isAnswered, uploads[upload].attempts == attempt { send(upload) }
        case .beat: beat()
        case .asked(let request, let process): answer(request, to: process)
        case .ingestCrashes(let duration): crashIngest(for: duration)
        case .ingestStarts:
            ingest.isRunning = true
            if let since = ingest.downSince { account.downs.append(Span(from: since, until: now)) }
            note("ingest runs")
        default: break
        }
    }

    // MARK: Devices

    private func measure(_ index: Int) {
        guard now < SimulationPlan.lastMeasurement else { return }
        let life = plan.lives[index]
        after(life.interval + dice.between(-100, 100), .measure(life: index))
        var upload = SimulatedUpload(life: index, measuredAt: wall, value: 70)
        switch life.role {
        case .healthy: break
        case .stale:
            if life.critical.contains(now) { (upload.measuredAt, upload.value) = (wall - .seconds(61 + dice.between(0, 600)), life.value) }
        case .spike:
            let isFirst = !uploads.contains { $0.life == index && $0.isCritical }
            if life.critical.contains(now), isFirst { upload.value = life.value }
        case .breach, .passing, .fine, .falseAlarm:
            if life.critical.contains(now) { upload.value = life.value }
        }
        uploads.append(upload)
        pending[index].append(uploads.count - 1)
        if pending[index].count == 1 { sendNext(of: index) }
    }

    private func sendNext(of life: Int) {
        if let next = pending[life].first { send(next) }
    }

    private func send(_ upload: Int) {
        uploads[upload].attempts += 1
        after(dice.between(5, 40), .ingestReceives(upload: upload))
        after(1000, .deviceWaited(upload: upload, attempt: uploads[upload].attempts))
    }

    // MARK: Taking uploads

    private func receive(_ upload: Int) {
        guard ingest.isRunning else { return }
        ingest.steps += 1
        if uploads[upload].receivedAt != nil { return after(2, .deviceHears(upload: upload)) }
        if flaw == .acknowledgesBeforeCommit { after(2, .deviceHears(upload: upload)) }
        // A commit that fails has left its rows behind or not; in either case the process ends, and nobody is answered.
        let refuses = plan.ingestDiskRefuses.contains { $0.contains(now) }
        let isDurable = !refuses || dice.happens(50)
        after(
            dice.between(2, 25),
            .ingestStored(upload: upload, receivedAt: now, wall: wall, process: refuses ? -1 : ingest.process, isDurable: isDurable))
    }

    private func stored(_ upload: Int, _ at: Int64, _ wall: Timestamp, _ process: Int, _ isDurable: Bool) {
        let isOver = process >= 0 && process != ingest.process
        // A crash during the commit: either way is possible.
        if isOver && dice.happens(50) { return }
        if isDurable, uploads[upload].receivedAt == nil {
            (uploads[upload].receivedAt, uploads[upload].wall) = (at, wall)
            let stream = StreamFamily.samplesStream(of: plan.lives[uploads[upload].life].person)
            ingest.logs[stream, default: []].append(upload)
            note("ingest stored upload \(upload) of life \(uploads[upload].life): \(uploads[upload].value), received at \(at)")
            if process >= 0, !isOver, ingest.isRunning { publish(stream) }
        }
        if process < 0, ingest.isRunning {
            note("ingest cannot force its file to the disk and ends")
            return crashIngest(for: dice.between(60, 500))
        }
        guard ingest.isRunning, !isOver else { return }
        ingest.steps += 1
        after(2, .deviceHears(upload: upload))
    }

    func crashIngest(for duration: Int64) {
        guard ingest.isRunning else { return }
        (ingest.isRunning, ingest.downSince) = (false, now)
        ingest.process += 1
        note("ingest crashes for \(duration) ms")
        after(duration, .ingestStarts)
    }

    // MARK: Saying so

    private func fact(_ stream: String, _ sequence: Int, _ upload: Int) -> StreamEvent {
        let header = StreamHeader(
            stream: stream, epoch: ingest.epoch, sequence: Int64(sequence), head: Int64(ingest.logs[stream]?.count ?? 0),
            type: SamplesRecorded.type, subject: "", at: uploads[upload].wall, trace: "")
        return StreamEvent(header: header, payload: Array(String(upload).utf8))
    }

    private func publish(_ stream: String) {
        guard let log = ingest.logs[stream], let upload = log.last else { return }
        carry(fact(stream, log.count, upload))
    }

    /// What happens to a frame between two sockets.
    private func carry(_ event: StreamEvent) {
        guard !plan.isCut(at: now) else { return }
        let weather = plan.weather(at: now)
        if let weather, dice.happens(weather.percentLost) { return }
        if let weather, dice.happens(weather.percentCorrupt) {
            // Whatever is left of its header is no header.
            let frame = event.header.frame
            let left = Array(frame.prefix(Int(dice.between(0, Int64(frame.count - 1)))))
            if StreamHeader(frame: left) != nil { violation("a piece of a header was read as one") }
            return
        }
        let isLate = weather.map { dice.happens($0.percentDelayed) } ?? false
        after(isLate ? dice.between(1, 400) : 1, .heard(event))
        if let weather, dice.happens(weather.percentDoubled) { after(dice.between(1, 300), .heard(event)) }
    }

    private func beat() {
        after(200, .beat)
        guard ingest.isRunning, !plan.isCut(at: now) else { return }
        if let weather = plan.weather(at: now), dice.happens(weather.percentLost) { return }
        after(1, .heardBeat(Heartbeat(epoch: ingest.epoch, heads: ingest.logs.mapValues { Int64($0.count) })))
    }

    private func answer(_ request: ReplayStream, to process: Int) {
        guard ingest.isRunning, !plan.isCut(at: now), let log = ingest.logs[request.stream] else {
            return after(750, .answered(stream: request.stream, nil, process: process))
        }
        let through = min(Int(request.through), log.count, Int(request.from) + SimulatedIngest.page - 1)
        var page = ReplayStream.Reply(epoch: ingest.epoch, head: Int64(log.count), oldest: 1, facts: [])
        for sequence in stride(from: Int(request.from), through: through, by: 1) {
            let fact = fact(request.stream, sequence, log[sequence - 1])
            page.facts.append(.init(header: fact.header, payload: String(decoding: fact.payload, as: UTF8.self)))
        }
        if flaw == .dropsOnGap { (page.facts, page.oldest) = ([], page.head + 1) }
        after(dice.between(2, 20), .answered(stream: request.stream, page, process: process))
    }
}
