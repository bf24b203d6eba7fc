// The stream's log keeps no samples, only where they are: which chunks an upload became and in which order it named them.

import Contracts

/// The body of one row of the log of `ingest.samples.*`. Holds ids and times of reception, nothing measured.
struct UploadRecord: Hashable, Sendable {
    var device: DeviceID
    var receivedAt: Timestamp
    var firstTriedAt: Timestamp?
    var sentAt: Timestamp?
    var intervalMs: Int64?
    /// One per metric, in the order in which the upload first named the metric.
    var chunks: [Int64]
    /// Which chunk gives the next samples, and how many; empty where there is one chunk.
    var runs: [Run]

    struct Run: Hashable, Sendable {
        var chunk: Int
        var count: Int
    }

    /// The first form has neither of the device's times. With this added, how long before the reception the first try was follows it;
    /// with `sent` added, how long before it the upload was written, after that.
    private static let version: UInt8 = 1
    private static let tried: UInt8 = 1
    private static let sent: UInt8 = 2

    func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.bytes.reserveCapacity(40 + chunks.count * 4 + runs.count * 2)
        writer.bytes.append(Self.version + (firstTriedAt == nil ? 0 : Self.tried) + (sentAt == nil ? 0 : Self.sent))
        writer.bytes.append(contentsOf: device.bytes)
        writer.signed(receivedAt.milliseconds)
        for time in [firstTriedAt, sentAt] {
            if let time { writer.signed(receivedAt.milliseconds &- time.milliseconds) }
        }
        writer.signed(intervalMs ?? -1)
        writer.varint(UInt64(chunks.count))
        var previous: Int64 = 0
        for chunk in chunks {
            writer.signed(chunk &- previous)
            previous = chunk
        }
        writer.varint(UInt64(runs.count))
        for run in runs {
            writer.varint(UInt64(run.chunk))
            writer.varint(UInt64(run.count))
        }
        return writer.bytes
    }

    init(
        device: DeviceID, receivedAt: Timestamp, firstTriedAt: Timestamp? = nil, sentAt: Timestamp? = nil, intervalMs: Int64?,
        chunks: [Int64], runs: [Run]
    ) {
        (self.device, self.receivedAt, self.firstTriedAt, self.sentAt) = (device, receivedAt, firstTriedAt, sentAt)
        (self.intervalMs, self.chunks, self.runs) = (intervalMs, chunks, runs)
    }

    init(decoding bytes: [UInt8]) throws(CorruptBytes) {
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(CorruptBytes) in
            try UploadRecord(reading: UnsafeRawBufferPointer(buffer))
        }
    }

    private init(reading bytes: UnsafeRawBufferPointer) throws(CorruptBytes) {
        var reader = ByteReader(bytes)
        let version = try reader.byte()
        let times = version &- Self.version
        guard times <= Self.tried + Self.sent, let device = DeviceID(bytes: Array(try reader.take(16))) else { throw CorruptBytes() }
        self.device = device
        receivedAt = Timestamp(milliseconds: try reader.signed())
        if times & Self.tried != 0 { firstTriedAt = Timestamp(milliseconds: receivedAt.milliseconds &- (try reader.signed())) }
        if times & Self.sent != 0 { sentAt = Timestamp(milliseconds: receivedAt.milliseconds &- (try reader.signed())) }
        let interval = try reader.signed()
        intervalMs = interval < 0 ? nil : interval
        chunks = []
        var previous: Int64 = 0
        for _ in 0..<(try reader.count()) {
            previous = previous &+ (try reader.signed())
            chunks.append(previous)
        }
        runs = []
        for _ in 0..<(try reader.count(ofAtLeast: 2)) {
            let (chunk, count) = (try reader.varint(), try reader.varint())
            guard chunk < UInt64(chunks.count), count > 0, count < 1 << 32 else { throw CorruptBytes() }
            runs.append(Run(chunk: Int(chunk), count: Int(count)))
        }
        try reader.finish()
    }

    /// The samples in the order of the upload, from the opened chunks; `nil` where the chunks do not hold what the runs say.
    func interleave(_ opened: [[Sample]]) -> [Sample]? {
        guard opened.count == chunks.count else { return nil }
        if runs.isEmpty { return opened.count == 1 ? opened[0] : nil }
        var next = [Int](repeating: 0, count: opened.count)
        var samples: [Sample] = []
        samples.reserveCapacity(opened.reduce(0) { $0 + $1.count })
        for run in runs {
            let end = next[run.chunk] + run.count
            guard end <= opened[run.chunk].count else { return nil }
            samples.append(contentsOf: opened[run.chunk][next[run.chunk]..<end])
            next[run.chunk] = end
        }
        return samples.count == opened.reduce(0) { $0 + $1.count } ? samples : nil
    }
}
