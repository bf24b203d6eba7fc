// What drills say about an emergency service.

import Contracts
import Testing

@testable import Operator

@Suite("Readiness by drills")
struct DrillReadinessTests {
    private func drill(_ outcome: String?, _ afterMs: Int64?) -> ReadDrills.Entry {
        ReadDrills.Entry(
            emergency: EmergencyID(bits: 1), integrator: "milan", kind: .test, at: Timestamp(milliseconds: 0), outcome: outcome,
            afterMs: afterMs)
    }

    @Test("Ready is who acknowledges in time, the latest time too; who still waits does not count")
    func readiness() {
        let good = drill("acknowledged", 900)
        #expect(DrillReadiness([drill(nil, nil), good]).isReady)
        #expect(!DrillReadiness([]).isReady && !DrillReadiness([drill(nil, nil)]).isReady)
        #expect(!DrillReadiness([drill("given-up", 120_000)] + Array(repeating: good, count: 19)).isReady)
        #expect(DrillReadiness(Array(repeating: good, count: 19) + [drill("refused", 3)]).isReady)
        #expect(!DrillReadiness(Array(repeating: good, count: 18) + [drill("refused", 3), drill("acknowledged", 5001)]).isReady)
        #expect(DrillReadiness(Array(repeating: good, count: 20) + [drill("refused", 3)]).sent == 20)
        let mixed = DrillReadiness([drill("acknowledged", 100), drill("acknowledged", 300), drill("acknowledged", 5000)])
        #expect(mixed.medianMs == 300 && mixed.worstMs == 5000 && mixed.inTime == 3)
    }

    @Test("Areas are read as they are typed, and nothing else is")
    func areas() throws {
        #expect(try AreaArgument.circle("45.4642, 9.19,30").circle?.radiusKm == 30)
        #expect(try AreaArgument.polygon("47,6 47,14 36,19 47,6").polygon?.count == 3)
        for wrong in ["", "45,9", "45,9,x", "45,9,1,2"] { #expect(throws: (any Error).self) { try AreaArgument.circle(wrong) } }
        for wrong in ["47,6 47", "47 6"] { #expect(throws: (any Error).self) { try AreaArgument.polygon(wrong) } }
    }
}
