// What a subscriber can do with thresholds: set own ones, and see what they would have done.

import Contracts

struct ThresholdService: Sendable {
    let supervision: SupervisionService
    let changes: ProtectionChanges
    let preview: ThresholdPreview

    func setOwn(_ own: [Metric: Bounds], of person: PersonID, _ proof: ProtectionChanges.FreshProof) async throws {
        try await supervision.setOwn(own, of: person, further: changes.weakening(person, by: .init(own: own), proof))
    }

    /// What the last 30 days would have been under these own bounds, and under those in force.
    func forecasts(
        own: [Metric: Bounds], of person: PersonID, at now: Timestamp
    ) async throws -> (proposed: ThresholdForecast, present: ThresholdForecast) {
        let present = await supervision.subscriber(of: person)?.supervision ?? Supervision.State()
        var proposed = present
        proposed.own = own
        let found = try await preview.forecasts([proposed, present], of: person, at: now)
        guard found.count == 2 else { throw Failure(.internal, "a forecast is missing") }
        return (found[0], found[1])
    }
}
