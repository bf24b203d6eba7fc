// The synthetic person's wearable: fills some days of the past, then measures on every second.

import Contracts
import Foundation
import ServiceKit

struct SandboxWearable: Sendable {
    /// Of the past: one measurement a minute.
    private static let pastInterval = Duration.seconds(60)
    private static let entriesOfUpload = 4000
    private static let tries = 20

    private let token: String
    private let transport: UploadTransport
    private var body: Wearable
    private var ticks = 0
    /// Entries that the suite has taken.
    private(set) var delivered = 0

    init(token: String, place: SandboxPlace, seed: UInt64) {
        self.token = token
        transport = .http(server: place.ingest, authorities: place.authorities, parallel: 1)
        body = Wearable(number: 0, seed: seed)
    }

    /// - Returns: the instant of the oldest entry.
    mutating func fill(days: Int, until end: Timestamp) async throws -> Timestamp {
        let count = days * 24 * 60
        let begin = end - Self.pastInterval * count
        var samples: [Sample] = []
        for tick in 0..<count {
            let elapsed = Self.pastInterval * tick
            samples += body.measure(at: begin + elapsed, elapsed: elapsed, interval: Self.pastInterval).samples
            if samples.count >= Self.entriesOfUpload {
                try await deliver(samples)
                samples.removeAll(keepingCapacity: true)
            }
        }
        if !samples.isEmpty { try await deliver(samples) }
        return begin
    }

    /// Until it is cancelled; what cannot be delivered now is not measured again.
    mutating func live() async throws {
        let begin = Timestamp.now
        while !Task.isCancelled {
            let now = Timestamp.now
            let measured = body.measure(at: now, elapsed: now - begin, interval: SandboxFounding.interval)
            _ = await send(measured.samples)
            // A wearable's own pace.
            try await Task.sleep(for: SandboxFounding.interval)
        }
        throw CancellationError()
    }

    private mutating func deliver(_ samples: [Sample]) async throws {
        for _ in 0..<Self.tries {
            guard let refusal = await send(samples) else {
                delivered += samples.count
                return
            }
            guard refusal != 400, refusal != 422 else {
                throw OperatorError(.failed, "an upload of the wearable was answered \(refusal)", mend: "see ingest's log lines")
            }
            // Too many at once, or a service that is not ready.
            try await Task.sleep(for: .milliseconds(500))
        }
        throw OperatorError(.unavailable, "ingest does not take the wearable's uploads", mend: "see `trackme doctor`")
    }

    /// - Returns: the status of an upload that was not taken, 0 where there was no answer; nil where it was.
    private func send(_ samples: [Sample]) async -> Int? {
        guard let entries = try? samples.map(UploadBody.entry) else { return 400 }
        let reply = await transport.send(UploadBody.batch(entries, sentAt: .now), token, "sandbox-\(UInt64.random(in: 0 ... .max))")
        switch reply.outcome {
        case .answered(200, _): return nil
        case .answered(let status, _): return status
        case .unreachable: return 0
        }
    }
}
