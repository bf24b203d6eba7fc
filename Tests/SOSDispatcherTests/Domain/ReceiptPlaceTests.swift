// Whom silence is said of, and who is called for, where the clocks of ingest and of a dispatcher on another machine differ.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Place of a receipt")
struct ReceiptPlaceTests {
    /// One person at a dispatcher whose own clock is right. Times are seconds of a right clock.
    private struct Played {
        /// What a fact takes on its way.
        static let way = 0.05

        var story = SupervisionStory()
        private var transit = TransitDelay()

        private static func seconds(_ time: Timestamp) -> Double {
            Double(time.milliseconds - SupervisionStory.start.milliseconds) / 1000
        }

        /// As the dispatcher's alarm does.
        mutating func wake(_ seconds: Double) {
            if let due = story.machine.nextDue, due <= SupervisionStory.at(seconds) { story.pass(seconds) }
        }

        mutating func restart(_ seconds: Double) {
            transit = TransitDelay()
            if story.machine.emergencyRuns { story.pass(seconds) }
            story.machine.listeningAgain(at: SupervisionStory.at(seconds))
        }

        /// - Parameters:
        ///   - skew: by how much ingest's clock is ahead.
        ///   - arrives: where it was replayed from the log, with more behind it.
        mutating func hear(_ received: Double, _ value: Double, skew: Double, replayed arrives: Double? = nil) {
            let now = SupervisionStory.at(arrives ?? received + Self.way)
            if arrives == nil { wake(received + Self.way) }
            let header = StreamHeader(
                stream: "a", epoch: "e", sequence: 1, head: arrives == nil ? 1 : 2, type: SamplesRecorded.type, subject: "",
                at: SupervisionStory.at(received + skew), trace: "")
            transit.compare(wall: now, at: now)
            transit.note(header, at: now)
            let place = ReceiptPlace(header.at, isReplayed: arrives != nil, wall: now, at: now, transit, story.machine.rules)
            let settled = ReceiptOrder.settled([(stream: header.stream, at: place.at)])[0]
            let at = story.machine.state.taking(place, settled: settled)
            #expect(at <= now)
            story.upload(Self.seconds(at), received: received + skew, [Sample(type: .heartRate, at: header.at, value: value)])
        }

        mutating func hear(each seconds: ClosedRange<Int>, _ value: Double = 70, skew: Double) {
            for second in seconds { hear(Double(second), value, skew: skew) }
        }
    }

    @Test(
        "SOS-25: ingest's clock was 45 s behind, and people who were heard each second were warned of silence again and again",
        arguments: [-45, 45, -600, 0, -12, 3600] as [Double])
    func live(_ skew: Double) {
        var played = Played()
        played.hear(each: 1...300, skew: skew)
        #expect(played.story.list.isEmpty)
        // Truly silent it is noticed in time.
        played.wake(329.99)
        #expect(played.story.list.isEmpty)
        played.wake(330.05)
        #expect(played.story.list.count == 1 && played.story.list[0].hasSuffix("signal-lost heart-rate"))
    }

    @Test(
        "SOS-15: ingest's clock was behind, and the call went out before the person could answer",
        arguments: [-45, 45, -600, 0] as [Double])
    func call(_ skew: Double) {
        var played = Played()
        played.hear(each: 1...100, skew: skew)
        played.hear(each: 101...103, 30, skew: skew)
        #expect(!played.story.list.contains { $0.hasSuffix("dispatched heart-rate") })
        played.wake(104.55)
        #expect(played.story.list.contains { $0.hasSuffix("dispatched heart-rate") })
    }

    @Test(
        "SOS-25: ingest's clock was set while people were heard each second, and they were warned of silence",
        arguments: [(-45, 0), (0, -45), (45, 0), (0, 45), (-600, 0)] as [(Double, Double)])
    func clockSet(_ before: Double, _ after: Double) {
        var played = Played()
        played.hear(each: 1...100, skew: before)
        played.hear(each: 101...300, skew: after)
        #expect(played.story.list.isEmpty)
        played.hear(each: 301...305, 30, skew: after)
        #expect(played.story.list.contains { $0.hasSuffix("dispatched heart-rate") })
    }

    @Test(
        "SOS-25: after a start nobody is warned who is heard each second, whatever ingest's clock shows",
        arguments: [-45, 45, -600, 0] as [Double])
    func restarted(_ skew: Double) {
        var played = Played()
        played.hear(each: 1...100, skew: skew)
        played.restart(400)
        for second in 101...399 { played.hear(Double(second), 70, skew: skew, replayed: 400) }
        played.hear(each: 400...500, skew: skew)
        #expect(played.story.list.isEmpty)
        played.wake(530.05)
        #expect(played.story.list.count == 1 && played.story.list[0].hasSuffix("signal-lost heart-rate"))
    }

    @Test(
        "SOS-28: ingest's clock was off, and who was critical for ten seconds while the dispatcher was down was not called for",
        arguments: [-45, 45, -600, 0] as [Double], [110, 200, 380])
    func missed(_ skew: Double, _ began: Int) {
        var played = Played()
        played.hear(each: 1...100, skew: skew)
        played.restart(400)
        for second in 101...399 {
            played.hear(Double(second), (began..<began + 10).contains(second) ? 30 : 70, skew: skew, replayed: 400)
        }
        played.wake(400)
        let calls = played.story.list.filter { $0.hasSuffix("dispatched heart-rate") }
        #expect(calls.count == 1)
        // By its receipt, and so at once.
        #expect(calls.first?.hasPrefix("\(began + 3).5") == true)
    }

    @Test("What was received long ago, and is heard after a first start, lies where the wall clocks say")
    func old() {
        let (now, rules) = (SupervisionStory.at(400), SupervisionRules())
        let place = ReceiptPlace(SupervisionStory.at(200), wall: now, at: now, TransitDelay(), rules)
        #expect(place.at == SupervisionStory.at(200) && !place.isKnown && place.skew == nil)
        var state = Supervision.State()
        #expect(state.taking(place, settled: place.at) == SupervisionStory.at(200) && state.clockSkew == nil)
    }
}
