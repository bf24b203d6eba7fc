// Requests: what is wrong with them, and the one canonical form of those that mean the same.

import Contracts
import TestKit
import Testing

@testable import Anonymiser

@Suite("GroupRequest")
struct GroupRequestTests {
    private static let day: Int64 = 86_400_000

    private static func faults(_ change: (inout TypedGroupRequest) -> Void) -> [GroupRequestFault] {
        do {
            _ = try Samples.read(Samples.request(change))
            return []
        } catch {
            return error.faults
        }
    }

    @Test("a request without a characteristic of people is refused, also if it names an area")
    func nothingChosen() {
        #expect(Self.faults { $0.age = nil } == [GroupRequestFault("/filters", .nothingChosen)])
        #expect(
            Self.faults {
                $0.age = nil
                $0.area = .area("parco-sempione")
            } == [GroupRequestFault("/filters", .nothingChosen)])
    }

    @Test("a wrong field is named, with what is wrong about it")
    func fields() {
        func expect(_ field: String, _ reason: GroupRequestFault.Reason, _ change: (inout TypedGroupRequest) -> Void) {
            #expect(Self.faults(change) == [GroupRequestFault(field, reason)])
        }
        expect("/filters/age", .reversed) { $0.age = TypedInterval(from: 40, to: 20) }
        expect("/filters/age", .nothingChosen) { $0.age = TypedInterval() }
        expect("/filters/age", .outside(0...120)) { $0.age = TypedInterval(from: 121, to: 130) }
        expect("/filters/weight", .outside(30...200)) { $0.weight = TypedInterval(from: 0, to: 29) }
        expect("/filters/weight/from", .notAMultiple(of: 5, below: 60, above: 65)) { $0.weight = TypedInterval(from: 61, to: 80) }
        expect("/filters/height/to", .notAMultiple(of: 5, below: 175, above: 180)) { $0.height = TypedInterval(from: 150, to: 179) }
        expect("/filters/sex", .nothingChosen) { $0.sex = [] }
        expect("/filters/sex", .namedTwice) { $0.sex = ["male", "male"] }
        expect("/filters/sex/1", .unknown) { $0.sex = ["male", "Female"] }
        expect("/filters/occupation/0", .unknown) { $0.occupation = ["retired"] }
        expect("/filters/residence/0", .unknown) { $0.residence = ["nowhere"] }
        expect("/filters/birth", .nothingChosen) { $0.birth = [] }
        expect("/filters/birth", .tooMany(1000)) { $0.birth = [String](repeating: "IT", count: 1001) }
        expect("/filters/area", .unknown) { $0.area = .area("hyde-park") }
        expect("/filters/area", .outside(GridCell.bounds)) { $0.area = .cell(GridCell(x: 50_000, y: 0)) }
        expect("/types", .nothingChosen) { $0.types = [] }
        expect("/types/0", .unknown) { $0.types = ["glucose > 200"] }
        expect("/granularity", .unknown) { $0.granularity = "minute" }
        expect("/product", .unknown) { $0.product = "rows" }
        expect("/attributes/0", .unknown) { $0.attributes = ["name"] }
        expect("/to", .notAfter("from")) { $0.to = $0.from }
        expect("/from", .outsidePeriod) { $0.from = -1 }
        expect("/to", .outsidePeriod) { $0.to = .max }
        expect("/to", .tooLong(days: 3660)) { $0.from = 0 }
        expect("/to", .nothingClosed) {
            $0.from = Int64(Samples.today) * Self.day
            $0.to = $0.from + Self.day
        }
        expect("/minIndividuals", .atLeast(1000)) { $0.minIndividuals = 999 }
        expect("/minIndividuals", .atMost(100_000_000)) { $0.minIndividuals = .max }
        expect("/granularity", .notOffered) { ($0.types, $0.granularity) = (["position"], "quarter-hour") }
        expect("/types", .notOffered) { ($0.types, $0.product) = (["position"], "statistics") }
        expect("/attributes", .notOffered) { ($0.attributes, $0.product) = (["weight"], "statistics") }
        expect("/to", .outsidePeriod) { $0.subscribe = true }
    }

    @Test("all faults are told at once")
    func together() {
        let faults = Self.faults {
            $0.sex = []
            $0.types = []
            $0.granularity = "?"
        }
        #expect(faults.map(\.field) == ["/filters/sex", "/types", "/granularity"])
    }

    @Test("1000 is the least wanted size, and asks for no more than the rule does")
    func size() throws {
        #expect(try Samples.read(Samples.request { $0.minIndividuals = 1000 }).minIndividuals == nil)
        #expect(try Samples.read(Samples.request { $0.minIndividuals = 1001 }).minIndividuals == nil)
        #expect(try Samples.read(Samples.request { $0.minIndividuals = 1002 }).minIndividuals == 1050)
    }

    @Test("intervals are clamped to the public domain; those that hold all of it are dropped")
    func clamping() throws {
        #expect(try Samples.filters { $0.age = TypedInterval(from: -5, to: 40) }.age == 0...40)
        #expect(try Samples.filters { $0.age = TypedInterval(from: 0, to: 300) }.age == nil)
        #expect(try Samples.filters { $0.age = TypedInterval(from: 65, to: nil) }.age == 65...120)
        #expect(try Samples.filters { $0.weight = TypedInterval(from: 13, to: 60) }.weight == 30...60)
        #expect(try Samples.filters { $0.weight = TypedInterval(from: 100, to: 203) }.weight == 100...200)
        #expect(try Samples.filters { $0.sex = ["male", "other", "female"] }.sexes == [])
    }

    @Test("days are whole, and end with the last that is closed")
    func window() throws {
        let start = Int64(Samples.today - 3) * Self.day
        func days(_ from: Int64, _ to: Int64, subscribe: Bool = false) throws -> Range<Int> {
            try Samples.read(
                Samples.request {
                    ($0.from, $0.to, $0.subscribe) = (from, to, subscribe)
                }
            ).window.days
        }
        #expect(try days(start + 1, start + 2) == Samples.today - 3..<Samples.today - 2)
        #expect(try days(start, start + Self.day) == Samples.today - 3..<Samples.today - 2)
        #expect(try days(start, start + Self.day + 1) == Samples.today - 3..<Samples.today - 1)
        #expect(try days(start, start + 30 * Self.day) == Samples.today - 3..<Samples.today)
        #expect(try days(start, start + 30 * Self.day, subscribe: true) == Samples.today - 3..<Samples.today + 27)
    }

    @Test("a full list of provinces is the region, of regions the area, of all places nothing; what lies within another place is dropped")
    func places() throws {
        func codes(_ typed: [String]) throws -> [String] {
            try Samples.filters { $0.residence = typed }.residence.map(\.code)
        }
        #expect(try codes(["P000", "P001"]) == ["R00"])
        #expect(try codes(["P001", "C0000", "C0001", "C0002"]) == ["R00"])
        #expect(try codes(["P001", "P000", "R01", "A1"]) == ["IT"])
        #expect(try codes(["IT", "C0001"]) == ["IT"])
        #expect(try codes(["IT", "FR", "JP"]) == [])
        #expect(try codes(["R10", "C0001"]) == ["C0001", "R10"])
    }

    @Test("requests that mean the same have the same bytes, whatever they look like; others have others")
    func rewriting() throws {
        let seed: UInt64 = 0xA11CE
        var generator = SeededGenerator(seed: seed)
        var known: [[UInt8]: GroupFilters] = [:]
        for round in 0..<2000 {
            var typed = Samples.request()
            typed.residence = ["P000", "P001", "P010", "C0100", "R10", "FR", "JP"].filter { _ in Bool.random(using: &generator) }
            if typed.residence?.isEmpty == true { typed.residence = nil }
            typed.sex = Bool.random(using: &generator) ? ["male"] : nil
            typed.occupation = Bool.random(using: &generator) ? ["student", "employed"] : nil
            typed.age = TypedInterval(from: Int.random(in: 0...3, using: &generator), to: 120)
            typed.weight = Bool.random(using: &generator) ? TypedInterval(from: 60, to: 80) : nil

            var rewritten = typed
            rewritten.residence = typed.residence?.flatMap { code -> [String] in
                guard Bool.random(using: &generator), let index = Samples.places.index(code) else { return [code] }
                let children = Samples.places.places[index].children.map { Samples.places.places[$0].code }
                return children.isEmpty ? [code] : children
            }.shuffled(using: &generator)
            rewritten.residence = rewritten.residence.map { Array(Set($0)) }
            rewritten.occupation = typed.occupation?.reversed()
            if typed.sex == nil { rewritten.sex = ["other", "male", "female"] }
            if typed.weight == nil { rewritten.weight = TypedInterval(from: -100, to: 1000) }
            rewritten.age?.to = 500
            rewritten.from += Int64.random(in: 0..<Self.day, using: &generator)

            let (one, other) = (try Samples.read(typed), try Samples.read(rewritten))
            #expect(one == other && one.canonicalBytes == other.canonicalBytes, "seed \(seed), round \(round)")
            #expect(known.updateValue(one.filters, forKey: one.filters.canonicalBytes) ?? one.filters == one.filters)
        }
        #expect(Set(known.values).count == known.count)
    }

    @Test("a table's key knows its filters, type, bucket and classes, and nothing of the rest of the request")
    func tableKeys() throws {
        let long = try Samples.read(Samples.request { $0.types = ["steps", "heart-rate"] })
        let short = try Samples.read(
            Samples.request {
                $0.from += 3 * Self.day
                $0.minIndividuals = 5000
            })
        let keys = Set(long.tableKeys(.day).map(\.canonicalBytes))
        #expect(keys.count == 20 && long.tableKeys(.day).count == 20)
        #expect(Set(short.tableKeys(.day).map(\.canonicalBytes)).isSubset(of: keys))
        #expect(Set(short.tableKeys(.hour).map(\.canonicalBytes)).isDisjoint(with: keys))
    }
}

