// Beginning to watch over somebody, whoever asks for it: the person, consent at a registration, or an operator.

import Contracts
import ServiceKit

struct Enrolment: Sendable {
    let supervision: SupervisionService
    let store: SOSStore
    let keys: PersonKeys
    let ingest: IngestClient
    /// Somebody has joined: whoever fits bounds begins at once.
    let joined: @Sendable () -> Void

    /// Whether anybody can be watched over by devices that they have (SOS-02).
    /// - Throws: `conflict`, which names what is missing; what ingest says where it does not answer.
    func requireAbilities(of person: PersonID, own: [Metric: Bounds]? = nil) async throws {
        let missing = try await missing(of: person, own: own)
        guard missing.isEmpty else {
            throw Failure(.conflict, "AutomatedSOS was not joined. " + missing.map(\.detail).joined(separator: " "))
        }
    }

    /// What the person's devices lack, by these bounds of theirs or, where there are none, by those that are in force.
    func missing(of person: PersonID, own: [Metric: Bounds]?) async throws -> [NeededAbility] {
        var state = await supervision.subscriber(of: person)?.supervision ?? Supervision.State()
        if let own { state.own = own }
        let thresholds = state.thresholds(by: supervision.rules)
        return try await ingest.missing(of: person, watches: thresholds.watches)
    }

    /// Starts supervision, or changes what is given of one who is supervised already.
    /// - Parameters:
    ///   - own: nil leaves those that are.
    ///   - further: as of `SupervisionService.subscribe`.
    ///   - amend: what is kept of the subscriber beside.
    func enrol(
        _ person: PersonID, own: [Metric: Bounds]?, further: @escaping SupervisionService.Further,
        amend: @escaping @Sendable (inout Subscriber) -> Void = { _ in }
    ) async throws {
        guard await supervision.isListening() else {
            throw Failure(.unavailable, "nothing was received from ingest yet, so nobody could be watched: try again")
        }
        do {
            _ = try await keys.makeKey(for: person)
        } catch is KeyDestroyed {
            throw Failure(.conflict, "this person was erased")
        } catch let damaged as DamagedKey {
            throw damaged.failure
        }
        let known = await supervision.subscriber(of: person)?.supervision
        let isNew = known?.subscribed != true
        let interval = try? await store.longestInterval(of: person)
        try await supervision.subscribe(
            person, own: own ?? (isNew ? [:] : known?.own ?? [:]), interval: interval, further: further, amend: amend)
        await supervision.readDevices(of: person)
        guard isNew else { return }
        joined()
        // Nobody waits for this: until it comes, the person's position is unknown, and a call says so.
        Task { await supervision.note(ingest.latest(person), of: person) }
    }
}
