// The part of a profile by which somebody can be chosen for a group, and nothing more.

import Contracts

extension CohortProfile {
    /// The sex is what was stated: where nothing was, no other field gives it away.
    /// - Parameter shares: at least one, by the types' numbers.
    init(_ profile: Profile, shares: [CohortOptIn]) {
        self.init(
            birthDate: profile.birthDate.text, sex: profile.gender?.rawValue, cityOfBirth: profile.cityOfBirth,
            cityOfResidence: profile.cityOfResidence, occupation: profile.occupation.rawValue, weight: profile.weight,
            height: profile.height, shares: shares)
    }
}
