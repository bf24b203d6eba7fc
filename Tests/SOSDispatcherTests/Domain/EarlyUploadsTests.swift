// What was judged before it was stored: judged once, remembered within bounds, and not confused with what is sent again (SOS-37).

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Early uploads")
struct EarlyUploadsTests {
    private let device = DeviceID.random()
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func heart(_ value: Double, after milliseconds: Int64 = 0) -> Sample {
        Sample(type: .heartRate, at: now + .milliseconds(milliseconds), value: value)
    }

    @Test("SOS-37: an upload is known by its device and receipt, whatever else of it comes later")
    func known() {
        var early = EarlyUploads()
        early.note(.init(device: device, receivedAt: now), at: now)
        early.note(.init(device: device, receivedAt: now), at: now + .seconds(1))
        #expect(early.contains(.init(device: device, receivedAt: now)) && early.mayHaveJudged(of: device))
        #expect(!early.contains(.init(device: device, receivedAt: now + .milliseconds(1))))
        #expect(!early.contains(.init(device: .random(), receivedAt: now)) && !early.mayHaveJudged(of: .random()))
    }

    @Test("After ten minutes it is forgotten; beyond its bound the oldest goes first")
    func bounded() {
        var early = EarlyUploads()
        for number in 0..<EarlyUploads.most + 10 {
            early.note(.init(device: device, receivedAt: now + .milliseconds(Int64(number))), at: now)
        }
        #expect(!early.contains(.init(device: device, receivedAt: now)))
        #expect(early.contains(.init(device: device, receivedAt: now + .milliseconds(Int64(EarlyUploads.most)))))
        early.note(.init(device: .random(), receivedAt: now), at: now + EarlyUploads.kept + .seconds(1))
        #expect(!early.mayHaveJudged(of: device))
    }

    @Test(
        "S3: past 100,000 remembered entries each event rebuilt the dictionary, and with ingest's disk full nothing cleared it: each costs the same, and the newest is known"
    )
    func constantCost() {
        var early = EarlyUploads()
        var noted: Int64 = 0
        func note(_ count: Int) {
            for _ in 0..<count {
                early.note(.init(device: device, receivedAt: now + .milliseconds(noted)), at: now)
                noted += 1
            }
        }
        /// The least of several, so that a busy machine does not decide.
        func cost() -> Duration {
            (0..<5).map { _ in ContinuousClock().measure { note(50) } }.min() ?? .zero
        }
        let half = EarlyUploads.most / 2
        note(half)
        let before = cost()
        note(EarlyUploads.most - half)
        let beyond = cost()
        #expect(beyond < before * 20 + .milliseconds(5), "\(beyond), \(before) before")
        #expect(early.contains(.init(device: device, receivedAt: now + .milliseconds(noted - 1))))
    }

    @Test("SOS-09: only what is later than everything that the device said of its metric is news; a place always is, another device's too")
    func news() {
        var subscriber = Subscriber()
        subscriber.supervision.sources["\(device)"] = Supervision.Source(
            latest: [.heartRate: LatestValue(value: 60, at: now, measured: now, received: now)])
        let place = Sample(type: .position, at: now, value: nil, position: Position(latitude: 45, longitude: 9))
        let entries = [
            heart(31, after: -1), heart(31), heart(31, after: 1), Sample(type: .bodyTemperature, at: now, value: 41), place,
        ]
        func news(_ entries: [Sample], of device: DeviceID, after: Duration = .seconds(5), isUnjudged: Bool = false) -> [Sample] {
            subscriber.news(in: entries, of: device, receivedAt: now + after, at: now + after) { _ in isUnjudged }
        }
        #expect(news(entries, of: device).map(\.type) == [.heartRate, .bodyTemperature, .position])
        #expect(news(entries, of: .random()).count == 5)
        // A clock that is ahead does not make old news young.
        #expect(news([heart(31, after: 9000)], of: device, after: .zero).isEmpty)
        // What is critical and was never judged comes out of order.
        #expect(news(entries, of: device, isUnjudged: true).count == 5)
        #expect(news([heart(60)], of: device, isUnjudged: true).isEmpty, "the last one itself")
    }

    @Test(
        "SOS-11, SOS-37: the wall clock is set back an hour after an alarm: what the device measures from then on is heard, what it repeats is not"
    )
    func clockSetBack() {
        var subscriber = Subscriber()
        subscriber.supervision.sources["\(device)"] = Supervision.Source(
            latest: [.heartRate: LatestValue(value: 130, at: now, measured: now, received: now)])
        let wall = now - .seconds(3600)
        let measured = Sample(type: .heartRate, at: wall + .seconds(3), value: 20)
        let news = subscriber.news(in: [measured], of: device, receivedAt: wall + .seconds(3), at: now + .seconds(3)) { _ in false }
        #expect(news == [measured])
        let known = Sample(type: .heartRate, at: now, value: 130)
        #expect(subscriber.news(in: [known], of: device, receivedAt: now + .seconds(3), at: now + .seconds(3)) { _ in true }.isEmpty)
    }
}
