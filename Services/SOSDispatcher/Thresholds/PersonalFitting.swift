// Fits subscribers' bounds to their own last 30 days, when they join and then daily (SOS-07).

import Contracts
import Logging
import ServiceKit

struct PersonalFitting: Sendable {
    /// How old a fit may be.
    private static let age = Duration.seconds(86_400)
    private static let look = Duration.seconds(600)
    /// While ingest does not answer.
    private static let backoff = Backoff(.seconds(5), upTo: look)
    /// People at one look: rescue goes first, whatever a thousand newcomers cost.
    private static let atOnce = 200
    /// Between two people.
    private static let pause = Duration.milliseconds(20)

    let supervision: SupervisionService
    let ingest: IngestClient
    let rules: PersonalRules
    let wakeUp = WakeUpSignal()
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        // Ingest is silent: bounds stay as they are, and the next round tries again.
        try await WorkLoop(every: Self.look, signal: wakeUp, backoff: Self.backoff, failed: { _ in }).run {
            let people = await supervision.peopleToFit(before: .now - Self.age, limit: Self.atOnce)
            for person in people {
                try await fit(person, at: .now)
                try await Task.sleep(for: Self.pause)
            }
            return people.count == Self.atOnce ? .after(Self.pause) : .whenWoken
        }
    }

    func fit(_ person: PersonID, at now: Timestamp) async throws {
        let period = (now - .seconds(Int64(PersonalRules.days) * 86_400))..<now
        var history: [Metric: [HistoryMinute]] = [:]
        for metric in supervision.defaults.keys { history[metric] = try await ingest.minutes(metric, of: person, in: period) }
        await supervision.fitted(PersonalFit(history, defaults: supervision.defaults, rules: rules, at: now), of: person)
    }
}
