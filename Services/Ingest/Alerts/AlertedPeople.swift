// Who is in an alert, and how often their devices are to measure meanwhile (SOS-11).

import Contracts
import HTTPKit
import ServiceKit
import Synchronization

/// What a device is asked for. Without an alert it measures as it declared.
struct AskedRate: Hashable, Codable, Sendable {
    enum State: String, Codable, Sendable, CaseIterable {
        case normal
        case alerted
    }

    var state: State
    /// At most what the device reported that it can do.
    var measurementsPerSecond: Double?

    static let normal = AskedRate(state: .normal)
}

/// In memory, as the store has it. While nobody is alerted, an upload pays for one load of a number.
final class AlertedPeople: Sendable {
    private let count = Atomic<Int>(0)
    private let rates = Mutex<[PersonID: Double]>([:])
    /// Devices that listen.
    let changes = Watchers<PersonID>(limit: HTTPLimits().streamsPerCaller)

    /// Takes over what is alerted now, everybody at the start and one person later.
    func takeOver(_ alerted: [PersonID: Double]) {
        let changed = rates.withLock { rates in
            let changed = Set(rates.keys).union(alerted.keys).filter { rates[$0] != alerted[$0] }
            rates = alerted
            count.store(rates.count, ordering: .releasing)
            return changed
        }
        for person in changed { changes.notify(person) }
    }

    func set(_ rate: Double?, of person: PersonID) {
        let isNew = rates.withLock { rates in
            defer {
                rates[person] = rate
                count.store(rates.count, ordering: .releasing)
            }
            return rates[person] != rate
        }
        if isNew { changes.notify(person) }
    }

    func rate(of person: PersonID) -> Double? {
        guard count.load(ordering: .acquiring) > 0 else { return nil }
        return rates.withLock { $0[person] }
    }

    /// What this device is asked for; nil where there is no alert.
    func asked(of device: KnownDevice) -> AskedRate? {
        rate(of: device.person).map {
            AskedRate(state: .alerted, measurementsPerSecond: AskedRate.capped($0, fastest: device.fastestIntervalMs))
        }
    }
}

extension AskedRate {
    /// - Parameter fastest: the shortest interval, in ms, that the device can do; nil where it is not known.
    static func capped(_ rate: Double, fastest: Int64?) -> Double {
        min(rate, fastest.map { 1000 / Double(max(1, $0)) } ?? rate)
    }
}
