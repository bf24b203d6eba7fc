// SQL sentences for the stream `ingest.devices`: what is said of a device in the transaction that changes it.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

struct DeviceNews: Sendable {
    static let stream = StreamFamily.devices.streams[0]
    static let snapshotPage = 1000

    let epoch: String
    private let log = StreamLog()

    init(epoch: String) {
        self.epoch = epoch
    }

    /// Appends the device's state to the log; to be handed to the relay after the commit.
    func append(_ db: Database, _ row: DeviceRow, at: Timestamp, trace: String) throws -> EventRelay.Committed {
        let payload = try Self.payload(row)
        let sequence = try log.append(
            db, stream: Self.stream, type: DeviceState.type, subject: row.person, at: at, trace: trace, body: payload)
        return EventRelay.Committed(header: header(row, sequence: sequence, at: at, trace: trace)) { payload }
    }

    /// One page of the devices that are active now; `after` is the last device's number.
    func snapshot(_ db: Database, after: Int64) throws -> SnapshotStream.Reply {
        let head = try log.head(db, Self.stream)
        let rows = try DeviceTable().active(db, after: after, limit: Self.snapshotPage)
        let facts = try rows.map { row in
            ReplayStream.Fact(
                header: header(row, sequence: head, at: Timestamp(milliseconds: 0), trace: ""),
                payload: String(decoding: try Self.payload(row), as: UTF8.self))
        }
        let next = rows.count == Self.snapshotPage ? rows.last.map { String($0.number) } : nil
        return SnapshotStream.Reply(epoch: epoch, sequence: head, facts: facts, next: next)
    }

    private func header(_ row: DeviceRow, sequence: Int64, at: Timestamp, trace: String) -> StreamHeader {
        StreamHeader(
            stream: Self.stream, epoch: epoch, sequence: sequence, head: sequence, type: DeviceState.type,
            subject: row.person.description, at: at, trace: trace)
    }

    private static func payload(_ row: DeviceRow) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(
            try encoder.encode(
                DeviceState(device: row.device, person: row.person, active: row.isActive, intervalMs: row.intervalMs)))
    }
}
