// Table SHR-S, scopes, forms and histories as pure values.

import Contracts
import TestKit
import Testing

@testable import Consent

@Suite("Scopes of sharing")
struct SharingScopeTests {
    private static func scope(_ types: Set<Metric>, _ range: Range<Int64>) -> SharingScope? {
        SharingScope(types: types, window: Timestamp(milliseconds: range.lowerBound)..<Timestamp(milliseconds: range.upperBound))
    }

    @Test("SHR-18: scopes overlap exactly where they share a type and an instant; windows that only touch do not")
    func overlap() throws {
        let cases: [(Set<Metric>, Range<Int64>, Bool)] = [
            ([.heartRate], 10..<20, true), ([.heartRate, .position], 19..<30, true), ([.heartRate], 20..<30, false),
            ([.heartRate], 0..<10, false), ([.heartRate], 0..<11, true), ([.position], 10..<20, false), ([.heartRate], 12..<13, true),
            ([.heartRate, .pulseRate], 0..<100, true),
        ]
        let one = try #require(Self.scope([.heartRate, .bodyTemperature], 10..<20))
        for (types, range, expected) in cases {
            let other = try #require(Self.scope(types, range))
            #expect(one.overlaps(other) == expected && other.overlaps(one) == expected, "\(types) \(range)")
        }
    }

    @Test("INV-05: overlap is what a search over every type and instant finds, for 5000 seeded pairs")
    func overlapByEnumeration() throws {
        var dice = SeededGenerator(seed: 18)
        let metrics: [Metric] = [.heartRate, .position, .bodyTemperature, .distance]
        func draw() throws -> SharingScope {
            let from = Int64.random(in: 0..<12, using: &dice)
            let types = Set((0..<Int.random(in: 1...3, using: &dice)).compactMap { _ in metrics.randomElement(using: &dice) })
            return try #require(Self.scope(types, from..<from + Int64.random(in: 1...6, using: &dice)))
        }
        for _ in 0..<5000 {
            let (one, other) = (try draw(), try draw())
            let meets = metrics.contains { metric in
                (Int64(0)..<20).contains { time in
                    [one, other].allSatisfy { $0.types.contains(metric) && $0.window.contains(Timestamp(milliseconds: time)) }
                }
            }
            #expect(one.overlaps(other) == meets)
        }
    }

    @Test("SHR-16: without some types the others stay, and without all of them nothing does")
    func partial() throws {
        let scope = try #require(Self.scope([.heartRate, .position], 0..<10))
        #expect(scope.without([.position])?.types == [.heartRate])
        #expect(scope.without([.bodyTemperature]) == scope)
        #expect(scope.without([.heartRate, .position]) == nil)
        #expect(Self.scope([], 0..<10) == nil && Self.scope([.heartRate], 5..<5) == nil)
    }
}

@Suite("Table SHR-S")
struct SharingRequestTests {
    private static let start = Timestamp(milliseconds: 1_000_000)
    private static let day = Duration.seconds(86_400)

    private static func pending(types: Set<Metric> = [.heartRate, .position]) throws -> SharingRequest {
        let scope = try #require(SharingScope(types: types, window: start..<start + .seconds(3600)))
        return SharingRequest(
            id: .random(), organisation: .random(), person: .random(), scope: scope, granularity: .seconds, openedAt: start,
            answerWithin: day)
    }

    /// One request in each status.
    private static func every() throws -> [RequestStatus: SharingRequest] {
        var made: [RequestStatus: SharingRequest] = [:]
        for status in RequestStatus.allCases {
            var request = try pending()
            switch status {
            case .pending: break
            case .declined: try request.denied(at: start + .seconds(1))
            case .expired: try request.expired(at: start + day)
            case .approved, .revoked, .ended:
                try request.accepted(as: .random(), at: start + .seconds(1))
                if status == .revoked { try request.withdrawn(at: start + .seconds(2)) }
                if status == .ended { try request.ended(at: start + .seconds(2)) }
            }
            made[status] = request
        }
        return made
    }

