// SQL sentences for the stream `ingest.devices`: what is said of a device or a pause in the transaction that changes it.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

struct DeviceNews: Sendable {
    static let stream = StreamFamily.devices.streams[0]
    static let snapshotPage = 1000

    /// How far a snapshot has come: first the devices, then the people who have paused.
    enum Place: Sendable {
        case devices(after: Int64)
        case pauses(after: Int64)

        /// nil for what no page said.
        init?(_ text: String?) {
            guard let text else {
                self = .devices(after: 0)
                return
            }
            if text.hasPrefix("p"), let number = Int64(text.dropFirst()) {
                self = .pauses(after: number)
            } else if let number = Int64(text) {
                self = .devices(after: number)
            } else {
                return nil
            }
        }

        var text: String {
            switch self {
            case .devices(let number): String(number)
            case .pauses(let number): "p\(number)"
            }
        }
    }

    let epoch: String
    private let log = StreamLog()

    init(epoch: String) {
        self.epoch = epoch
    }

    /// Appends the device's state to the log; to be handed to the relay after the commit.
    func append(_ db: Database, _ row: DeviceRow, at: Timestamp, trace: String) throws -> EventRelay.Committed {
        try append(db, DeviceState.type, row.person, Self.state(row), at: at, trace: trace)
    }

    /// As the other, for a person who pauses or resumes monitoring.
    func append(_ db: Database, _ state: MonitoringState, at: Timestamp, trace: String) throws -> EventRelay.Committed {
        try append(db, MonitoringState.type, state.person, state, at: at, trace: trace)
    }

    private func append(
        _ db: Database, _ type: String, _ person: PersonID, _ body: some Encodable, at: Timestamp, trace: String
    ) throws -> EventRelay.Committed {
        let payload = try Self.payload(body)
        let sequence = try log.append(db, stream: Self.stream, type: type, subject: person, at: at, trace: trace, body: payload)
        return EventRelay.Committed(header: header(type, person, sequence: sequence, at: at, trace: trace)) { payload }
    }

    /// One page of the devices that are active now, or of the people whose monitoring is paused.
    func snapshot(_ db: Database, after place: Place) throws -> SnapshotStream.Reply {
        let head = try log.head(db, Self.stream)
        func fact(_ type: String, _ person: PersonID, _ body: some Encodable) throws -> ReplayStream.Fact {
            ReplayStream.Fact(
                header: header(type, person, sequence: head, at: Timestamp(milliseconds: 0), trace: ""),
                payload: String(decoding: try Self.payload(body), as: UTF8.self))
        }
        var facts: [ReplayStream.Fact] = []
        var pausesAfter: Int64 = 0
        switch place {
        case .devices(let number):
            let rows = try DeviceTable().active(db, after: number, limit: Self.snapshotPage)
            facts = try rows.map { try fact(DeviceState.type, $0.person, Self.state($0)) }
            if rows.count == Self.snapshotPage, let last = rows.last {
                return SnapshotStream.Reply(epoch: epoch, sequence: head, facts: facts, next: Place.devices(after: last.number).text)
            }
        case .pauses(let number): pausesAfter = number
        }
        let people = try PauseTable().lasting(db, after: pausesAfter, limit: Self.snapshotPage)
        facts += try people.map { try fact(MonitoringState.type, $0.person, MonitoringState(person: $0.person, paused: true)) }
        let next = people.count == Self.snapshotPage ? people.last.map { Place.pauses(after: $0.number).text } : nil
        return SnapshotStream.Reply(epoch: epoch, sequence: head, facts: facts, next: next)
    }

    private func header(_ type: String, _ person: PersonID, sequence: Int64, at: Timestamp, trace: String) -> StreamHeader {
        StreamHeader(
            stream: Self.stream, epoch: epoch, sequence: sequence, head: sequence, type: type, subject: person.description, at: at,
            trace: trace)
    }

    private static func state(_ row: DeviceRow) -> DeviceState {
        DeviceState(
            device: row.device, person: row.person, active: row.isActive, intervalMs: row.intervalMs,
            charging: row.isStoppedByCharging ? true : nil, vital: row.measures.metrics.contains(where: \.definition.vital) ? nil : false)
    }

    private static func payload(_ body: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(body))
    }
}
