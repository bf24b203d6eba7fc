// The reference client measures as often as an alert asks.

import Foundation
import Testing

@testable import Operator

@Suite("Asked pace")
struct AskedPaceTests {
    private static func answer(_ supervision: String) throws -> UploadEvent {
        let json = #"{"accepted":1,"duplicates":[],"rejected":[]\#(supervision)}"#
        return .acknowledged(
            OutboxBatch(partition: "a", first: 1, last: 1, entries: []),
            try JSONDecoder().decode(UploadAnswer.self, from: Data(json.utf8)), took: .zero)
    }

    @Test("SOS-11: an answer that tells of an alert makes the wearable measure so often; the next without one ends that")
    func pace() throws {
        let pace = AskedPace(usual: .seconds(60))
        var account = UploadAccount()
        #expect(pace.interval == .seconds(60))
        let alerted = try Self.answer(#","supervision":{"state":"alerted","measurementsPerSecond":4}"#)
        pace.received(alerted)
        account.count(alerted)
        #expect(pace.interval == .milliseconds(250))
        #expect(account.alerted == 1 && account.lines.contains { $0.contains("measure more often") })
        pace.received(.waiting(partition: "a", .unreachable, pause: .seconds(1)))
        #expect(pace.interval == .milliseconds(250), "no answer says nothing")
        pace.received(try Self.answer(""))
        #expect(pace.interval == .seconds(60))
    }

    @Test("SOS-11: who measures more often already goes on so; nobody is asked for the impossible", arguments: [0.001, 0, 1e9])
    func bounds(rate: Double) throws {
        let pace = AskedPace(usual: .milliseconds(100))
        pace.received(try Self.answer(#","supervision":{"state":"alerted","measurementsPerSecond":\#(rate)}"#))
        #expect((AskedPace.shortest...Duration.milliseconds(100)).contains(pace.interval))
    }
}
