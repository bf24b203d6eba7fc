// The pure rules of forms, lengths and accesses.

import Contracts
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Rules of requests")
struct RequestFormTests {
    private static func time(_ text: String) throws -> Timestamp {
        try #require(Timestamp(rfc3339: text))
    }

    @Test(
        "SHR-02: ready-made lengths follow the calendar; a day that the month does not have becomes its last",
        arguments: [
            ("P1D", "2026-01-31T10:00:00Z", "2026-02-01T10:00:00Z"), ("P2W", "2026-01-31T10:00:00Z", "2026-02-14T10:00:00Z"),
            ("P1M", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"), ("P1M", "2028-01-31T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("P3M", "2026-11-30T00:00:00Z", "2027-02-28T00:00:00Z"), ("P12M", "2026-03-15T00:00:00Z", "2027-03-15T00:00:00Z"),
            ("P1Y", "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"),
        ])
    func lengths(length: String, from: String, to: String) throws {
        let end = try #require(PeriodLength(length)?.end(from: try Self.time(from)))
        #expect(end == (try Self.time(to)))
    }

    @Test("SHR-02: what is no length is none", arguments: ["", "P", "PD", "P0D", "P-1D", "1D", "P1H", "P99999D", "P1.5M", "PXM"])
    func noLengths(text: String) {
        #expect(PeriodLength(text) == nil)
    }

    private static func request(_ status: RequestStatus, types: [Metric] = [.heartRate]) -> MadeRequest {
        MadeRequest(
            id: RequestID(bits: 1), organisation: OrganisationID(bits: 2), person: PersonID(bits: 3), asked: [.heartRate, .glucose],
            types: types, from: Timestamp(milliseconds: 1000), to: Timestamp(milliseconds: 9000), granularity: .seconds,
            isSubscription: false, status: status, grant: status == .pending || status == .declined ? nil : GrantID(bits: 4),
            answerBy: Timestamp(milliseconds: 4), createdAt: Timestamp(milliseconds: 1), changedAt: Timestamp(milliseconds: 1), paidAt: nil,
            deliveredAt: nil)
    }

    @Test("INV-04, INV-20, ORG-20: only an approved and paid request gives data; what stands in the way is told apart")
    func access() throws {
        for status in RequestStatus.allCases {
            for isPaid in [true, false] {
                let request = Self.request(status)
                let refusal: DataAccess.Refusal?
                do {
                    _ = try DataAccess(request, isPaid: isPaid, type: .heartRate, from: nil, to: nil)
                    refusal = nil
                } catch {
                    refusal = error
                }
                switch status {
                case .approved: #expect(refusal == (isPaid ? nil : .paymentOutstanding))
                case .pending: #expect(refusal == .notAnswered)
                default: #expect(refusal == .over(status))
                }
            }
        }
    }

    @Test("SHR-11: other types and other times than the granted ones are refused, at every edge")
    func scope() throws {
        let request = Self.request(.approved)
        func refusal(_ type: Metric, _ from: Int64?, _ to: Int64?) -> DataAccess.Refusal? {
            do {
                _ = try DataAccess(
                    request, isPaid: true, type: type, from: from.map(Timestamp.init(milliseconds:)),
                    to: to.map(Timestamp.init(milliseconds:)))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(.glucose, nil, nil) == .otherType, "asked for, and withdrawn since")
        #expect(refusal(.distance, nil, nil) == .otherType)
        #expect(refusal(.heartRate, 1000, 9000) == nil)
        #expect(refusal(.heartRate, 999, 9000) == .outsidePeriod)
        #expect(refusal(.heartRate, 1000, 9001) == .endOutsidePeriod)
        #expect(refusal(.heartRate, 5000, 5000) == .endOutsidePeriod)
        #expect(refusal(.heartRate, .min, .max) == .outsidePeriod)
        #expect(refusal(.heartRate, 5000, 5001) == nil)
    }

    @Test("SHR-03: forms of every kind of rubbish are refused or right, and never both", arguments: [1, 2, 3] as [UInt64])
    func rubbish(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let words = [
            "", "P1M", "hours", "heart-rate", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "\u{0}", "RSSMRA80A01H501U", "mood", "x",
        ]
        func word() -> String { words.randomElement(using: &generator) ?? "" }
        let now = Timestamp(milliseconds: 1_790_000_000_000)
        for _ in 0..<3000 {
            let form = TypedForm(
                types: (0..<Int.random(in: 0...3, using: &generator)).map { _ in word() }, from: word(),
                to: Bool.random(using: &generator) ? word() : nil, length: Bool.random(using: &generator) ? word() : nil,
                granularity: word(), purpose: word())
            do {
                let read = try form.read(fiscalCode: word(), at: now)
                #expect(read.from < read.to && !read.types.isEmpty && !read.purpose.isEmpty && read.fiscalCode.utf8.count == 16)
                #expect(Set(read.types).count == read.types.count)
            } catch {
                #expect(!error.faults.isEmpty)
                #expect(error.faults.allSatisfy { $0.pointer.hasPrefix("/") && !$0.detail.isEmpty })
            }
        }
    }
}
