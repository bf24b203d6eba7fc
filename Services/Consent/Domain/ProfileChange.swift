// Judging a change of a profile (ACC-19): only what is named changes, and what is fixed is refused by its name.

import Contracts

/// What a change makes of a profile.
struct ProfileChange: Hashable, Sendable {
    var profile: Profile
    /// Whether the look-up of the user name changes.
    var hasNewUserName: Bool
    /// What was measured anew and is stored as data entries, too.
    var measured: [Metric]
}

enum ProfileChangeFault: Error, Hashable, Sendable {
    case fields([Problem.FieldError])
    /// Among the fields is one that never changes after registration.
    case fixed([Problem.FieldError])
}

extension ProfileChange {
    /// Never changed by their owner; support corrects them (CON-11).
    static let fixed = ["name", "surname", "fiscalCode", "birthDate", "cityOfBirth"]

    /// - Throws: `ProfileChangeFault`; then nothing changes.
    static func check(_ form: JSONTree, of profile: Profile, _ fields: ProfileFields) throws(ProfileChangeFault) -> ProfileChange {
        var reader = FormReader(form)
        var refused: [Problem.FieldError] = []
        for name in fixed where reader.mentions(name) {
            _ = reader.value(name, isRequired: false)
            refused.append(.init(pointer: "/" + name, .fixed))
        }
        if reader.mentions("email") {
            _ = reader.value("email", isRequired: false)
            refused.append(.init(pointer: "/email", .changedElsewhere("POST /consent/v1/profile/email")))
        }
        var new = profile
        readNeeded(&reader, fields, &new)
        readOpen(&reader, fields, &new)
        reader.finish()
        guard refused.isEmpty else { throw .fixed(refused + reader.faults) }
        guard reader.faults.isEmpty else { throw .fields(reader.faults) }
        var measured: [Metric] = []
        if new.weight != profile.weight { measured.append(.bodyWeight) }
        if new.height != profile.height { measured.append(.bodyHeight) }
        return ProfileChange(profile: new, hasNewUserName: new.userName?.folded != profile.userName?.folded, measured: measured)
    }

    /// A field that is named and null is missing: these cannot be taken away.
    private static func readNeeded(_ reader: inout FormReader, _ fields: ProfileFields, _ new: inout Profile) {
        if reader.mentions("cityOfResidence"), let value = fields.cityOfResidence(&reader) { new.cityOfResidence = value }
        if reader.mentions("address"), let value = fields.address(&reader) { new.address = value }
        if reader.mentions("occupation"), let value = fields.occupation(&reader) { new.occupation = value }
        if reader.mentions("weight"), let value = fields.weight(&reader) { new.weight = value }
        if reader.mentions("height"), let value = fields.height(&reader) { new.height = value }
        if reader.mentions("language"), let value = fields.language(&reader) { new.language = value }
    }

    /// A field that is named and null is taken away.
    private static func readOpen(_ reader: inout FormReader, _ fields: ProfileFields, _ new: inout Profile) {
        if reader.mentions("gender") { new.gender = fields.gender(&reader) }
        if reader.mentions("userName") { new.userName = fields.userName(&reader) }
        if reader.mentions("phone") { new.phone = fields.phone(&reader) }
        if reader.mentions("socialStatus") { new.socialStatus = fields.socialStatus(&reader) }
        if reader.mentions("workHoursPerDay") { new.workHoursPerDay = fields.workHoursPerDay(&reader) }
        if reader.mentions("sportHoursPerWeek") { new.sportHoursPerWeek = fields.sportHoursPerWeek(&reader) }
    }
}

extension Metric {
    // The two metrics that a form asks for.
    static let bodyWeight = registered("weight")
    static let bodyHeight = registered("height")

    private static func registered(_ code: String) -> Metric {
        guard let metric = Metric(code: code) else { preconditionFailure("the registry has no \(code)") }
        return metric
    }
}
