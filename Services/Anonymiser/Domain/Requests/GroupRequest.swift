// A request for the data of a group: as it was typed, and as it is judged.

/// What is released.
enum ReleaseProduct: UInt8, Hashable, Sendable, CaseIterable {
    /// Product R: entries that each describe at least ten people.
    case records = 1
    /// Product A: statistics with differential privacy.
    case statistics = 2

    var code: String {
        switch self {
        case .records: "records"
        case .statistics: "statistics"
        }
    }
}

/// An interval as it was typed; a missing end is the domain's.
struct TypedInterval: Hashable, Sendable {
    var from: Int?
    var to: Int?
}

/// A request as it was typed. Lists that are nil were not there.
struct TypedGroupRequest: Hashable, Sendable {
    var age: TypedInterval?
    var weight: TypedInterval?
    var height: TypedInterval?
    var sex: [String]?
    var occupation: [String]?
    /// Codes of places.
    var residence: [String]?
    var birth: [String]?
    var area: AreaFilter?
    var types: [String]
    /// In ms since 1970.
    var from: Int64
    /// Not included.
    var to: Int64
    var granularity: String
    var product = "records"
    /// The classes of entries; nil for sex and age.
    var attributes: [String]?
    /// The wanted size, a floor (ANO-05).
    var minIndividuals: Int?
    /// Whether windows that close from now on are delivered as they close.
    var subscribe = false
}

/// A request in its one canonical form.
struct GroupRequest: Hashable, Sendable {
    let filters: GroupFilters
    /// Sorted, each once, at least one.
    let types: [GroupDataType]
    let window: DayWindow
    let granularity: Granularity
    let product: ReleaseProduct
    /// Sorted, each once; may be empty.
    let attributes: [PersonAttribute]
    /// Nil where it asks for no more than the policy does.
    let minIndividuals: Int?
    let isSubscription: Bool
}

/// What is wrong with a request: the field as a JSON pointer, and why. Never repeats what was sent.
struct GroupRequestFault: Hashable, Sendable {
    enum Reason: Hashable, Sendable {
        /// At least one characteristic of people is needed (ANO-02), or one of this list.
        case nothingChosen
        case namedTwice
        case unknown
        case tooMany(Int)
        /// The interval ends before it begins.
        case reversed
        /// Nobody can be in it.
        case outside(ClosedRange<Int>)
        /// Not a multiple; the two nearest bounds that are legal.
        case notAMultiple(of: Int, below: Int, above: Int)
        case notAfter(String)
        /// Before the first day that there can be, or later than can be asked for.
        case outsidePeriod
        /// No whole day is over yet within the period.
        case nothingClosed
        case tooLong(days: Int)
        case atLeast(Int)
        case atMost(Int)
        /// This granularity, type or attribute is not offered together with another choice.
        case notOffered
        /// What chooses people by whole days that are over is in no subscription.
        case closedDaysOnly
    }

    let field: String
    let reason: Reason

    init(_ field: String, _ reason: Reason) {
        (self.field, self.reason) = (field, reason)
    }
}

struct GroupRequestFaults: Error, Hashable, Sendable {
    /// At least one.
    let faults: [GroupRequestFault]
}
