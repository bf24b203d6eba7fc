// Who receives the calls of tests and of real emergencies: never one those of the other.

import Contracts
import Sealing
import Testing

@testable import SOSDispatcher

@Suite("What a call is for")
struct CallPurposeTests {
    /// What a dispatcher knows of where its tests go, and what its file says about the emergency.
    enum Standing: CaseIterable, Sendable {
        case known
        case unknown
        /// The probe listens anew at each start; the line is the former process's.
        case unknownAtRestart
        /// A file that was put back may say anything.
        case restored

        var probe: String? { self == .unknown || self == .unknownAtRestart ? nil : Integrator.probeID }

        func noted(_ isSynthetic: Bool) -> [String] {
            switch self {
            case .known, .unknown: []
            case .unknownAtRestart: [isSynthetic ? Integrator.probeID : "milan"]
            case .restored: ["milan", Integrator.probeID]
            }
        }
    }

    private static let synthetic = SyntheticPeople(first: PersonID(bits: 1), second: PersonID(bits: 2))
    private static let services = ["milan", "default"]

    /// - Parameter receivers: whom a message goes to that is decided after a start.
    @Test(
        "A test emergency was sent to the real emergency service after a start or a restore: it goes to the probe or to nobody, a real one to services alone",
        arguments: [
            (true, .known, [Integrator.probeID]), (true, .unknown, []), (true, .unknownAtRestart, [Integrator.probeID]),
            (true, .restored, [Integrator.probeID]), (false, .known, ["milan"]), (false, .unknown, ["milan"]),
            (false, .unknownAtRestart, ["milan"]), (false, .restored, ["milan"]),
        ] as [(Bool, Standing, [String])])
    func receivers(isSynthetic: Bool, standing: Standing, receivers: [String]) {
        for person in isSynthetic ? [Self.synthetic.first, Self.synthetic.second] : [PersonID(bits: 7)] {
            let purpose = CallPurpose(of: person, drill: nil, Self.synthetic)
            let order = purpose.receivers(probe: standing.probe, services: Self.services)
            #expect(order == (isSynthetic ? standing.probe.map { [$0] } ?? [] : Self.services))

            let first = Self.message(0)
            let lines = standing.noted(isSynthetic).map { ($0, DispatchOutbox([first])) }
            var file = purpose.admitted(DispatchMachine(lines.isEmpty ? [] : [first], lines: Dictionary(uniqueKeysWithValues: lines)))
            file.add(Self.message(1), order: order, at: Self.start)
            #expect(Set(file.lines.keys) == Set(receivers))
            #expect(file.lines.keys.allSatisfy(purpose.admits))
        }
    }

    @Test("What stands in a file for a person's call, taken by the probe of tests, is a call that nobody has made: it goes out")
    func takenByTheProbe() {
        var taken = Self.message(0)
        taken.end = .acknowledged
        let purpose = CallPurpose(of: PersonID(bits: 7), drill: nil, Self.synthetic)
        var file = purpose.admitted(DispatchMachine([taken], lines: [Integrator.probeID: DispatchOutbox([taken])]))
        #expect(!file.isTaken && file.unassigned.map(\.id) == [taken.id])
        file.add(Self.message(0), order: purpose.receivers(probe: Integrator.probeID, services: Self.services), at: Self.start)
        #expect(Array(file.lines.keys) == ["milan"])
    }

    @Test("A drill goes to the one that it tests, and to nobody besides")
    func drills() {
        let purpose = CallPurpose(of: PersonID(bits: 7), drill: "milan", Self.synthetic)
        #expect(purpose.receivers(probe: Integrator.probeID, services: Self.services.reversed()) == ["milan"])
        #expect(purpose.admits("milan") && !purpose.admits("default") && !purpose.admits(Integrator.probeID))
    }

    @Test("Who is synthetic follows from the shared identity alone: the same at each start, other with another identity, and two")
    func identity() throws {
        func people(_ byte: UInt8) throws -> SyntheticPeople {
            try Names(identity: SymmetricKey(bytes: [UInt8](repeating: byte, count: 32))).synthetic
        }
        let one = try people(7)
        let (again, other) = (try people(7), try people(8))
        #expect(one == again && one.all.count == 2 && one.all.isDisjoint(with: other.all))
        for role in PairRole.allCases { #expect(one.contains(one.person(of: role))) }
        #expect((0..<1000).allSatisfy { _ in !one.contains(.random()) })
    }

    private static let start = Timestamp(milliseconds: 1_760_000_000_000)

    private static func message(_ sequence: Int) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(emergency: EmergencyID(bits: 5), sequence: sequence), kind: sequence == 0 ? .alert : .update, body: [1],
            createdAt: start)
    }
}
