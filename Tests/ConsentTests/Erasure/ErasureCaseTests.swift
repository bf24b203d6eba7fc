// When an erasure is complete, overdue and worth a reminder.

import Contracts
import Testing

@testable import Consent

@Suite("Following an erasure")
struct ErasureCaseTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func erased(by peers: [Peer], completed: Duration? = nil, reminded: Duration? = nil) -> ErasureCase {
        let store = ErasedStore(store: "x.db", removed: 3, at: Self.start, kept: nil)
        return ErasureCase(
            erasure: ErasureID(bits: 1), scope: .account, orderedAt: Self.start,
            confirmed: Dictionary(uniqueKeysWithValues: peers.map { ($0, [store]) }), completedAt: completed.map { Self.start + $0 },
            remindedAt: reminded.map { Self.start + $0 })
    }

    @Test("ACC-29: it is complete when every service that may hold something of a person has confirmed, and not before")
    func complete() {
        #expect(Set(ErasureCase.services) == ConfirmErasure.clients.union([.consent]))
        for missing in ErasureCase.services {
            let some = erased(by: ErasureCase.services.filter { $0 != missing }, completed: .seconds(5))
            #expect(some.waitingFor == [missing] && !some.isConfirmedByAll)
            #expect(ErasureCertificate(some) == nil)
        }
        #expect(ErasureCertificate(erased(by: ErasureCase.services)) == nil)
        let certificate = ErasureCertificate(erased(by: ErasureCase.services, completed: .seconds(5)))
        #expect(certificate?.services.map(\.service) == ErasureCase.services.map(\.name))
        #expect(certificate?.text.split(separator: "\n").count == 1 + ErasureCase.services.count)
    }

    @Test(
        "operators hear of it after an hour, and every six hours as long as it lasts",
        arguments: [
            (Duration.seconds(3600), nil, false), (.seconds(3601), nil, true), (.seconds(7200), Duration.seconds(3601), false),
            (.seconds(3600 * 8), .seconds(3601), true),
        ])
    func reminders(after: Duration, reminded: Duration?, isDue: Bool) {
        #expect(erased(by: [.consent], reminded: reminded).isReminderDue(at: Self.start + after) == isDue)
        #expect(!erased(by: ErasureCase.services, completed: .seconds(9), reminded: reminded).isReminderDue(at: Self.start + after))
    }
}
