// The part of a profile that an emergency service may be told, and nothing more.

import Contracts

extension EmergencyCard {
    /// Medical notes are not part of a profile: the person keeps and releases them where emergencies are dealt with.
    init(_ profile: Profile, places: PlaceList) {
        let place = places.place(profile.cityOfResidence).map { $0.isAbroad ? $0.name : "\($0.name) (\($0.province))" }
        let sex = profile.gender.flatMap { $0 == .other ? nil : $0.rawValue } ?? FiscalCode(profile.fiscalCode)?.sex.rawValue
        self.init(
            name: "\(profile.name) \(profile.surname)", telephone: profile.phone?.text, language: profile.language.rawValue,
            birthYear: Int(profile.birthDate.date.year), sex: sex,
            address: [profile.address, place].compactMap { $0 }.joined(separator: ", "),
            medicalNotes: nil)
    }
}
