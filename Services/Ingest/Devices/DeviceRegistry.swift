// The devices in memory, for the question that every upload begins with: whose token is this?

import Contracts
import Sealing
import Synchronization

/// A device as an upload needs it.
final class KnownDevice: Sendable {
    let number: Int64
    let device: DeviceID
    let person: PersonID
    let personNumber: Int64
    let intervalMs: Int64?

    init(_ row: DeviceRow) {
        (number, device, person, personNumber, intervalMs) = (row.number, row.device, row.person, row.personNumber, row.intervalMs)
    }
}

/// Active devices by the keyed look-up of their tokens. Filled from the store at the start, changed after each commit.
final class DeviceRegistry: Sendable {
    private struct State {
        var byToken: [UInt128: KnownDevice] = [:]
        /// Revoked ones too: their entries keep naming them.
        var byNumber: [Int64: KnownDevice] = [:]
    }

    private let lookupKey: LookupKey
    private let state: Mutex<State>

    init(_ rows: [DeviceRow], lookupKey: LookupKey) {
        self.lookupKey = lookupKey
        var state = State()
        for row in rows { Self.put(row, into: &state) }
        self.state = Mutex(state)
    }

    private static func put(_ row: DeviceRow, into state: inout State) {
        let known = KnownDevice(row)
        state.byNumber[row.number] = known
        if row.isActive { state.byToken[word(row.tokenLookup)] = known } else { state.byToken[word(row.tokenLookup)] = nil }
    }

    private static func word(_ lookup: [UInt8]) -> UInt128 {
        lookup.prefix(16).reduce(0) { $0 << 8 | UInt128($1) }
    }

    func tokenLookup(_ token: String) -> [UInt8] {
        lookupKey.lookup(token)
    }

    /// The active device with this token. Tokens are 256 random bits and only their keyed digests are compared.
    func device(withToken token: String) -> KnownDevice? {
        let word = Self.word(tokenLookup(token))
        return state.withLock { $0.byToken[word] }
    }

    func device(number: Int64) -> KnownDevice? {
        state.withLock { $0.byNumber[number] }
    }

    /// Takes over what the store now says of a device.
    func update(_ row: DeviceRow) {
        state.withLock { Self.put(row, into: &$0) }
    }

    var activeCount: Int {
        state.withLock { $0.byToken.count }
    }
}
