// Brings committed facts of both streams of sharing to the wire.

import ServiceKit

struct SharingRelays: Sendable {
    let grants: EventRelay
    let requests: EventRelay

    /// After the commit. Grants go first: whoever holds data learns of a withdrawal before anybody hears that it happened.
    func tell(_ facts: SharingFacts) {
        for fact in facts.grants { grants.committed(fact) }
        for fact in facts.requests { requests.committed(fact) }
    }
}
