// Wakes whoever watches an organisation's requests when one of them has changed.

import Contracts
import ServiceKit
import Synchronization

/// One bell per open event stream. Holds who listens, in memory only.
final class RequestHub: Sendable {
    /// Event streams that one organisation may have open; further ones are refused.
    static let mostPerOrganisation = 20

    private struct State {
        var bells: [OrganisationID: [Int: Bell]] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Nil where the organisation has as many streams open as it may.
    func listen(_ organisation: OrganisationID) -> (number: Int, bell: Bell)? {
        state.withLock { state in
            guard state.bells[organisation, default: [:]].count < RequestHub.mostPerOrganisation else { return nil }
            state.last += 1
            let bell = Bell()
            state.bells[organisation, default: [:]][state.last] = bell
            return (state.last, bell)
        }
    }

    func leave(_ organisation: OrganisationID, _ number: Int) {
        state.withLock { state in
            state.bells[organisation]?[number] = nil
            if state.bells[organisation]?.isEmpty == true { state.bells[organisation] = nil }
        }
    }

    func tell(_ organisation: OrganisationID) {
        let bells = state.withLock { $0.bells[organisation].map { Array($0.values) } ?? [] }
        for bell in bells { bell.ring() }
    }
}

/// One open event stream: requests as they are after each change. Who reconnects gets the last state of all that changed meanwhile.
actor RequestFeed {
    /// Without a ring it is looked at all the same.
    private static let look = Duration.seconds(10)
    private static let page = 100

    private let organisation: OrganisationID
    private let book: RequestBook
    private let hub: RequestHub
    private let place: (number: Int, bell: Bell)
    private var seen: Int64
    /// In reverse, so that taking the first is cheap.
    private var waiting: [ShownRequest] = []

    /// - Parameter seen: the change that was seen last.
    /// - Returns: nil where the organisation has as many streams open as it may.
    init?(of organisation: OrganisationID, seen: Int64, book: RequestBook, hub: RequestHub) {
        guard let place = hub.listen(organisation) else { return nil }
        (self.organisation, self.seen, self.book, self.hub, self.place) = (organisation, seen, book, hub, place)
    }

    deinit {
        hub.leave(organisation, place.number)
    }

    /// Nil when the task is cancelled.
    func next() async throws -> ShownRequest? {
        while !Task.isCancelled {
            if let first = waiting.popLast() {
                seen = first.stored.change
                return first
            }
            let changed = try await book.changed(of: organisation, after: seen, limit: Self.page)
            waiting = changed.filter(\.isWhole).reversed()
            if waiting.isEmpty, let last = changed.last { seen = last.stored.change }
            if changed.isEmpty { await place.bell.wait(atMost: Self.look) }
        }
        return nil
    }
}
