// The canonical filters of a group: a conjunction of one predicate per attribute.

import Contracts

enum Sex: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case female = 1
    case male = 2
    case other = 3

    var code: String {
        switch self {
        case .female: "female"
        case .male: "male"
        case .other: "other"
        }
    }

    static func < (one: Sex, other: Sex) -> Bool { one.rawValue < other.rawValue }
}

/// ANO-03.
enum Occupation: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case student = 1
    case employed = 2
    case unemployed = 3

    var code: String {
        switch self {
        case .student: "student"
        case .employed: "employed"
        case .unemployed: "unemployed"
        }
    }

    static func < (one: Occupation, other: Occupation) -> Bool { one.rawValue < other.rawValue }
}

/// Where data were collected.
enum AreaFilter: Hashable, Sendable {
    /// Code of the public catalogue of areas.
    case area(String)
    case cell(GridCell)
}

/// An attribute by which a person can be chosen or classed.
enum PersonAttribute: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case age = 1
    case sex = 2
    case residence = 3
    case birthPlace = 4
    case occupation = 5
    case weight = 6
    case height = 7

    /// The name on the wire.
    var code: String {
        switch self {
        case .age: "age"
        case .sex: "sex"
        case .residence: "residence"
        case .birthPlace: "birth"
        case .occupation: "occupation"
        case .weight: "weight"
        case .height: "height"
        }
    }

    static func < (one: PersonAttribute, other: PersonAttribute) -> Bool { one.rawValue < other.rawValue }

    /// The public domain of a number: years, kg, cm. What people are beyond it counts as its end.
    var domain: ClosedRange<Int>? {
        switch self {
        case .age: 0...120
        case .weight: 30...200
        case .height: 100...220
        case .sex, .residence, .birthPlace, .occupation: nil
        }
    }

    /// Bounds of an interval are multiples of this.
    var boundStep: Int { self == .weight || self == .height ? 5 : 1 }
}

/// Two requests mean the same people exactly if their filters are equal. A predicate that is nil or empty is not there.
struct GroupFilters: Hashable, Sendable {
    /// In whole years; both ends belong to it, as in the other two.
    var age: ClosedRange<Int>?
    /// In whole kg.
    var weight: ClosedRange<Int>?
    /// In whole cm.
    var height: ClosedRange<Int>?
    /// Sorted.
    var sexes: [Sex] = []
    /// Sorted.
    var occupations: [Occupation] = []
    /// Ranges of leaves of the catalogue, reduced, in order.
    var residence: [PlaceChoice] = []
    /// Likewise.
    var birth: [PlaceChoice] = []
    var area: AreaFilter?
}

/// A place of the catalogue: its code names it for ever, its leaves only in this catalogue.
struct PlaceChoice: Hashable, Sendable {
    let code: String
    let leaves: Range<Int>
}

// MARK: What filters say about each other, without looking at people

extension GroupFilters {
    /// Whether nobody can be in both groups. False where only data could tell.
    func isDisjoint(with other: GroupFilters) -> Bool {
        func apart(_ one: ClosedRange<Int>?, _ two: ClosedRange<Int>?) -> Bool {
            guard let one, let two else { return false }
            return !one.overlaps(two)
        }
        func apart<Value: Hashable>(_ one: [Value], _ two: [Value]) -> Bool {
            !one.isEmpty && !two.isEmpty && Set(one).isDisjoint(with: two)
        }
        func apart(_ one: [PlaceChoice], _ two: [PlaceChoice]) -> Bool {
            !one.isEmpty && !two.isEmpty && !one.contains { place in two.contains { $0.leaves.overlaps(place.leaves) } }
        }
        return apart(age, other.age) || apart(weight, other.weight) || apart(height, other.height) || apart(sexes, other.sexes)
            || apart(occupations, other.occupations) || apart(residence, other.residence) || apart(birth, other.birth)
    }

    /// Whether everybody of this group is in the other one. False where only data could tell.
    func isContained(in other: GroupFilters) -> Bool {
        func within(_ one: ClosedRange<Int>?, _ two: ClosedRange<Int>?) -> Bool {
            guard let two else { return true }
            return one.map { two.lowerBound <= $0.lowerBound && $0.upperBound <= two.upperBound } ?? false
        }
        func within<Value: Hashable>(_ one: [Value], _ two: [Value]) -> Bool {
            two.isEmpty || (!one.isEmpty && Set(one).isSubset(of: two))
        }
        func within(_ one: [PlaceChoice], _ two: [PlaceChoice]) -> Bool {
            if two.isEmpty { return true }
            return !one.isEmpty
                && one.allSatisfy { place in
                    two.contains { $0.leaves.lowerBound <= place.leaves.lowerBound && place.leaves.upperBound <= $0.leaves.upperBound }
                }
        }
        return within(age, other.age) && within(weight, other.weight) && within(height, other.height) && within(sexes, other.sexes)
            && within(occupations, other.occupations) && within(residence, other.residence) && within(birth, other.birth)
            && (other.area == nil || other.area == area)
    }
}
