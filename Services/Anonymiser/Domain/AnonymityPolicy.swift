// Every constant of the release policy, as one struct of declared settings with their bounds.

/// How the edge between a refused and an admitted size is drawn.
enum AdmissionMargin: String, Hashable, Sendable, CaseIterable {
    /// Exactly at the bound: 1000 is refused, 1001 admitted.
    case off
    /// Above the bound chance decides, so that one person more or less changes the answer by at most (ε = 1, δ = 1e-6).
    case geometric
}

/// All numbers are whole. Shares are in permille, ρ (zCDP) in millionths.
struct AnonymityPolicy: Hashable, Sendable {
    /// More distinct people than this are behind every table that is released (ANO-06).
    var minIndividuals = 1000
    /// People of one class of quasi-identifiers in one bucket.
    var fewestPerClass = 50
    /// People behind one entry of records (ANO-10); the last entry of a class takes up to twice as many less one.
    var entrySize = 10
    /// Different values that a class shows (distinct l-diversity).
    var fewestValuesPerClass = 3
    /// Of a class, for one value (α).
    var largestValueShare = 500
    /// People flattened at each end of a class.
    var flattened = 10
    /// Of a table's people, for classes that are dropped before recoding goes on.
    var largestSuppressedShare = 50
    /// People in whom the groups of two requests differ (ANO-11).
    var fewestDiffering = 1001
    /// The keyed jitter on `fewestDiffering` is 0 to this.
    var differenceJitter = 50
    /// zCDP of a person-day that one release of statistics costs.
    var releaseMicroRho = 50_000
    /// Of a person-day towards one organisation.
    var organisationDayMicroRho = 100_000
    /// Of a person-day towards everybody together.
    var everybodyDayMicroRho = 400_000
    /// Buckets times types of one release are at most its people divided by this.
    var individualsPerTable = 8
    /// Different cohorts of one organisation in `cohortDays`.
    var admittedCohorts = 64
    var refusedCohorts = 256
    var cohortDays = 365
    /// People in every bucket of quarter hours.
    var quarterHourIndividuals = 10_000
    /// Cells in which one person counts on one day.
    var cellsPerPersonDay = 4
    /// For how long windows of a subscription are merged before they are withheld.
    var holdDays = 7
    /// How long after its end a window waits for late data.
    var watermarkMinutes = 10
    /// Of the public population of a place, for a cohort (δ-presence).
    var largestPresenceShare = 500
    /// In whole years; who is younger is in no group.
    var youngestAge = 18
    /// Days of one request.
    var longestWindowDays = 3660
    var margin = AdmissionMargin.off
    /// Whether no combination of groups may isolate few people of any organisation, not of untrusted ones alone (ANO-11).
    var guardsAtoms = false
}

extension AnonymityPolicy {
    /// One declared number: its name in settings under `ano.`, what it may be, and what it means.
    struct Setting: Sendable {
        let name: String
        let path: any WritableKeyPath<AnonymityPolicy, Int> & Sendable
        let bounds: ClosedRange<Int>
        let meaning: String

        init(_ name: String, _ path: any WritableKeyPath<AnonymityPolicy, Int> & Sendable, _ bounds: ClosedRange<Int>, _ meaning: String) {
            (self.name, self.path, self.bounds, self.meaning) = (name, path, bounds, meaning)
        }
    }