    @Test("SHR-17: exactly the transitions of table SHR-S exist; every other one is refused and changes nothing")
    func transitions() throws {
        let events: [(name: String, happen: (inout SharingRequest) throws -> Void)] = [
            ("accept", { try $0.accepted(as: .random(), at: Self.start + .seconds(3)) }),
            ("deny", { try $0.denied(at: Self.start + .seconds(3)) }),
            ("time", { try $0.expired(at: Self.start + Self.day) }),
            ("withdraw", { try $0.withdrawn(at: Self.start + .seconds(3)) }),
            ("end", { try $0.ended(at: Self.start + .seconds(3)) }),
        ]
        let table: [RequestStatus: [String: RequestStatus]] = [
            .pending: ["accept": .approved, "deny": .declined, "time": .expired],
            .approved: ["withdraw": .revoked, "end": .ended],
        ]
        for (status, request) in try Self.every() {
            #expect(request.status == status)
            for event in events {
                var after = request
                if let expected = table[status]?[event.name] {
                    try event.happen(&after)
                    #expect(after.status == expected, "\(status) \(event.name)")
                } else {
                    #expect(throws: RequestRefusal.self, "\(status) \(event.name)") { try event.happen(&after) }
                    #expect(after == request, "\(status) \(event.name)")
                }
            }
        }
    }

    @Test("INV-08: accepting changes the status and adds the grant of exactly the scope asked; nothing else")
    func approval() throws {
        let before = try Self.pending()
        var after = before
        let grant = GrantID.random()
        try after.accepted(as: grant, at: Self.start + .seconds(5))
        #expect(after.status == .approved && after.grant?.id == grant && after.grant?.scope == before.scope && after.grant?.version == 1)
        #expect(after.scope == before.scope && after.id == before.id && after.person == before.person)
        #expect(after.organisation == before.organisation && after.granularity == before.granularity && after.answerBy == before.answerBy)
        #expect(before.grantInForce == nil && after.grantInForce != nil)
    }

    @Test("SHR-06: the first answer stands, and a second one is told what it was and when")
    func firstAnswerStands() throws {
        var request = try Self.pending()
        try request.denied(at: Self.start + .seconds(9))
        #expect(throws: RequestRefusal.alreadyAnswered(accepted: false, at: Self.start + .seconds(9))) {
            try request.accepted(as: .random(), at: Self.start + .seconds(10))
        }
        var accepted = try Self.pending()
        try accepted.accepted(as: .random(), at: Self.start + .seconds(4))
        try accepted.withdrawn(at: Self.start + .seconds(6))
        #expect(throws: RequestRefusal.alreadyAnswered(accepted: true, at: Self.start + .seconds(4))) {
            try accepted.denied(at: Self.start + .seconds(10))
        }
    }

    @Test("SHR-07: it can be answered until the last millisecond and not after it, whether or not the clock has been there")
    func expiry() throws {
        var request = try Self.pending()
        #expect(throws: RequestRefusal.stillOpen(until: Self.start + Self.day)) {
            try request.expired(at: Self.start + Self.day - .milliseconds(1))
        }
        var late = request
        #expect(throws: RequestRefusal.noLongerOpen(since: Self.start + Self.day)) {
            try late.accepted(as: .random(), at: Self.start + Self.day)
        }
        #expect(late.status == .pending)
        try request.accepted(as: .random(), at: Self.start + Self.day - .milliseconds(1))
        #expect(request.status == .approved)
        try late.expired(at: Self.start + Self.day)
        #expect(throws: RequestRefusal.noLongerOpen(since: Self.start + Self.day)) {
            try late.denied(at: Self.start + Self.day + .seconds(1))
        }
    }

    @Test("SHR-16: single types are withdrawn one by one, the last one withdraws the grant, strangers are refused")
    func partialWithdrawal() throws {
        var request = try Self.pending()
        try request.accepted(as: .random(), at: Self.start)
        let first = try request.withdrawn([.position], at: Self.start + .seconds(1))
        #expect(first && request.status == .approved && request.grant?.scope.types == [.heartRate] && request.grant?.version == 2)
        let again = try request.withdrawn([.position], at: Self.start + .seconds(2))
        #expect(!again && request.grant?.version == 2)
        #expect(throws: RequestRefusal.neverGranted([.bodyTemperature])) {
            _ = try request.withdrawn([.bodyTemperature], at: Self.start + .seconds(2))
        }
        let last = try request.withdrawn([.heartRate], at: Self.start + .seconds(3))
        #expect(last && request.status == .revoked && request.grantInForce == nil && request.grant?.version == 3)
    }

    @Test("INV-05: what was withdrawn of a grant may be asked for again, what is left of it may not, and an earlier refusal waits its time")
    func history() throws {
        var request = try Self.pending()
        try request.accepted(as: .random(), at: Self.start)
        _ = try request.withdrawn([.position], at: Self.start + .seconds(1))
        let position = try #require(SharingScope(types: [.position], window: request.scope.window))
        let pulse = try #require(SharingScope(types: [.heartRate], window: request.scope.window))
        let history = RequestHistory([request])
        #expect(history.refusal(of: position, at: Self.start + .seconds(2), wait: .zero) == nil)
        #expect(history.refusal(of: pulse, at: Self.start + .seconds(2), wait: .zero) == .covered(by: request.id))
        var denied = try Self.pending()
        try denied.denied(at: Self.start)
        let again = RequestHistory([denied])
        #expect(again.refusal(of: pulse, at: Self.start, wait: .zero) == nil)
        #expect(again.refusal(of: pulse, at: Self.start + .seconds(59), wait: .seconds(60)) == .tooSoon(until: Self.start + .seconds(60)))
        #expect(again.refusal(of: pulse, at: Self.start + .seconds(60), wait: .seconds(60)) == nil)
    }
}

