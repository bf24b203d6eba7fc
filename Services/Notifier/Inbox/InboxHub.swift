// Wakes the open inboxes of a person when there is something new.

import Contracts
import ServiceKit
import Synchronization

/// One bell per open event stream. Holds who listens, in memory only.
final class InboxHub: Sendable {
    /// Event streams that one person may have open.
    static let mostPerPerson = 10

    private let listeners = Mutex<[PersonID: [Int: Bell]]>([:])
    private let numbers = Mutex(0)

    /// nil where the person has as many streams open as they may.
    func listen(_ person: PersonID) -> (number: Int, bell: Bell)? {
        let number = numbers.withLock { numbers in
            numbers += 1
            return numbers
        }
        return listeners.withLock { listeners in
            guard listeners[person, default: [:]].count < InboxHub.mostPerPerson else { return nil }
            let bell = Bell()
            listeners[person, default: [:]][number] = bell
            return (number, bell)
        }
    }

    func leave(_ person: PersonID, _ number: Int) {
        listeners.withLock { listeners in
            listeners[person]?[number] = nil
            if listeners[person]?.isEmpty == true { listeners[person] = nil }
        }
    }

    func tell(_ person: PersonID) {
        let bells = listeners.withLock { $0[person].map { Array($0.values) } ?? [] }
        for bell in bells { bell.ring() }
    }
}
