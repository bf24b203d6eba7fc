// A caller who listens is proved anew after a while, not at every word.

import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Admission of those who listen")
struct RenewedAdmissionTests {
    private struct Lost: Error {}

    @Test("ORG-11: a thousand events in a row cost no proof, and within seconds a lost right is noticed")
    func sparing() async throws {
        let proofs = Mutex(0)
        let admission = RenewedAdmission {
            proofs.withLock { $0 += 1 }
            throw Lost()
        }
        try await eventually("the loss is noticed") {
            do {
                for _ in 0..<100 { try await admission.check() }
                return false
            } catch {
                return error is Lost
            }
        }
        #expect(proofs.withLock { $0 } == 1)
    }
}