@Suite("Forms of requests")
struct RequestFormTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private static func form(_ change: (inout OpenRequest) -> Void) -> OpenRequest {
        var form = OpenRequest(
            organisation: .random(), organisationName: "Prova", fiscalCode: "RSSMRA80A01H501U", types: [.heartRate],
            from: now - .seconds(60), to: now, granularity: .seconds, purpose: "Why not")
        change(&form)
        return form
    }

    @Test("SHR-02, SHR-03: each field that is wrong is named and told how to mend it; a right form passes")
    func fields() throws {
        let cases: [(String, (inout OpenRequest) -> Void)] = [
            ("types", { $0.types = [] }), ("types", { $0.types = [.heartRate, .heartRate] }),
            ("to", { $0.to = $0.from }), ("to", { $0.to = $0.from - .seconds(1) }),
            ("to", { $0.to = Self.now + .seconds(20 * 366 * 86_400) }), ("from", { $0.from = Timestamp(milliseconds: -1) }),
            ("purpose", { $0.purpose = " \n " }), ("purpose", { $0.purpose = String(repeating: "a", count: 1001) }),
            ("purpose", { $0.purpose = "a\u{7}b" }), ("organisationName", { $0.organisationName = "" }),
            ("organisationName", { $0.organisationName = String(repeating: "n", count: 201) }), ("fiscalCode", { $0.fiscalCode = "" }),
            ("fiscalCode", { $0.fiscalCode = String(repeating: "X", count: 65) }),
        ]
        for (field, change) in cases {
            let fault = #expect(throws: RequestForm.Fault.self) { _ = try RequestForm(Self.form(change), at: Self.now) }
            #expect(fault?.field == field && fault?.detail.isEmpty == false)
        }
        let form = try RequestForm(Self.form { $0.purpose = "  a study\nof sleep " }, at: Self.now)
        #expect(form.purpose == "a study\nof sleep")
    }

    @Test("SHR-13: a period that reaches into the future is a subscription, one wholly in the past is not")
    func subscription() throws {
        let past = try RequestForm(Self.form { _ in }, at: Self.now)
        let future = try RequestForm(Self.form { $0.to = Self.now + .milliseconds(1) }, at: Self.now)
        #expect(!past.scope.isSubscription(at: Self.now) && future.scope.isSubscription(at: Self.now))
    }
}
