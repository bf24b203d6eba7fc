// What the two SOS dispatchers tell each other, as far as others need to know of it.

/// Said by either SOS dispatcher to the other on `sos.pair.first` and `sos.pair.second`: settings, answers, attempts and
/// acknowledgements. Personal. Both ends are one executable: the form is theirs and may change with each release; nobody else may hear it.
package struct PairNews: Codable, Sendable {
    package static let type = "pair-fact.v1"

    package init() {}
}
