// The form of a group request between the wire and the domain: what was typed goes in, what is wrong with it comes out.

import Contracts

extension TypedGroupRequest {
    init(_ form: GroupRequestForm) {
        func interval(_ typed: GroupRequestForm.Interval?) -> TypedInterval? { typed.map { TypedInterval(from: $0.from, to: $0.to) } }
        self.init(types: form.types, from: form.from.milliseconds, to: form.to.milliseconds, granularity: form.granularity)
        (age, weight, height) = (interval(form.age), interval(form.weight), interval(form.height))
        (sex, occupation, residence, birth) = (form.sex, form.occupation, form.residence, form.birth)
        (attributes, minIndividuals) = (form.attributes, form.minIndividuals)
        area = form.area.map { .cell($0) }
        subscribe = form.subscribe ?? false
        if let product = form.product { self.product = product }
    }
}

extension GroupRequestForm {
    /// Days of one request for statistics: for each of them counters of everybody are charged at once.
    static let longestStatistics = 366

    /// In its canonical form.
    /// - Throws: every fault with its field.
    func read(_ places: PlaceCatalogue, _ policy: AnonymityPolicy, closedUntil: Int?) throws(GroupRequestFaults) -> GroupRequest {
        let unknown = types.indices.filter { place in GroupDataType(code: types[place]).map { !$0.isOffered } ?? false }
        guard unknown.isEmpty else {
            throw GroupRequestFaults(faults: unknown.map { GroupRequestFault("/types/\($0)", .notOffered) })
        }
        // Areas of other shapes than squares are in no catalogue yet.
        let catalogue = RequestCatalogue(places: places, areas: [])
        let request = try TypedGroupRequest(self).read(catalogue, policy, closedUntil: closedUntil ?? 0)
        if request.isSubscription {
            // Who is in a square is known once a day is over: no window may be another group than its day's, nor one that the guard has not
            // compared. And no hour comes in quarters.
            guard request.filters.area == nil else {
                throw GroupRequestFaults(faults: [GroupRequestFault("/filters/area", .closedDaysOnly)])
            }
            guard request.granularity >= .hour else { throw GroupRequestFaults(faults: [GroupRequestFault("/granularity", .notOffered)]) }
        }
        guard request.product != .statistics || request.window.days.count <= Self.longestStatistics else {
            throw GroupRequestFaults(faults: [GroupRequestFault("/to", .tooLong(days: Self.longestStatistics))])
        }
        return request
    }
}

extension GroupFormFault {
    init(_ fault: GroupRequestFault) {
        let said: (code: String, numbers: [Int]) =
            switch fault.reason {
            case .nothingChosen: ("nothing-chosen", [])
            case .namedTwice: ("named-twice", [])
            case .unknown: ("unknown", [])
            case .tooMany(let most): ("too-many", [most])
            case .reversed: ("reversed", [])
            case .outside(let domain): ("outside", [domain.lowerBound, domain.upperBound])
            case .notAMultiple(let step, let below, let above): ("not-a-multiple", [step, below, above])
            case .notAfter: ("not-after", [])
            case .outsidePeriod: ("outside-period", [])
            case .nothingClosed: ("nothing-closed", [])
            case .tooLong(let days): ("too-long", [days])
            case .atLeast(let least): ("at-least", [least])
            case .atMost(let most): ("at-most", [most])
            case .notOffered: ("not-offered", [])
            case .closedDaysOnly: ("closed-days-only", [])
            }
        self.init(pointer: fault.field, code: said.code, numbers: said.numbers)
    }
}

extension RefusalReason {
    /// Its name on the bus.
    var refusal: GroupRefusal {
        switch self {
        case .tooFewIndividuals: .tooFewIndividuals
        case .tooSimilar: .tooSimilar
        case .budgetExhausted: .budgetExhausted
        }
    }
}
