// What jobs of one kind have in common.

package import Contracts
package import Sealing

/// A kind is for one conversation: a peer that is silent makes its kinds pause, and no other.
package struct JobKind: Sendable {
    /// Kebab-case; also a label of metrics. Never another one for jobs that are stored.
    package let name: String
    /// Attempts at the same time.
    package let concurrency: Int
    /// Of one job that was refused, or failed.
    package let backoff: Backoff
    /// Of the kind, while nobody answers.
    package let silence: Backoff

    package init(
        _ name: String, concurrency: Int = 8, backoff: Backoff = Backoff(.seconds(1), upTo: .seconds(600)),
        silence: Backoff = Backoff(.milliseconds(200), upTo: .seconds(5))
    ) {
        (self.name, self.concurrency, self.backoff, self.silence) = (name, concurrency, backoff, silence)
    }
}

/// How the bodies of one kind are sealed. The context binds a seal to its job and must be the same for ever.
package struct JobSeal: Sendable {
    /// Which job a body belongs to.
    package struct Label: Hashable, Sendable {
        package let id: String
        package let person: PersonID?

        package init(id: String, person: PersonID?) {
            (self.id, self.person) = (id, person)
        }
    }

    let seal: @Sendable (_ plain: [UInt8], Label) throws -> [UInt8]
    let open: @Sendable (_ sealed: [UInt8], Label) throws -> [UInt8]
    /// Whether nothing personal stands in a body.
    private(set) var isPlain = false

    /// Both throw `KeyDestroyed` where the key is gone: the job is then deleted.
    package init(
        seal: @escaping @Sendable (_ plain: [UInt8], Label) throws -> [UInt8],
        open: @escaping @Sendable (_ sealed: [UInt8], Label) throws -> [UInt8]
    ) {
        (self.seal, self.open) = (seal, open)
    }

    /// Under a key of the service's own, which must outlive restarts; erasing a person deletes the job.
    package static func under(_ key: SymmetricKey, context: @escaping @Sendable (Label) -> String) -> JobSeal {
        JobSeal(
            seal: { plain, label in try Seal.seal(plain, key: key, context: Array(context(label).utf8)) },
            open: { sealed, label in try Seal.open(sealed, key: key, context: Array(context(label).utf8)) })
    }

    /// For bodies that are ids of nobody's.
    package static let none: JobSeal = {
        var seal = JobSeal(seal: { plain, _ in plain }, open: { stored, _ in stored })
        seal.isPlain = true
        return seal
    }()
}
