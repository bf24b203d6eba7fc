// SQL sentences for the stream `ingest.devices`: what is published of a device or a pause in the transaction that changes it.

import Contracts
import GRDB
import ServiceKit

struct DeviceEventStore: Sendable {
    static let stream = StreamFamily.devices.streams[0]
    static let snapshotPage = 1000

    /// How far a snapshot has come: first the devices, then the people who have paused.
    private enum Place: SnapshotPlace {
        case devices(after: Int64)
        case pauses(after: Int64)

        static let start = Place.devices(after: 0)

        init?(cursor: String) {
            if cursor.hasPrefix("p"), let number = Int64(cursor.dropFirst()) {
                self = .pauses(after: number)
            } else if let number = Int64(cursor) {
                self = .devices(after: number)
            } else {
                return nil
            }
        }

        var cursor: String {
            switch self {
            case .devices(let number): String(number)
            case .pauses(let number): "p\(number)"
            }
        }
    }

    private let devices: StateStream<DeviceState>
    private let pauses: StateStream<MonitoringState>
    private let relay: EventRelay

    /// - Parameter relay: of the family `ingest.devices`.
    init(epoch: String, relay: EventRelay) {
        self.relay = relay
        let log = FactLog(stream: Self.stream, epoch: epoch)
        (devices, pauses) = (StateStream(DeviceState.type, in: log), StateStream(MonitoringState.type, in: log))
    }

    /// What the device is after the change.
    func publish(_ db: Database, _ row: DeviceRow, at: Timestamp, trace: String) throws {
        relay.publish(try devices.append(db, Self.state(row), about: row.person, at: at, trace: trace), afterCommitOf: db)
    }

    /// That a person pauses or resumes monitoring.
    func publish(_ db: Database, _ state: MonitoringState, at: Timestamp, trace: String) throws {
        relay.publish(try pauses.append(db, state, about: state.person, at: at, trace: trace), afterCommitOf: db)
    }

    /// One page of the devices that are active now, or of the people whose monitoring is paused.
    func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        var facts: [FactLog.Current] = []
        var pausesAfter: Int64 = 0
        switch try asked.place(Place.self) {
        case .devices(let number):
            let rows = try DeviceStore().active(db, after: number, limit: Self.snapshotPage)
            facts = try rows.map { try devices.current(Self.state($0), about: $0.person) }
            if rows.count == Self.snapshotPage, let last = rows.last {
                return try devices.log.page(db, facts, next: Place.devices(after: last.number).cursor)
            }
        case .pauses(let number): pausesAfter = number
        }
        let people = try PauseStore().lasting(db, after: pausesAfter, limit: Self.snapshotPage)
        facts += try people.map { try pauses.current(MonitoringState(person: $0.person, paused: true), about: $0.person) }
        let next = people.count == Self.snapshotPage ? people.last.map { Place.pauses(after: $0.number).cursor } : nil
        return try devices.log.page(db, facts, next: next)
    }

    private static func state(_ row: DeviceRow) -> DeviceState {
        DeviceState(
            device: row.device, person: row.person, active: row.isActive, intervalMs: row.intervalMs,
            charging: row.isStoppedByCharging ? true : nil, vital: row.mayDeliverVital ? nil : false)
    }
}
