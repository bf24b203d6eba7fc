// What keeps subscriptions going on the bus, as it stands in its golden files.

import Contracts
import Foundation
import Testing

@Suite("Golden messages of subscriptions")
struct FeedGoldenTests {
    @Test("SHR-14: that data arrived, and many short reads in one question")
    func feeds() throws {
        #expect(try Golden.roundTrip(DataArrived.self, "data-arrived.v1.json").metric == .heartRate)
        let asked = try Golden.roundTrip(RequestEnvelope<ReadSampleRanges>.self, "read-sample-ranges.v1.json")
        #expect(asked.body.stretches.count == 1 && asked.method == ReadSampleRanges.method)
        let reply = try Golden.roundTrip(ReplyEnvelope<ReadSampleRanges.Reply>.self, "read-sample-ranges.reply.v1.json")
        #expect(reply.ok?.outcomes.first?.samples.count == 1 && reply.ok?.outcomes.last?.denial?.code == .forbidden)
    }
}
