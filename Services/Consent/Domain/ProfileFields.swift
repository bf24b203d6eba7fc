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
        form.read("cityOfResidence", orElse: .notAPlace(listedAt: "/consent/v1/places")) { code in
            places.offered(code)?.isCurrent == true ? code : nil
        }
    }

    func cityOfBirth(_ form: inout FormReader) -> String? {
        form.read("cityOfBirth", orElse: .notAPlace(listedAt: "/consent/v1/places?past=true")) { code in
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
        form.number("weight", in: Plausible.weight, .kilograms)
    }

    func height(_ form: inout FormReader) -> Double? {
        form.number("height", in: Plausible.height, .centimetres)
    }

    // MARK: Open fields

    func gender(_ form: inout FormReader) -> Gender? {
        form.choice("gender", isRequired: mandatory.contains(.gender))
    }

    func userName(_ form: inout FormReader) -> UserName? {
        form.read(
            "userName", isRequired: mandatory.contains(.userName), orElse: .notAUserName
        ) { country.identifier.hasForm($0) ? nil : UserName($0) }
    }

    func phone(_ form: inout FormReader) -> TelephoneNumber? {
        form.read("phone", isRequired: mandatory.contains(.phone), orElse: .notATelephoneNumber(like: country.exampleNumber)) {
            TelephoneNumber($0, in: country)
        }
    }

    func socialStatus(_ form: inout FormReader) -> SocialStatus? {
        form.choice("socialStatus", isRequired: mandatory.contains(.socialStatus))
    }

    func workHoursPerDay(_ form: inout FormReader) -> Double? {
        form.number(
            "workHoursPerDay", isRequired: mandatory.contains(.workHoursPerDay), in: Plausible.workHours, .hoursPerDay)
    }

    func sportHoursPerWeek(_ form: inout FormReader) -> Double? {
        form.number(
            "sportHoursPerWeek", isRequired: mandatory.contains(.sportHoursPerWeek), in: Plausible.sportHours, .hoursPerWeek)
    }

    /// Absent is English.
    func language(_ form: inout FormReader) -> Language? {
        form.choice("language", isRequired: false)
    }
}
