// What the two SOS dispatchers tell each other, as far as others need to know of it.

/// Said by either SOS dispatcher to the other on `sos.pair.first` and `sos.pair.second`: settings, answers, attempts and
/// acknowledgements. Personal. Both ends are one executable: the form is theirs and may change with each release; nobody else may hear it.
package struct PairNews: Codable, Sendable {
    package static let type = "pair-fact.v1"

    package init() {}
}

/// What the other SOS dispatcher knows and its disk has not taken, and thus neither its log: asked at a start, since whatever a process knew
/// without having stored it has ended with it. Empty as long as disks write.
package struct ReadUnstored: BusRequest {
    package static let method = "read-unstored"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.sosDispatcher, .sosDeputy]
    package static let mutates = false

    /// `next` of the page before; nil for the first.
    package var after: PersonID?

    package init(after: PersonID?) {
        self.after = after
    }

    package struct Reply: Codable, Sendable {
        /// As facts of the stream between the two, JSON. Personal.
        package var facts: [String]
        /// What to send as `after` for the following page; nil at the end.
        package var next: PersonID?

        package init(facts: [String], next: PersonID?) {
            (self.facts, self.next) = (facts, next)
        }
    }
}
