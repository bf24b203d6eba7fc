// Uploads that are heard again after ingest's clock was set back.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Receipt order")
struct ReceiptOrderTests {
    private static func at(_ seconds: Double) -> Timestamp { SupervisionStory.at(seconds) }

    @Test(
        "SOS-15, SOS-28: a crash after the clock was set back delays no alert: what came before the step counts as no later than what followed"
    )
    func setBack() throws {
        // Heard again at 1000: the first came before the clock was set back by an hour and seems to lie in the future.
        let now = Self.at(1000)
        let received = [("a", now), ("a", Self.at(998)), ("b", now), ("a", Self.at(999))].map { (stream: $0.0, at: $0.1) }
        let settled = ReceiptOrder.settled(received)
        #expect(settled == [Self.at(998), Self.at(998), now, Self.at(999)])
        var story = SupervisionStory()
        story.upload(998, received: 4600, [Sample(type: .heartRate, at: Self.at(4600), value: 80)])
        story.upload(998, [Sample(type: .heartRate, at: Self.at(998), value: 30)])
        story.pass(1001.5)
        #expect(story.list.last == "1001.500 dispatched heart-rate", "3.5 s after it was received, not after it was heard again")
    }

    @Test("Receipts in order stay as they are")
    func inOrder() {
        let received = (0..<100).map { (stream: "\($0 % 3)", at: Self.at(Double($0))) }
        #expect(ReceiptOrder.settled(received) == received.map(\.at))
        #expect(ReceiptOrder.settled([]).isEmpty)
    }
}