@Suite("TimeGrid")
struct TimeGridTests {
    @Test("buckets lie on the global grid and wholly in the window; weeks begin on Monday")
    func buckets() {
        let window = DayWindow(20_500..<20_520)
        for granularity in Granularity.allCases {
            let buckets = granularity.buckets(in: window)
            #expect(buckets.allSatisfy { window.span.start <= $0.start && $0.end <= window.span.end })
            #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.end == $1.start })
            if granularity != .window { #expect(buckets.allSatisfy { granularity.bucket(holding: $0.end - 1) == $0 }) }
        }
        #expect(Granularity.hour.buckets(in: window).count == 480 && Granularity.window.buckets(in: window) == [window.span])
        // 5 January 1970 was a Monday.
        #expect(Granularity.week.buckets(in: window).allSatisfy { ($0.days.lowerBound - 4) % 7 == 0 && $0.days.count == 7 })
        #expect(Granularity.week.bucket(holding: -1) == TimeSpan(-3 * 96, 4 * 96))
        #expect(Granularity.thirtyDays.buckets(in: DayWindow(1..<30)).isEmpty)
    }

    @Test("division rounds down, and to the nearest with halves up, also below zero")
    func division() {
        #expect((-7).flooredQuotient(2) == -4 && 7.flooredQuotient(2) == 3)
        #expect((-7).roundedQuotient(2) == -3 && 7.roundedQuotient(2) == 4 && 5.roundedQuotient(3) == 2 && (-5).roundedQuotient(3) == -2)
    }
}
