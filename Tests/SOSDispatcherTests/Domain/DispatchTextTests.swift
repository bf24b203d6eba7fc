// The text of one segment: what a telephone shows when there is no internet.

import Contracts
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Dispatch text")
struct DispatchTextTests {
    /// A reader of the format as `docs/integrators/text.md` describes it; nil where the length shows that something is missing.
    private func read(_ text: String) -> [String: String]? {
        let parts = text.split(separator: ";")
        guard parts.first == "SOS1" else { return nil }
        let fields = Dictionary(
            parts.dropFirst().compactMap { part -> (String, String)? in
                let pair = part.split(separator: "=", maxSplits: 1)
                return pair.count == 2 ? (String(pair[0]), String(pair[1])) : nil
            }, uniquingKeysWith: { $1 })
        return fields["ml"] == String(text.utf8.count) ? fields : nil
    }

    @Test("SOS-18: the text carries the common reference, the code, time, place with accuracy and the value")
    func alert() throws {
        let message = DispatchMessage(DispatchMessageTests.facts(), under: DispatchMessageTests.letterhead)
        let text = DispatchText(message, code: "7K3M9Q").text
        let fields = try #require(read(text))
        #expect(text.utf8.count <= 160)
        #expect("emg_" + (fields["i"] ?? "") == message.emergencyId)
        #expect(fields["a"] == "7K3M9Q" && fields["m"] == "A" && fields["q"] == "0")
        #expect(fields["t"] == "20260110000005" && fields["lt"] == "+45.50000" && fields["lg"] == "+009.37500")
        #expect(fields["rd"] == "12" && fields["pm"] == "G" && fields["ag"] == "3")
        #expect(fields["k"] == "hr" && fields["v"] == "31" && fields["s"] == nil)
    }

    @Test("SOS-20: that no place is known is said plainly")
    func noPlace() throws {
        let message = DispatchMessage(DispatchMessageTests.facts(position: false), under: DispatchMessageTests.letterhead)
        let fields = try #require(read(DispatchText(message, code: "7K3M9Q").text))
        #expect(fields["pm"] == "N" && fields["rd"] == "N" && fields["lt"] == "+00.00000" && fields["lg"] == "+000.00000")
    }

    @Test("It is never longer than one segment, and a part that is cut off is noticed", arguments: 0..<50)
    func longest(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var message = DispatchMessage(DispatchMessageTests.facts(), under: DispatchMessageTests.letterhead)
        message.status = .exercise
        message.seq = Int.random(in: 0...99, using: &dice)
        message.location.lat = Double.random(in: -90...90, using: &dice)
        message.location.lon = Double.random(in: -180...180, using: &dice)
        message.location.accuracyM = Double.random(in: 0...1_000_000, using: &dice)
        message.location.ageS = Int64.random(in: 0...10_000_000_000, using: &dice)
        message.subject.telephone = "+390212345678901"
        message.trigger.threshold?.value = Double.random(in: -1000...1000, using: &dice)
        message.trigger.threshold?.metric = Bool.random(using: &dice) ? "blood-pressure-max" : "a-metric-with-a-very-long-code"
        let text = DispatchText(message, code: "7K3M9Q").text
        #expect(text.utf8.count <= 160)
        let fields = try #require(read(text))
        #expect(fields["a"] == "7K3M9Q" && fields["lt"]?.count == 9 && fields["lg"]?.count == 10)
        #expect(read(String(text.dropLast(Int.random(in: 1...100, using: &dice)))) == nil)
        #expect(text.utf8.allSatisfy { (0x20...0x7A).contains($0) && $0 != 0x5B && $0 != 0x5C && $0 != 0x5D && $0 != 0x5E && $0 != 0x60 })
    }
}
