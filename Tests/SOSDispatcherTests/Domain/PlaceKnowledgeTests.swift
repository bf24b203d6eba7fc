// When a place is news to an emergency service, and by which place the next one is chosen.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Knowledge of a place")
struct PlaceKnowledgeTests {
    private static let start = SupervisionStory.at(0)

    /// A subscriber for whom help has been called half a second ago, and the machine.
    private static func called(place: LatestPlaces.Place?) -> (subscriber: Subscriber, machine: Supervision) {
        var story = SupervisionStory()
        var subscriber = Subscriber()
        if let place { subscriber.places.note(place.position, at: place.at) }
        let upload = Supervision.Upload(
            at: start, receivedAt: start, declaredInterval: nil, entries: [Sample(type: .heartRate, at: start, value: 31)])
        for action in story.machine.uploaded(upload) + story.machine.timePassed(to: SupervisionStory.at(4)) { subscriber.noteTold(action) }
        return (subscriber, story.machine)
    }

    struct Row: Sendable {
        var told: (age: Int64, accuracy: Double?)?
        var learnt: (age: Int64, accuracy: Double?)
        var isNews: Bool
    }

    private static func position(_ accuracy: Double?) -> Position {
        Position(latitude: 45.5, longitude: 9.25, accuracy: accuracy)
    }

    @Test(
        "SOS-20: news is a first place, and one that can be relied on after one that could not; nothing else",
        arguments: [
            Row(told: nil, learnt: (0, 10), isNews: true), Row(told: nil, learnt: (900, 10), isNews: true),
            Row(told: (900, 10), learnt: (0, 10), isNews: true), Row(told: (1, 500), learnt: (0, 20), isNews: true),
            Row(told: (900, 10), learnt: (800, 10), isNews: false), Row(told: (1, 500), learnt: (0, 400), isNews: false),
            Row(told: (1, 10), learnt: (0, 10), isNews: false), Row(told: (1, nil), learnt: (0, 10), isNews: false),
        ])
    func news(row: Row) {
        let told = row.told.map { LatestPlaces.Place(position: Self.position($0.accuracy), at: Self.start - .seconds($0.age)) }
        var (subscriber, machine) = Self.called(place: told)
        #expect(subscriber.located(machine) == nil, "nothing has been learnt")
        _ = machine.timePassed(to: SupervisionStory.at(5))
        subscriber.places.note(Self.position(row.learnt.accuracy), at: SupervisionStory.at(5) - .seconds(row.learnt.age))
        let news = subscriber.located(machine)
        #expect((news?.kind == .located) == row.isNews)
        if let news {
            subscriber.noteTold(news)
            #expect(subscriber.located(machine) == nil, "it is told once")
        }
    }

    @Test("before the call, after it was called off, and once help is here, a place is no news")
    func unneeded() {
        let place = Self.position(10)
        var (subscriber, machine) = Self.called(place: nil)
        var before = subscriber
        before.placeTold = nil
        before.places.note(place, at: SupervisionStory.at(4))
        #expect(before.located(machine) == nil)
        for answer in [AnswerPrompt.Answer.falseAlarm, .helpIsHere] {
            var (after, answered) = (subscriber, machine)
            // "Help is here" before an acknowledgement is asked back: it is said twice.
            for second in answer == .helpIsHere ? [5, 6] : [5] {
                for action in answered.answered(answer, at: SupervisionStory.at(Double(second))).actions { after.noteTold(action) }
            }
            after.places.note(place, at: SupervisionStory.at(6))
            #expect(after.located(answered) == nil, "\(answer)")
        }
        subscriber.places.note(place, at: SupervisionStory.at(4))
        _ = machine.acknowledged(at: SupervisionStory.at(5))
        #expect(subscriber.located(machine)?.kind == .located, "acknowledged, help is still under way")
    }

    @Test("SOS-17: whoever is called next is chosen by the newest place that any message named, not by an alert that named none")
    func newestPlace() throws {
        let nowhere = DispatchMessageTests.facts(position: false)
        var located = DispatchMessageTests.facts(kind: .update)
        located.isLocated = true
        let messages = try [nowhere, located].map { facts in
            OutboxMessage(
                id: facts.id, kind: facts.kind, body: try DispatchMessage(facts, under: .init()).encoded(), createdAt: facts.sent)
        }
        #expect(DispatchMachine([messages[0]]).place == nil)
        #expect(DispatchMachine(messages).place?.latitude == 45.5)
    }
}
