// Reminds whoever has paused supervision, again and again, that nobody watches over them (SOS-04).

import Contracts
import Logging
import ServiceKit
import Storage

/// Counted from when the pause began, through restarts: reminder number n is due n intervals after it. What was missed while nobody ran, or
/// while the person slept, is made up by one reminder, not by many.
struct PauseReminders: Sendable {
    /// How often it looks; also the most by which a reminder is late.
    private static let look = Duration.seconds(60)

    let supervision: SupervisionService
    let store: SOSStore
    let messages: MessageOutbox
    let names: Names
    let interval: Duration
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        while true {
            await remind(at: .now)
            try await Task.sleep(for: min(Self.look, interval / 4))
        }
    }

    func remind(at now: Timestamp) async {
        for pausing in await supervision.pausing() {
            let number = Self.number(since: pausing.since, at: now, interval)
            guard number > 0, WakingHours.contain(now, at: pausing.longitude) else { continue }
            let message = SendMessage(
                message: names.message("pause-reminder|\(pausing.person)|\(pausing.since.milliseconds)|\(number)"),
                recipient: Recipient(person: pausing.person), channels: [.inbox, .push], template: .sosPauseReminder,
                language: pausing.language, values: ["time": pausing.since.rfc3339])
            do {
                try await store.remind(pausing.person, since: pausing.since, number: number, message, through: messages)
            } catch {
                logger.error("a reminder of a pause could not be stored; it is tried again", metadata: ["reason": "\(error.logReason)"])
            }
        }
    }

    /// How many intervals have passed.
    static func number(since: Timestamp, at now: Timestamp, _ interval: Duration) -> Int {
        let (passed, each) = ((now - since).wholeMilliseconds, interval.wholeMilliseconds)
        return passed < each || each <= 0 ? 0 : Int(passed / each)
    }
}

/// When people are taken to be awake: by the sun where they were last, since no profile knows a time zone.
enum WakingHours {
    private static let hours = 8..<22
    /// Of Rome, where nobody knows better.
    private static let usualLongitude = 12.5

    /// - Parameter longitude: of the last known place, in degrees; nil: none is known.
    static func contain(_ time: Timestamp, at longitude: Double?) -> Bool {
        let local = Double(time.milliseconds) / 3_600_000 + (longitude ?? usualLongitude) / 15
        return hours.contains(Int((local / 24 - (local / 24).rounded(.down)) * 24))
    }
}
