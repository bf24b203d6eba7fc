// Whether a third party may read what it asks for now: the last word is here, where the data are (SHR-11, SHR-21, INV-04).

import Contracts

/// Why nothing is handed out. The texts name no person and no value.
enum ReadDenial: Error, Hashable, Sendable {
    /// Also for a grant of another organisation.
    case unknownGrant
    case invalid(String)
    case notActive
    case otherType
    case outsideWindow
    /// What consent has decided meanwhile is not known: privacy fails closed.
    case consentSilent
    /// The person, or what was collected, is erased.
    case nothingLeft
    /// What the person's entries are sealed under does not open at present.
    case keyDamaged

    var failure: Failure {
        switch self {
        case .unknownGrant: Failure(.notFound, "there is no such grant")
        case .invalid(let what): Failure(.invalid, what)
        case .notActive: Failure(.forbidden, "the grant is not in force; the person withdrew it or it has ended")
        case .otherType: Failure(.forbidden, "the grant does not name this type, or the person withdrew it")
        case .outsideWindow: Failure(.forbidden, "the grant does not reach over the whole period; ask within its window")
        case .consentSilent: Failure(.forbidden, "consent was silent for too long, so no grant can be relied on; ask again later")
        case .nothingLeft: Failure(.forbidden, "there is nothing that this grant could give any more")
        case .keyDamaged: Failure(.unavailable, "the person's key is damaged; ask again later")
        }
    }
}

enum GrantRules {
    static let limits = 1...10_000

    /// Checked at each page, and again in the transaction that records it.
    /// - Parameter grant: as last received; nil where none was received.
    /// - Parameter silence: how long ago everything that consent had published was known.
    static func check(_ asked: ReadSamples, against grant: GrantState?, silence: Duration) throws(ReadDenial) {
        guard silence <= StreamFamily.grantSilence else { throw .consentSilent }
        guard let grant, grant.grant == asked.grant, grant.organisation == asked.organisation else { throw .unknownGrant }
        guard limits.contains(asked.limit) else { throw .invalid("limit is from \(limits.lowerBound) to \(limits.upperBound)") }
        guard asked.from < asked.to else { throw .invalid("to is later than from") }
        guard grant.active else { throw .notActive }
        guard grant.types.contains(asked.type) else { throw .otherType }
        guard grant.from <= asked.from, asked.to <= grant.to else { throw .outsideWindow }
    }

    /// The same check of what was taken by `grant` as it was then: a window or step that has changed since denies it too.
    static func check(
        _ asked: ReadSamples, takenBy grant: GrantState, against known: GrantState?, silence: Duration
    ) throws(ReadDenial) {
        try check(asked, against: known, silence: silence)
        guard known?.granularity == grant.granularity, known?.from == grant.from, known?.to == grant.to else { throw .notActive }
    }
}
