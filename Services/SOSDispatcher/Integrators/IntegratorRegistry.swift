// All integrators in memory: who is asked about a place, who has shown which token, number or peer key.

import Contracts
import Sealing
import Synchronization

final class IntegratorRegistry: Sendable {
    private let entries: Mutex<[String: Integrator]>
    /// Known by its id alone: nobody is sent there, and nobody shows its token.
    private let hidden = Mutex<Integrator?>(nil)

    init(_ integrators: [Integrator]) {
        entries = Mutex(Dictionary(integrators.map { ($0.id, $0) }) { first, _ in first })
    }

    var all: [Integrator] {
        entries.withLock { $0.values.sorted { $0.id < $1.id } }
    }

    func put(_ integrator: Integrator) {
        entries.withLock { $0[integrator.id] = integrator }
    }

    /// Retired ones too: whoever was called is still told how it goes on.
    func integrator(_ id: String) -> Integrator? {
        entries.withLock { $0[id] } ?? hidden.withLock { $0?.id == id ? $0 : nil }
    }

    func hide(_ integrator: Integrator) {
        hidden.withLock { $0 = integrator }
    }

    /// The hidden one's id; nil while it is not known where it listens.
    var probe: String? { hidden.withLock { $0?.id } }

    /// Whom to ask, in order; see `IntegratorChoice`. Never empty: the one of the settings is asked where there is nobody else.
    func order(for place: ServiceArea.Corner?) -> [String] {
        let active = all.filter(\.isActive)
        guard !active.isEmpty else { return [Integrator.configuredID] }
        return IntegratorChoice.order(
            active.map { IntegratorChoice.Candidate(id: $0.id, area: $0.settings.area, priority: $0.settings.priority) }, for: place)
    }

    /// Whether anybody else may be asked.
    func hasFurther(than asked: Set<String>) -> Bool {
        entries.withLock { $0.values.contains { $0.isActive && !asked.contains($0.id) } }
    }

    /// Whose token it is. Every one is compared in full, so that the time tells nothing.
    func integrator(withToken token: String) -> Integrator? {
        let shown = Array(token.utf8)
        return all.reduce(nil) { Digest.constantTimeEqual(shown, Array($1.token.utf8)) ? $1 : $0 }
    }

    func integrator(of peer: Peer) -> Integrator? {
        all.first { $0.settings.peer == peer.name }
    }

    func integrators(withNumber number: String) -> [Integrator] {
        all.filter { $0.settings.number == number }
    }
}
