// Steps, quiet feeds and the spelling of items, as pure values.

import Contracts
import Foundation
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: the rules")
struct FeedDomainTests {
    private static let minute: Int64 = 60_000

    @Test("SHR-12, SHR-14: what arrived touches whole steps of the granularity, never more than the window")
    func touched() {
        let steps = FeedSteps(.minutes)
        let window: Range<Int64> = 90_000..<600_000
        #expect(steps.touched(120_000..<120_001, window: window) == 120_000..<180_000)
        #expect(steps.touched(119_999..<180_001, window: window) == 90_000..<240_000)
        #expect(steps.touched(0..<90_000, window: window).count == 30_000)
        #expect(steps.touched(0..<60_000, window: window).isEmpty)
        #expect(steps.touched(599_999..<700_000, window: window) == 540_000..<600_000)
        #expect(steps.touched(600_000..<700_000, window: window).isEmpty)
        #expect(steps.touched(5..<5, window: window).isEmpty)
        #expect(steps.touched((.max - 10)..<(.max), window: 0..<(.max)).upperBound == .max)
        #expect(FeedSteps(.seconds).width == 1000 && FeedSteps(.hours).width == 3_600_000)
        #expect(FeedSteps(.seconds).touched(-1500 ..< -1499, window: -10_000..<0) == -2000 ..< -1000)
    }

    @Test("SHR-14: a step is read when it is over, one that the window cuts when the window is")
    func over() {
        let steps = FeedSteps(.minutes)
        #expect(steps.over(61_000, window: 0..<600_000) == 120_000)
        #expect(steps.over(120_000, window: 0..<600_000) == 180_000)
        #expect(steps.over(595_000, window: 0..<598_000) == 598_000)
    }

    @Test("SHR-14: a beginning looks back over the step before, so that a download at that moment and the feed leave no gap")
    func beginning() {
        let range = FeedSteps(.minutes).atBeginning(630_000, window: 0..<10_000_000)
        #expect(range.lowerBound == 540_000 && range.upperBound >= 630_000 + 60_000)
        #expect(FeedSteps(.hours).atBeginning(630_000, window: 700_000..<800_000) == 700_000..<800_000)
        #expect(FeedSteps(.seconds).atBeginning(900_000, window: 0..<800_000).isEmpty)
    }

    @Test("SHR-14: a person who paused shows as no new data since the last entry, after three steps and a minute")
    func quiet() {
        let steps = FeedSteps(.minutes)
        let (begun, last) = (Timestamp(milliseconds: 0), Timestamp(milliseconds: 300_000))
        func since(_ newest: Timestamp?, _ now: Int64) -> Timestamp? {
            FeedQuiet.since(newest: newest, begun: begun, steps: steps, now: Timestamp(milliseconds: now))
        }
        #expect(since(last, 300_000 + 4 * Self.minute) == nil)
        #expect(since(last, 300_001 + 4 * Self.minute) == last)
        #expect(since(nil, 4 * Self.minute) == nil && since(nil, 4 * Self.minute + 1) == begun)
    }

    @Test(
        "ORG-19: an item is the same JSON on all three ways; a correction names what it replaces, what was withdrawn says nothing")
    func spelling() throws {
        let pulse = Sample(type: .heartRate, at: Timestamp(milliseconds: 1_767_225_600_000), value: 71.5)
        let item = FeedItem(number: 12, members: FeedItem.members(of: pulse), replaces: 7)
        #expect(item.json == #"{"number":12,"type":"heart-rate","at":"2026-01-01T00:00:00.000Z","value":71.5,"replaces":7}"#)
        let whole = Sample(type: .heartRate, at: Timestamp(milliseconds: 1000), value: 72)
        #expect(FeedItem.members(of: whole).hasSuffix(#""value":72"#))
        #expect(FeedItem(number: 13).json == #"{"number":13,"withdrawn":true}"#)
        let place = Sample(
            type: .position, at: Timestamp(milliseconds: 0), value: nil, position: Position(latitude: 45.5, longitude: -9, accuracy: 4))
        let read = try JSONSerialization.jsonObject(with: Data(FeedItem(number: 1, members: FeedItem.members(of: place)).json.utf8))
        let position = (read as? [String: Any])?["position"] as? [String: Double]
        #expect(position == ["latitude": 45.5, "longitude": -9, "accuracy": 4])
    }

    @Test("SHR-15, SHR-16: a withdrawal is told as grant.revoked, the end of a period as subscription.ended")
    func endings() {
        let told = Dictionary(uniqueKeysWithValues: SubscriptionEnding.allCases.map { ($0, $0.eventType) })
        #expect(told == [.revoked: .revoked, .erased: .revoked, .ended: .ended, .unpaid: .ended])
        #expect(WebhookEvent.revoked.rawValue == "grant.revoked" && WebhookEvent.ended.rawValue == "subscription.ended")
        #expect(SubscriptionEnding.allCases.allSatisfy { !$0.explanation.isEmpty })
    }
}
