// Messages of an emergency while the wall clock leaps: none is given up for it, and none waits for a time that never comes.

import Contracts
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Notifier

/// A wall clock that can be set wrong; time itself goes on as ever.
private final class WrongClock: Sendable {
    private let lead = Mutex(Duration.zero)

    /// As a process that begins now reads it.
    var read: DeadlineClock { DeadlineClock(wall: { [self] in now }) }
    var now: Timestamp { .now + lead.withLock { $0 } }

    func set(ahead lead: Duration) {
        self.lead.withLock { $0 = lead }
    }
}

@Suite("Delivering messages while the clock leaps")
struct LeapingClockStories {
    private static let leap = Duration.seconds(3 * 86_400)

    private func settings(_ stage: Stage, _ provider: ProviderPeer) throws -> [String: String] {
        [
            "TRACKME_NOTIFY_KANNEL_URL": "http://127.0.0.1:\(provider.port)/cgi-bin/sendsms",
            "TRACKME_NOTIFY_KANNEL_PASSWORD": try stage.secret("let-me-in", named: "kannel.password"),
        ]
    }

    private func text(notAfter: Timestamp? = nil) -> SendMessage {
        passwordChanged(to: Recipient(person: nil, phone: "+393331234567"), [.sms], notAfter: notAfter)
    }

    /// Returns once what is too late has been looked for since: a message with a moment to live was given up.
    private func sweep(_ stage: Stage, at now: Timestamp) async throws {
        let brief = text(notAfter: now + .milliseconds(100))
        try await stage.send(brief)
        try await eventually("what is too late is given up") { try await stage.states(brief) == [.sms: .failed] }
    }

    @Test("The clock leapt three days ahead while the SMS gateway was down, and the contacts' text expired: it is tried on, and sent")
    func leap() async throws {
        try await Stage.play { stage in
            let (provider, clock) = (await stage.provider(), WrongClock())
            provider.answer(503)
            try await stage.start(try settings(stage, provider), clock: clock.read)
            let message = text()
            try await stage.send(message)
            try await eventually("it was tried") { !provider.posts.isEmpty }
            clock.set(ahead: Self.leap)
            try await sweep(stage, at: .now)
            let tried = provider.posts.count
            try await eventually("it is tried while the clock is wrong") { provider.posts.count > tried + 1 }
            #expect(try await stage.states(message) == [.sms: .queued])
            clock.set(ahead: .zero)
            provider.answer(202)
            try await eventually("it is sent") { try await stage.states(message) == [.sms: .sent] }
        }
    }

    @Test("A message that is sent to us while the clock has leapt ahead leaves at once")
    func acceptedMeanwhile() async throws {
        try await Stage.play { stage in
            let (provider, clock) = (await stage.provider(), WrongClock())
            try await stage.start(try settings(stage, provider), clock: clock.read)
            clock.set(ahead: Self.leap)
            let message = text()
            try await stage.send(message)
            try await eventually("it is sent") { try await stage.states(message) == [.sms: .sent] }
        }
    }

    @Test("A notifier that starts while the clock is three days ahead gives up nothing that waits")
    func startedInLeap() async throws {
        try await Stage.play { stage in
            let (provider, clock) = (await stage.provider(), WrongClock())
            provider.answer(503)
            let settings = try settings(stage, provider)
            let first = try await stage.start(settings, clock: clock.read)
            let message = text()
            try await stage.send(message)
            try await eventually("it was tried") { !provider.posts.isEmpty }
            await first.stop()
            clock.set(ahead: Self.leap)
            try await stage.start(settings, clock: clock.read)
            try await sweep(stage, at: clock.now)
            #expect(try await stage.states(message) == [.sms: .queued])
            clock.set(ahead: .zero)
            provider.answer(202)
            try await eventually("it is sent", within: .seconds(60)) { try await stage.states(message) == [.sms: .sent] }
        }
    }

    @Test("An attempt that failed while the clock was three days ahead is not made three days after it was set right")
    func setBack() async throws {
        try await Stage.play { stage in
            let (provider, clock) = (await stage.provider(), WrongClock())
            provider.answer(503)
            clock.set(ahead: Self.leap)
            try await stage.start(try settings(stage, provider), clock: clock.read)
            let message = text(notAfter: clock.now + .seconds(3600))
            try await stage.send(message)
            try await eventually("it was tried") { provider.posts.count > 1 }
            clock.set(ahead: .zero)
            provider.answer(202)
            try await eventually("it is sent", within: .seconds(60)) { try await stage.states(message) == [.sms: .sent] }
        }
    }
}
