// What was accepted, what has arrived where and when, and what was withdrawn.

import Contracts
import Synchronization

/// The ways by which an organisation gets what is new.
enum DeliveryWay: String, CaseIterable, Sendable {
    case rest = "REST"
    case events = "SSE"
    case webhooks = "webhooks"
}

/// Each person has one entry of each type in each second. An entry has arrived with the item of its second.
final class DeliveryLedger: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Line: Sendable {
        let request: String
        let way: DeliveryWay
        let wearer: Int
        let types: [String]
    }

    private struct State {
        var accepted: [Instant?]
        /// By line, type and second.
        var arrived: [Instant?]
        /// By line: the number up to which everything came.
        var head: [Int64]
        /// By line: when an item was last sent here, taken or not.
        var lastSent: [Instant?]
        var duplicates: [DeliveryWay: Int] = [:]
        var outOfOrder = 0
        var strange = 0
    }

    let lines: [Line]
    private let places: [String: Int]
    private let firstSecond: Int64
    private let seconds: Int
    private let state: Mutex<State>

    init(_ lines: [Line], wearers: Int, firstSecond: Int64, seconds: Int) {
        (self.lines, self.firstSecond, self.seconds) = (lines, firstSecond, seconds)
        places = Dictionary(uniqueKeysWithValues: lines.enumerated().map { ($1.request, $0) })
        state = Mutex(
            State(
                accepted: Array(repeating: nil, count: wearers * seconds),
                arrived: Array(repeating: nil, count: lines.count * Self.types * seconds), head: Array(repeating: 0, count: lines.count),
                lastSent: Array(repeating: nil, count: lines.count)))
    }

    /// Types of one subscription.
    static let types = 2

    func accepted(_ wearer: Int, second: Int) {
        state.withLock { $0.accepted[wearer * seconds + second] = .now }
    }

    /// Items that came; of a message that is refused only the sending counts.
    /// - Parameter request: where the text itself does not say.
    /// - Returns: the last number.
    @discardableResult
    func received(_ bytes: some RandomAccessCollection<UInt8>, of request: String? = nil, isTaken: Bool = true) -> Int64? {
        let now = Instant.now
        var last: Int64?
        state.withLock { state in
            let isWhole = ItemScan.each(bytes) { named, item in
                last = item.number
                guard let line = (named ?? request).flatMap({ places[$0] }) else {
                    state.strange += 1
                    return
                }
                state.lastSent[line] = now
                if isTaken { take(&state, line, item, now) }
            }
            if !isWhole { state.strange += 1 }
        }
        return last
    }

    private func take(_ state: inout State, _ line: Int, _ item: ReceivedItem, _ now: Instant) {
        guard item.number > state.head[line] else {
            state.duplicates[lines[line].way, default: 0] += 1
            return
        }
        if item.number != state.head[line] + 1 { state.outOfOrder += 1 }
        state.head[line] = item.number
        let second = item.at.milliseconds / 1000 - firstSecond
        guard let type = lines[line].types.firstIndex(of: item.type), (0..<Int64(seconds)).contains(second) else {
            state.strange += 1
            return
        }
        let place = (line * Self.types + type) * seconds + Int(second)
        if state.arrived[place] == nil { state.arrived[place] = now } else { state.strange += 1 }
    }

    // MARK: What it came to

    struct Account: Sendable {
        var expected = 0
        var missing = 0
        /// From acceptance to arrival, ms, ascending.
        var took: [Double] = []
    }

    /// Of these seconds; lines that are left out count for nothing.
    func account(of way: DeliveryWay, seconds range: Range<Int>, without: Set<String> = []) -> Account {
        state.withLock { state in
            var account = Account()
            for (line, known) in lines.enumerated() where known.way == way && !without.contains(known.request) {
                for second in range {
                    guard let accepted = state.accepted[known.wearer * seconds + second] else { continue }
                    for type in 0..<Self.types {
                        account.expected += 1
                        if let arrived = state.arrived[(line * Self.types + type) * seconds + second] {
                            account.took.append(max(0, (arrived - accepted).milliseconds))
                        } else {
                            account.missing += 1
                        }
                    }
                }
            }
            account.took.sort()
            return account
        }
    }

    func lastSent(_ request: String) -> Instant? {
        places[request].flatMap { place in state.withLock { $0.lastSent[place] } }
    }

    /// Items that came again, items that came out of order, and what nobody expected.
    var oddities: (duplicates: Int, outOfOrder: Int, strange: Int) {
        state.withLock { ($0.duplicates.values.reduce(0, +), $0.outOfOrder, $0.strange) }
    }
}
