// What every service with a queue of jobs answers the operator. They exist once per service: the client names it.

/// What waits in a service's queue of jobs, by kind, and the jobs that it has given up; never what they hold or whom they concern.
package struct ListJobs: Codable, Sendable {
    package static let method = "list-jobs"
    package static let answerers: Set<Peer> = [.consent, .ingest, .sosDispatcher, .sosDeputy, .thirdPartyGateway]
    package static let clients: Set<Peer> = [.trackme]

    /// `next` of the page before; nil for the first.
    package var after: Int64?

    package init(after: Int64? = nil) {
        self.after = after
    }

    package struct Kind: Hashable, Codable, Sendable {
        package var kind: String
        package var waiting: Int
        package var dead: Int
        /// When the oldest that waits was enqueued; nil where none waits.
        package var oldest: Timestamp?

        package init(kind: String, waiting: Int, dead: Int, oldest: Timestamp?) {
            (self.kind, self.waiting, self.dead, self.oldest) = (kind, waiting, dead, oldest)
        }
    }

    package struct Dead: Hashable, Codable, Sendable {
        /// In this service's store.
        package var job: Int64
        package var kind: String
        /// Why it was given up: a failure's code, or `unreadable`.
        package var error: String
        package var attempts: Int
        package var enqueuedAt: Timestamp
        package var deadAt: Timestamp

        package init(job: Int64, kind: String, error: String, attempts: Int, enqueuedAt: Timestamp, deadAt: Timestamp) {
            (self.job, self.kind, self.error, self.attempts) = (job, kind, error, attempts)
            (self.enqueuedAt, self.deadAt) = (enqueuedAt, deadAt)
        }
    }

    package struct Reply: Codable, Sendable {
        package var kinds: [Kind]
        /// At most 100, in the order of their being enqueued.
        package var dead: [Dead]
        /// What to send as `after` for the following page; nil at the end.
        package var next: Int64?

        package init(kinds: [Kind], dead: [Dead], next: Int64?) {
            (self.kinds, self.dead, self.next) = (kinds, dead, next)
        }
    }
}

/// Lets a service try again what it has given up. What is not dead, or not there, is left alone.
package struct ResendJobs: Codable, Sendable {
    package static let method = "resend-jobs"
    package static let answerers: Set<Peer> = [.consent, .ingest, .sosDispatcher, .sosDeputy, .thirdPartyGateway]
    package static let clients: Set<Peer> = [.trackme]

    /// Nil for all.
    package var job: Int64?

    package init(job: Int64?) {
        self.job = job
    }

    package struct Reply: Codable, Sendable {
        package var resent: Int

        package init(resent: Int) {
            self.resent = resent
        }
    }
}
