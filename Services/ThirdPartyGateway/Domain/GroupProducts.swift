// What an organisation may receive of groups: by its tier, and by what the operator allows.

import Contracts

enum GroupProducts: Hashable, Sendable {
    /// In good standing: records and statistics.
    case all
    /// Untrusted, and given records all the same: no combination of its groups may isolate few people then.
    case guarded
    /// Untrusted: statistics, whose noise protects whatever else it knows.
    case statistics

    init(_ tier: OrganisationTier, untrustedRecords: Bool) {
        switch tier {
        case .goodStanding: self = .all
        case .untrusted: self = untrustedRecords ? .guarded : .statistics
        }
    }

    /// What is no product at all is the anonymiser's to refuse. - Parameter product: of a form; nil for records.
    func allows(_ product: String?) -> Bool {
        self != .statistics || (product ?? "records") != "records"
    }
}
