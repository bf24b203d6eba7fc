// What an organisation has asked of one person before, and whether it may ask again.

import Contracts

struct RequestHistory: Sendable {
    private let earlier: [SharingRequest]

    /// - Parameter earlier: all of one organisation to one person; those whose time is over are expired already.
    init(_ earlier: [SharingRequest]) {
        self.earlier = earlier
    }

    enum Refusal: Hashable, Sendable {
        /// SHR-18: an open request shares a type and an instant with the new one.
        case covered(by: RequestID)
        /// CON-22: the same was refused a short while ago.
        case tooSoon(until: Timestamp)

        var text: String {
            switch self {
            case .covered(let request): "an open request already covers this: \(request)"
            case .tooSoon(let until): "the person did not agree to this; ask again after \(until.rfc3339)"
            }
        }
    }

    /// Nil where the new request may be made. Requests for other types or times are independent of earlier ones.
    func refusal(of scope: SharingScope, at now: Timestamp, wait: Duration) -> Refusal? {
        let meeting = earlier.filter { $0.scope.overlaps(scope) }
        if let open = meeting.first(where: { request in request.isOpen && (request.grantInForce?.scope ?? request.scope).overlaps(scope) })
        {
            return .covered(by: open.id)
        }
        let refusals = meeting.filter { $0.status == .declined || $0.status == .expired }.map { $0.changedAt + wait }
        guard let until = refusals.max(), until > now else { return nil }
        return .tooSoon(until: until)
    }
}