    /// Every number, once. The bounds let an operator be stricter than the requirements, never laxer.
    static let settings: [Setting] = [
        Setting("min_individuals", \.minIndividuals, 1000...1_000_000, "Distinct people of whom a group has more, in every table."),
        Setting("class_min", \.fewestPerClass, 50...10_000, "Fewest people of one class in one bucket."),
        Setting("entry_size", \.entrySize, 10...100, "Fewest people whom one entry describes."),
        Setting("class_values_min", \.fewestValuesPerClass, 3...10, "Fewest different values that a class shows."),
        Setting("value_share_permille", \.largestValueShare, 200...500, "Largest share of a class that one value may have."),
        Setting("flattened", \.flattened, 10...100, "People at each end of a class who take the mean of the next."),
        Setting(
            "suppressed_permille", \.largestSuppressedShare, 0...200,
            "Largest share of people in classes that are left out before classes are made coarser."),
        Setting(
            "difference_min", \.fewestDiffering, 101...1_000_000,
            "Fewest people in whom the groups of two requests of one organisation differ."),
        Setting("difference_jitter", \.differenceJitter, 0...1000, "Most people by which a keyed number raises ano.difference_min."),
        Setting(
            "release_micro_rho", \.releaseMicroRho, 1000...100_000,
            "Privacy (zCDP, in millionths) of a person-day that one release of statistics costs."),
        Setting(
            "organisation_day_micro_rho", \.organisationDayMicroRho, 1000...500_000,
            "The same of a person-day towards one organisation, for ever."),
        Setting(
            "everybody_day_micro_rho", \.everybodyDayMicroRho, 1000...1_000_000,
            "The same of a person-day towards all organisations together, for ever."),
        Setting("individuals_per_table", \.individualsPerTable, 8...1000, "People of a release for each of its tables."),
        Setting("cohorts_admitted", \.admittedCohorts, 1...1000, "Different groups that one organisation may be given in ano.cohort_days."),
        Setting(
            "cohorts_refused", \.refusedCohorts, 1...10_000,
            "Different groups that may be refused to one organisation in ano.cohort_days."),
        Setting("cohort_days", \.cohortDays, 365...3660, "For how many days an organisation's groups count."),
        Setting(
            "quarter_hour_individuals", \.quarterHourIndividuals, 10_000...1_000_000,
            "Fewest people in every bucket of a quarter of an hour."),
        Setting("cells_per_person_day", \.cellsPerPersonDay, 1...4, "Squares in which one person counts on one day."),
        Setting("hold_days", \.holdDays, 1...30, "For how many days windows of a subscription are joined before they are withheld."),
        Setting("watermark_minutes", \.watermarkMinutes, 1...1440, "How long after its end a window waits for late data."),
        Setting("presence_permille", \.largestPresenceShare, 10...500, "Largest share of a place's public population that a group may be."),
        Setting("min_age", \.youngestAge, 0...120, "Years; who is younger is in no group."),
        Setting("window_days", \.longestWindowDays, 1...3660, "Longest period of one request."),
    ]

    /// Why a policy cannot be used. Names settings; holds nothing personal.
    enum Fault: Error, Hashable, Sendable {
        case outOfBounds(String, ClosedRange<Int>)
        /// A class must hold both flattened ends and the people whose mean they take, and at least two entries.
        case classTooSmall(atLeast: Int)
        /// 1/(2ρ) must be whole, so that σ² is.
        case rhoNotWhole(String)
        /// A larger budget must not be less than a smaller one, and must be a whole number of releases, at most 15.
        case budgetsDisagree(String)
    }

    /// Everything that is wrong, in the order of `settings`; empty for a policy that can be used.
    var faults: [Fault] {
        var found = Self.settings.filter { !$0.bounds.contains(self[keyPath: $0.path]) }.map { Fault.outOfBounds($0.name, $0.bounds) }
        guard found.isEmpty else { return found }
        let smallestClass = max(4 * flattened, 2 * entrySize)
        if fewestPerClass < smallestClass { found.append(.classTooSmall(atLeast: smallestClass)) }
        if 500_000 % releaseMicroRho != 0 { found.append(.rhoNotWhole("release_micro_rho")) }
        if organisationDayMicroRho < releaseMicroRho { found.append(.budgetsDisagree("organisation_day_micro_rho")) }
        if everybodyDayMicroRho < organisationDayMicroRho || everybodyDayMicroRho % releaseMicroRho != 0
            || everybodyDayMicroRho / releaseMicroRho > DayCounters.most
        {
            found.append(.budgetsDisagree("everybody_day_micro_rho"))
        }
        return found
    }

    /// - Throws: the first fault.
    func checked() throws(Fault) -> AnonymityPolicy {
        if let fault = faults.first { throw fault }
        return self
    }

    /// N_MIN: the fewest that are enough.
    var fewestIndividuals: Int { minIndividuals + 1 }

    /// Releases of statistics in which one person-day may take part.
    var releasesPerPersonDay: Int { everybodyDayMicroRho / releaseMicroRho }
}
