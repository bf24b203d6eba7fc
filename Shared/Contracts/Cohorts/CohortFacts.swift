// What the anonymiser is told of people who share anonymously: who they are by the filters' attributes, and sums of closed hours.

/// A type that a person shares anonymously, and since when (ANO-09). What was measured before that is never in a group's data.
package struct CohortOptIn: Hashable, Codable, Sendable {
    package var metric: Metric
    package var since: Timestamp

    package init(metric: Metric, since: Timestamp) {
        (self.metric, self.since) = (metric, since)
    }
}

/// Said by consent on `consent.cohort` (state) when somebody begins to share anonymously, changes what is said here, or ends. Of people
/// without an opt-in nothing is said. Personal, and sealed at rest by both ends; if lost, replayed from the log.
package struct CohortProfileState: Hashable, Codable, Sendable {
    package static let type = "cohort-profile-changed.v1"

    package var person: PersonID
    /// Nil once nothing is shared any more, or the account closes.
    package var profile: CohortProfile?

    package init(person: PersonID, profile: CohortProfile?) {
        (self.person, self.profile) = (person, profile)
    }
}

/// The attributes by which a person can be chosen for a group or classed in one (ANO-03). Personal.
package struct CohortProfile: Hashable, Codable, Sendable {
    /// `1940-05-01`.
    package var birthDate: String
    /// `female`, `male` or `other`; nil where it was not stated.
    package var sex: String?
    /// Codes of places as profiles hold them: Belfiore's in Italy.
    package var cityOfBirth: String
    package var cityOfResidence: String
    /// `student`, `employed` or `unemployed`.
    package var occupation: String
    /// In kg.
    package var weight: Double
    /// In cm.
    package var height: Double
    /// At least one, in the order of the registry, each type once.
    package var shares: [CohortOptIn]

    package init(
        birthDate: String, sex: String?, cityOfBirth: String, cityOfResidence: String, occupation: String, weight: Double, height: Double,
        shares: [CohortOptIn]
    ) {
        (self.birthDate, self.sex, self.cityOfBirth, self.cityOfResidence) = (birthDate, sex, cityOfBirth, cityOfResidence)
        (self.occupation, self.weight, self.height, self.shares) = (occupation, weight, height, shares)
    }
}

/// Said by ingest on `ingest.cohort` of each closed hour in which somebody measured something that is shared anonymously: sums, never
/// samples. Hours of one person come in order; one that was said is never said again with other numbers. Personal, and sealed at rest.
package struct CohortHourSummed: Hashable, Codable, Sendable {
    package static let type = "cohort-hour-summed.v1"
    package static let milliseconds: Int64 = 3_600_000
    /// Cells of one hour; whoever was in more counts in the first ones.
    package static let mostCells = 64

    package var person: PersonID
    /// Its beginning; a whole hour since 1970 (UTC).
    package var hour: Timestamp
    /// In the order of the registry; scalars alone.
    package var sums: [Sum]
    /// Where the person was, in the order of the squares, each once; nil where positions are not shared or there were none.
    package var cells: [GridCell]?

    package init(person: PersonID, hour: Timestamp, sums: [Sum], cells: [GridCell]? = nil) {
        (self.person, self.hour, self.sums, self.cells) = (person, hour, sums, cells)
    }

    package struct Sum: Hashable, Codable, Sendable {
        package var metric: Metric
        /// Samples, at least 1.
        package var count: Int
        /// Of their values, each rounded to thousandths of the metric's unit, in thousandths.
        package var sum: Int

        package init(metric: Metric, count: Int, sum: Int) {
            (self.metric, self.count, self.sum) = (metric, count, sum)
        }
    }
}

/// Said by ingest on `ingest.cohort` once everybody's hours before `through` are said: buckets that end by then are closed, and what is
/// delivered of them later is in no group's data. Not personal; if lost, replayed from the log.
package struct CohortHoursClosed: Hashable, Codable, Sendable {
    package static let type = "cohort-hours-closed.v1"

    /// A whole hour since 1970 (UTC), not included.
    package var through: Timestamp

    package init(through: Timestamp) {
        self.through = through
    }
}
