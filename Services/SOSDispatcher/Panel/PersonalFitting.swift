// Fits subscribers' bounds to their own last 30 days, when they join and then daily (SOS-07).

import Contracts
import Logging
import ServiceKit

struct PersonalFitting: Sendable {
    /// How old a fit may be.
    private static let age = Duration.seconds(86_400)
    private static let look = Duration.seconds(600)
    /// People at one look: rescue goes first, whatever a thousand newcomers cost.
    private static let atOnce = 200
    /// Between two people.
    private static let breath = Duration.milliseconds(20)

    let supervision: SupervisionService
    let ingest: IngestClient
    let rules: PersonalRules
    let wakeUp = WakeUpSignal()
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        while !Task.isCancelled {
            let people = await supervision.peopleToFit(before: .now - Self.age, limit: Self.atOnce)
            var isAnswering = true
            for person in people where isAnswering {
                do {
                    try await fit(person, at: .now)
                } catch {
                    // Ingest is silent: bounds stay as they are, and the next look tries again.
                    isAnswering = false
                }
                try await Task.sleep(for: Self.breath)
            }
            if !isAnswering { try await Task.sleep(for: .seconds(5)) }
            await wakeUp.wait(atMost: isAnswering && people.count == Self.atOnce ? Self.breath : Self.look)
        }
        throw CancellationError()
    }

    func fit(_ person: PersonID, at now: Timestamp) async throws {
        let period = (now - .seconds(Int64(PersonalRules.days) * 86_400))..<now
        var history: [Metric: [HistoryMinute]] = [:]
        for metric in supervision.defaults.keys { history[metric] = try await ingest.minutes(metric, of: person, in: period) }
        await supervision.fitted(PersonalFit(history, defaults: supervision.defaults, rules: rules, at: now), of: person)
    }
}
