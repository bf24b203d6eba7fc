// People with wearables under test load: each uploads in a steady rhythm, keeps what was not acknowledged and sends it again.

import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit

@testable import Operator

/// One person's device. Its clock never stands still, so that each entry has a time of its own.
actor Wearer {
    let person: PersonID
    let token: String
    private let ledger: LoadLedger
    private let transport: UploadTransport
    private var newest = Timestamp(milliseconds: 0)
    private var beats = 0
    private var uploads = 0
    private var isIll = false
    private var isPlanted = false

    /// Between attempts of one upload.
    private static let pause = Duration.milliseconds(20)
    /// Every so many uploads one is sent again under another key: nothing may come of it.
    private static let repeatEvery = 7

    init(_ added: AddDevice.Reply, ledger: LoadLedger, transport: UploadTransport) {
        (person, token, self.ledger, self.transport) = (added.person, added.token, ledger, transport)
    }

    /// From the next upload on all heart rates are critical.
    func fallIll() {
        isIll = true
    }

    /// One upload of `count` entries, repeated until it is acknowledged, the device is refused, or `deadline` has passed; false
    /// where it never was acknowledged.
    func upload(_ count: Int, statuses: StatusCount, giveUpAt deadline: @Sendable () -> ContinuousClock.Instant?) async throws -> Bool {
        let samples = (0..<count).map { _ in nextSample() }
        let tried = Timestamp.now
        let batch = try ledger.sent(samples, of: person, at: tried)
        if isIll, !isPlanted {
            isPlanted = true
            try ledger.planted(.heartRate, in: batch)
        }
        uploads += 1
        let body = UploadBody.batch(try samples.map(UploadBody.entry), firstTriedAt: tried)
        while true {
            let reply = await transport.send(body, token, "\(person)-\(batch)")
            statuses.count(reply.outcome.status)
            if (200..<300).contains(reply.outcome.status), let answer = try? JSONDecoder().decode(UploadAnswer.self, from: Data(reply.body))
            {
                try ledger.acknowledged(batch, rejected: answer.rejected.map(\.index), at: .now)
                if uploads.isMultiple(of: Wearer.repeatEvery) { _ = await transport.send(body, token, "\(person)-\(batch)-again") }
                return true
            }
            if reply.outcome.status == 401 { return false }
            if let deadline = deadline(), ContinuousClock.now >= deadline { return false }
            // A device waits before it tries again.
            try await Task.sleep(for: Wearer.pause)
        }
    }

    private func nextSample() -> Sample {
        newest = max(newest + .milliseconds(1), .now)
        beats += 1
        let normal = 60 + Double(beats % 400) / 10
        // Critical, and never so much worse that an update is due (SOS-32): 135 to 145.
        return Sample(type: .heartRate, at: newest, value: isIll ? 120 + normal / 4 : normal)
    }
}

/// How often each HTTP status came; 0 stands for no answer.
final class StatusCount: Sendable {
    private let counts = Mutex<[Int: Int]>([:])

    func count(_ status: Int) {
        counts.withLock { $0[status, default: 0] += 1 }
    }

    subscript(status: Int) -> Int { counts.withLock { $0[status] ?? 0 } }
    var line: String { counts.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.value)×\($0.key)" }.joined(separator: " ") } }
}

/// All wearers at once.
final class LoadGenerator: Sendable {
    let wearers: [Wearer]
    let ledger: LoadLedger
    let statuses = StatusCount()
    private let interval: Duration
    private let entries: Int
    private let endAt = Mutex<ContinuousClock.Instant?>(nil)
    private let running = Mutex<Task<Int, any Error>?>(nil)

    /// Time that uploads on their way get after the end.
    private static let grace = Duration.seconds(15)

    /// - Parameters:
    ///   - entries: of one upload.
    ///   - interval: between the uploads of one person.
    ///   - server: where to, if not to ingest itself.
    init(
        _ people: [AddDevice.Reply], to suite: RealSuite, entries: Int = 5, interval: Duration = .milliseconds(100), server: String? = nil
    ) throws {
        ledger = try LoadLedger(suite.root.appendingPathComponent("load-\(UInt32.random(in: 0 ... .max)).jsonl"))
        let transport = UploadTransport.http(server: server ?? suite.server, authorities: nil)
        let ledger = ledger
        wearers = people.map { Wearer($0, ledger: ledger, transport: transport) }
        (self.entries, self.interval) = (entries, interval)
    }

    func start() {
        let task = Task {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for wearer in wearers { group.addTask { try await self.beat(wearer) } }
                return try await group.reduce(0, +)
            }
        }
        running.withLock { $0 = task }
    }

    private func beat(_ wearer: Wearer) async throws -> Int {
        var unknown = 0
        let clock = ContinuousClock()
        var next = clock.now
        while endAt.withLock({ $0 }) == nil {
            let isKnown = try await wearer.upload(entries, statuses: statuses) {
                self.endAt.withLock { $0.map { $0 + LoadGenerator.grace } }
            }
            guard isKnown else {
                unknown += 1
                break
            }
            next = max(next + interval, clock.now)
            // The rhythm of the device.
            try await clock.sleep(until: next)
        }
        return unknown
    }

    /// Ends the load; uploads on their way are still delivered. Returns how many never were acknowledged.
    @discardableResult
    func stop() async throws -> Int {
        endAt.withLock { $0 = $0 ?? .now }
        let task = running.withLock { $0 }
        return try await task?.value ?? 0
    }

    /// Waits until further uploads were acknowledged.
    func untilAcknowledged(_ count: Int) async throws {
        let before = ledger.acknowledgedBatches
        let limit = LoadGenerator.grace + .milliseconds(20) * count
        try await eventually("\(count) more uploads are acknowledged", within: limit) { self.ledger.acknowledgedBatches >= before + count }
    }
}
