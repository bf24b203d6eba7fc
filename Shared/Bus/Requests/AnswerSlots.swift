// Whose questions begin while many are being worked on.

import Contracts

/// How many questions of each peer are in work. A part of the slots is kept for each peer of the suite, most for the dispatchers: whoever
/// asks slowly and much fills what is shared, and delays nobody's rescue.
struct AnswerSlots: Sendable {
    let total: Int
    private var inWork: [Peer: Int] = [:]
    private var sum = 0

    init(total: Int) {
        self.total = total
    }

    /// Slots that nobody else may take.
    static func kept(for peer: Peer) -> Int {
        switch peer {
        case .sosDispatcher, .sosDeputy: BusLimits.slotsOfRescue
        case _ where Peer.suite.contains(peer): BusLimits.slotsOfAPeer
        default: 0
        }
    }

    /// Whether one more question of the peer may begin.
    func admits(_ peer: Peer) -> Bool {
        if inWork[peer, default: 0] < AnswerSlots.kept(for: peer) { return true }
        let keptForOthers = Peer.suite.filter { $0 != peer }.reduce(0) { sum, other in
            sum + max(0, AnswerSlots.kept(for: other) - inWork[other, default: 0])
        }
        return sum + keptForOthers < total
    }

    mutating func began(_ peer: Peer) {
        inWork[peer, default: 0] += 1
        sum += 1
    }

    mutating func ended(_ peer: Peer) {
        guard let count = inWork[peer] else { return }
        inWork[peer] = count > 1 ? count - 1 : nil
        sum -= 1
    }
}
