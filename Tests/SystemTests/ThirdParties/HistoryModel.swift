// What consent and gateway must say after everything that was answered so far: requests, grants and payments by other hands. Pure.

import Contracts
import TestKit

struct HistoryModel: Sendable {
    struct Request: Sendable {
        let company: Int
        let person: Int
        let types: Set<Metric>
        /// Before (negative) and after the history's beginning.
        let days: Range<Int>
        var status = RequestStatus.pending
        var shared: Set<Metric> = []
        var grant: GrantID?
        /// The company has paid, and was told so.
        var isPaid = false
        /// Something of it has left.
        var isDelivered = false

        var isOpen: Bool { status == .pending || status == .approved }
        var isSubscription: Bool { days.upperBound > 0 }

        /// INV-03, INV-04, INV-20.
        func mayHave(_ type: Metric) -> Bool {
            status == .approved && isPaid && shared.contains(type)
        }

        /// What its payment must have come to.
        var payment: String {
            switch status {
            case .pending: "not-due"
            case .declined, .expired: "void"
            // What the company itself has ended stays due (SHR-25).
            case .approved, .ended: isPaid ? "paid" : "due"
            case .revoked: isPaid ? (isDelivered ? "paid" : "refunded") : "void"
            }
        }

        var delivery: String {
            switch status {
            case .pending: "waiting"
            case .approved: isPaid ? "ready" : "payment-outstanding"
            case .declined, .expired, .revoked, .ended: "closed"
            }
        }
    }

    var requests: [RequestID: Request] = [:]

    /// INV-05, SHR-18: the open request that is in the way.
    func covering(_ wanted: Request) -> RequestID? {
        requests.first { _, known in
            known.isOpen && known.person == wanted.person && known.company == wanted.company && known.days.overlaps(wanted.days)
                && !(known.status == .approved ? known.shared : known.types).isDisjoint(with: wanted.types)
        }?.key
    }

    mutating func answered(_ id: RequestID, grant: GrantID?) {
        guard var request = requests[id] else { return }
        (request.status, request.grant) = (grant == nil ? .declined : .approved, grant)
        request.shared = grant == nil ? [] : request.types
        requests[id] = request
    }

    /// - Parameter type: nil withdraws everything.
    mutating func withdrawn(_ id: RequestID, _ type: Metric?) {
        guard let request = requests[id], request.status == .approved else { return }
        let left = type.map { request.shared.subtracting([$0]) } ?? []
        requests[id]?.shared = left
        if left.isEmpty { requests[id]?.status = .revoked }
    }

    mutating func ended(_ id: RequestID) {
        guard requests[id]?.status == .approved else { return }
        requests[id]?.status = .ended
        requests[id]?.shared = []
    }
}

/// One step of a history.
enum HistoryStep: Sendable {
    case open(HistoryModel.Request)
    case answer(RequestID, accept: Bool)
    case withdraw(RequestID, GrantID, Metric?)
    case end(RequestID)
    case pay(RequestID, isDeclined: Bool)
    case read(RequestID, Metric)
    case file(RequestID)
    /// The time to answer passes.
    case expire(RequestID)
}

extension HistoryModel {
    static let metrics: [Metric] = [.heartRate, .bodyTemperature, .oxygenSaturation]

    /// - Parameters:
    ///   - people: how many there are.
    ///   - companies: how many there are.
    func draw(_ dice: inout SeededGenerator, people: Int, companies: Int) -> HistoryStep {
        let type = Self.metrics[Int.random(in: 0..<Self.metrics.count, using: &dice)]
        let choice = Int.random(in: 0..<20, using: &dice)
        let likely: (Request) -> Bool =
            switch choice {
            case 4..<9: { $0.status == .pending }
            case 9..<12: { $0.status == .approved }
            case 12..<15: { $0.payment == "due" }
            case 15..<18: { $0.mayHave(type) }
            case 18: { $0.delivery == "ready" }
            default: { $0.status == .pending }
            }
        guard choice >= 4, let id = pick(&dice, likely), let request = requests[id] else {
            return .open(drawRequest(&dice, people, companies))
        }
        switch choice {
        case 4..<9: return .answer(id, accept: Int.random(in: 0..<5, using: &dice) > 0)
        case 9..<11:
            guard let grant = request.grant else { return .answer(id, accept: true) }
            let all = request.types.sorted { $0.number < $1.number }
            return .withdraw(id, grant, Int.random(in: 0..<3, using: &dice) == 0 ? nil : all.randomElement(using: &dice))
        case 11: return .end(id)
        case 12..<15: return .pay(id, isDeclined: Int.random(in: 0..<4, using: &dice) == 0)
        case 15..<18: return .read(id, type)
        case 18: return .file(id)
        default: return request.status == .pending ? .expire(id) : .read(id, type)
        }
    }

    /// Mostly one to which something will come of it, at times any.
    private func pick(_ dice: inout SeededGenerator, _ isLikely: (Request) -> Bool) -> RequestID? {
        let all = requests.keys.sorted { $0.bits < $1.bits }
        let likely = all.filter { requests[$0].map(isLikely) ?? false }
        return Int.random(in: 0..<4, using: &dice) > 0
            ? likely.randomElement(using: &dice) ?? all.randomElement(using: &dice)
            : all.randomElement(using: &dice)
    }

    private func drawRequest(_ dice: inout SeededGenerator, _ people: Int, _ companies: Int) -> Request {
        let start = Int.random(in: 0..<9, using: &dice) - 6
        let types = Set((0..<2).map { _ in Self.metrics[Int.random(in: 0..<Self.metrics.count, using: &dice)] })
        return Request(
            company: Int.random(in: 0..<companies, using: &dice), person: Int.random(in: 0..<people, using: &dice), types: types,
            // Always something of the past, which is where the data are.
            days: min(start, -1)..<min(start, -1) + 1 + Int.random(in: 0..<4, using: &dice))
    }
}
