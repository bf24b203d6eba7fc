// Wakes whoever watches a person's prompt when there is something new to see.

import Contracts
import ServiceKit
import Synchronization

/// One bell per open event stream. Holds who listens, in memory only.
final class PromptHub: Sendable {
    /// Event streams that one person may have open; further ones are refused.
    static let mostPerPerson = 10

    private struct State {
        var bells: [PersonID: [Int: Bell]] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// nil where the person has as many streams open as they may.
    func listen(_ person: PersonID) -> (number: Int, bell: Bell)? {
        state.withLock { state in
            guard state.bells[person, default: [:]].count < PromptHub.mostPerPerson else { return nil }
            state.last += 1
            let bell = Bell()
            state.bells[person, default: [:]][state.last] = bell
            return (state.last, bell)
        }
    }

    func leave(_ person: PersonID, _ number: Int) {
        state.withLock { state in
            state.bells[person]?[number] = nil
            if state.bells[person]?.isEmpty == true { state.bells[person] = nil }
        }
    }

    func tell(_ person: PersonID) {
        let bells = state.withLock { $0.bells[person].map { Array($0.values) } ?? [] }
        for bell in bells { bell.ring() }
    }
}
