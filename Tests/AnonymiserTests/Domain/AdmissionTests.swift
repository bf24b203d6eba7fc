// The bound of 1001 people, the ladder of granularities, and what refusals say.

import TestKit
import Testing

@testable import Anonymiser

@Suite("Admission")
struct AdmissionTests {
    private static func people(_ range: Range<Int>) -> Bitmap { Bitmap(size: 5000, members: range) }

    @Test(
        "1000 distinct people are refused and 1001 admitted, of all types together",
        arguments: [
            ([0..<1000], nil, false), ([0..<1001], nil, true), ([0..<5000], 5000, true), ([0..<4999], 5000, false), ([0..<0], nil, false),
            ([0..<3000, 1999..<5000], nil, true), ([0..<3000, 2000..<5000], nil, false), ([0..<1001, 0..<1000], nil, false),
            ([0..<1001, 0..<5000], 1000, true), ([0..<1001], 1001, true), ([0..<1001], 1002, false), ([], nil, false),
        ] as [([Range<Int>], Int?, Bool)])
    func boundary(types: [Range<Int>], least: Int?, isAdmitted: Bool) {
        var generator = SeededGenerator(seed: 1)
        let refusal = Admission(policy: AnonymityPolicy())
            .refusal(contributors: types.map(Self.people), minIndividuals: least, using: &generator)

        #expect(refusal == (isAdmitted ? nil : .tooFewIndividuals))
    }

    @Test("with the geometric margin 1000 is always refused, 1015 about every other time, 1029 never; one person more changes little")
    func margin() {
        var policy = AnonymityPolicy()
        policy.margin = .geometric
        let admission = Admission(policy: policy)
        let seed: UInt64 = 0x3A7
        var generator = SeededGenerator(seed: seed)
        func share(_ count: Int) -> Double {
            Double((0..<4000).count { _ in admission.admits(count, least: 1001, using: &generator) }) / 4000
        }
        #expect(share(1000) == 0 && share(1001) < 0.01 && share(1029) == 1, "seed \(seed)")
        let shares = (1011...1019).map(share)
        #expect(shares[3] > 0.2 && shares[3] < 0.5 && shares[4] > 0.5 && shares[4] < 0.8, "seed \(seed): \(shares)")
        for (one, more) in zip(shares, shares.dropFirst()) { #expect(more >= one - 0.03 && more <= one * 2.72 + 0.03, "seed \(seed)") }
    }

    @Test("a refusal's bytes are constant for each reason and hold no number")
    func bodies() {
        for reason in RefusalReason.allCases {
            let text = String(decoding: reason.body, as: UTF8.self)
            #expect(text.contains(reason.rawValue) && text.hasPrefix(#"{"type":"urn:trackme:problem:group-not-anonymisable","#))
            #expect(!text.contains { $0.isNumber })
        }
    }

    @Test("answers leave on the next 50 ms", arguments: [(0, 50), (1, 49), (49, 1), (50, 0), (51, 49), (100, 0)] as [(Int64, Int64)])
    func padding(elapsed: Int64, wait: Int64) {
        #expect(RefusalReason.wait(afterMilliseconds: elapsed) == wait)
    }

    @Test("δ-presence: more than half of a place's population is too much; without a table nothing is known")
    func presence() {
        let policy = AnonymityPolicy()
        #expect(policy.allowsPresence(of: 1001, in: 2002) && !policy.allowsPresence(of: 1002, in: 2003))
        #expect(policy.allowsPresence(of: 1_000_000, in: nil))
        #expect(AnonymityPolicy.reportedSize(1049) == 1000 && AnonymityPolicy.reportedSize(1050) == 1050)
    }
}

@Suite("GranularityLadder")
struct GranularityLadderTests {
    private static let ladder = GranularityLadder(policy: AnonymityPolicy())

    private static func step(
        _ wanted: Granularity, individuals: Int = 100_000, _ people: [Granularity: [[Int]]]
    ) -> GranularityLadder.Step? {
        ladder.step(from: wanted, individuals: individuals) { people[$0] ?? [[0], [0]] }
    }

    @Test("the release moves together to the first granularity in which each table has 1001 people")
    func moves() {
        let people: [Granularity: [[Int]]] = [
            .hour: [[2000, 1001, 1000], [2000, 2000, 2000]], .sixHours: [[1001, 1001], [0, 3000]], .day: [[1500], [1001]],
        ]
        #expect(Self.step(.hour, people) == .init(granularity: .day, isReleased: [[true], [true]]))
        #expect(Self.step(.day, people)?.granularity == .day)
        #expect(Self.step(.week, people) == nil)
    }

    @Test("a bucket of nobody holds the release back as one of a single person does")
    func emptyBuckets() {
        for few in [0, 1, 99, 1000] {
            #expect(Self.step(.hour, [.hour: [[2000, few]], .day: [[2000]]])?.granularity == .day)
        }
    }

    @Test("only in the window single types are withheld; where none is left, it is refused")
    func withheld() {
        #expect(Self.step(.day, [.window: [[1001], [1000]]]) == .init(granularity: .window, isReleased: [[true], [false]]))
        #expect(Self.step(.day, [.window: [[1000], [1000]]]) == nil)
        #expect(Self.step(.day, [.day: [[], []], .window: [[1001], [1001]]])?.granularity == .window)
    }

    @Test("there are at most N/8 tables")
    func tables() {
        let people: [Granularity: [[Int]]] = [.hour: [[Int](repeating: 9000, count: 126)], .sixHours: [[Int](repeating: 9000, count: 21)]]
        #expect(Self.step(.hour, individuals: 1008, people)?.granularity == .hour)
        #expect(Self.step(.hour, individuals: 1007, people)?.granularity == .sixHours)
    }

    @Test("quarter hours need 10,000 people in every bucket")
    func quarterHours() {
        #expect(Self.step(.quarterHour, [.quarterHour: [[10_000]], .hour: [[20_000]]])?.granularity == .quarterHour)
        #expect(Self.step(.quarterHour, [.quarterHour: [[9_999]], .hour: [[20_000]]])?.granularity == .hour)
    }
}

@Suite("CohortQuota")
struct CohortQuotaTests {
    @Test("64 different cohorts are admitted in a year, and 256 refused; one that is known costs nothing again")
    func limits() {
        var quota = CohortQuota(AnonymityPolicy())
        func cohort(_ number: Int) -> [UInt8] { [UInt8(number & 255), UInt8(number >> 8)] }
        for number in 0..<64 {
            #expect(quota.refusal(cohort(number), today: 10) == nil)
            quota.record(cohort(number), isAdmitted: true, today: 10)
        }
        #expect(quota.refusal(cohort(64), today: 10) == .budgetExhausted && quota.refusal(cohort(5), today: 10) == nil)
        #expect(quota.refusal(cohort(64), today: 374) == .budgetExhausted)
        #expect(quota.refusal(cohort(64), today: 375) == nil)

        for number in 100..<356 {
            #expect(quota.refusal(cohort(number), today: 400) == nil)
            quota.record(cohort(number), isAdmitted: false, today: 400)
        }
        #expect(quota.refusal(cohort(400), today: 400) == .budgetExhausted && quota.refusal(cohort(100), today: 400) == nil)
    }
}
