// The checks that registration and every later change share (ACC-03, ACC-19): one reading of each field.

import Contracts

/// Reads single fields of table ACC-F. A fault says what to do and never what was typed.
struct ProfileFields: Sendable {
    /// Fields that table ACC-F leaves open and that an operator may ask for (`acc.also_mandatory`, CON-05).
    enum Open: String, CaseIterable, Sendable {
        case gender, userName, phone, socialStatus, workHoursPerDay, sportHoursPerWeek
    }

    let country: Country
    let places: PlaceList
    /// The open fields that must be filled in.
    let mandatory: Set<Open>

    func cityOfResidence(_ form: inout FormReader) -> String? {
        form.read("cityOfResidence", expected: "expected the code of a place of today, from /consent/v1/places") { code in
            places.offered(code)?.isCurrent == true ? code : nil
        }
    }

    func cityOfBirth(_ form: inout FormReader) -> String? {
        form.read("cityOfBirth", expected: "expected the code of a place, from /consent/v1/places?past=true") { code in
            places.offered(code) == nil ? nil : code
        }
    }

    func address(_ form: inout FormReader) -> String? {
        form.text("address")
    }

    func occupation(_ form: inout FormReader) -> Occupation? {
        form.choice("occupation")
    }

    func weight(_ form: inout FormReader) -> Double? {
        form.number("weight", in: Plausible.weight, unit: "kg")
    }

    func height(_ form: inout FormReader) -> Double? {
        form.number("height", in: Plausible.height, unit: "cm")
    }

    // MARK: Open fields

    func gender(_ form: inout FormReader) -> Gender? {
        form.choice("gender", isRequired: mandatory.contains(.gender))
    }

    func userName(_ form: inout FormReader) -> UserName? {
        form.read(
            "userName", isRequired: mandatory.contains(.userName),
            expected: "expected 3 to 32 letters, digits, full stops, hyphens or underscores, and nothing like a fiscal code"
        ) { country.identifier.hasForm($0) ? nil : UserName($0) }
    }

    func phone(_ form: inout FormReader) -> TelephoneNumber? {
        form.read("phone", isRequired: mandatory.contains(.phone), expected: "expected a telephone number such as \(country.exampleNumber)")
        {
            TelephoneNumber($0, in: country)
        }
    }

    func socialStatus(_ form: inout FormReader) -> SocialStatus? {
        form.choice("socialStatus", isRequired: mandatory.contains(.socialStatus))
    }

    func workHoursPerDay(_ form: inout FormReader) -> Double? {
        form.number(
            "workHoursPerDay", isRequired: mandatory.contains(.workHoursPerDay), in: Plausible.workHours, unit: "hours a day")
    }

    func sportHoursPerWeek(_ form: inout FormReader) -> Double? {
        form.number(
            "sportHoursPerWeek", isRequired: mandatory.contains(.sportHoursPerWeek), in: Plausible.sportHours, unit: "hours a week")
    }

    /// Absent is English.
    func language(_ form: inout FormReader) -> Language? {
        form.choice("language", isRequired: false)
    }
}
