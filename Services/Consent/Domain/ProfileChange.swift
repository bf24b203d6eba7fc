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

/// What a form asks for. It is judged by itself, so that a wrong one is refused before anything of the account is read.
struct ProfileEdit: Sendable {
    /// Never changed by their owner; support corrects them (CON-11).
    static let fixed = ["name", "surname", "fiscalCode", "birthDate", "cityOfBirth"]

    private var edits: [@Sendable (inout Profile) -> Void] = []

    /// - Throws: `ProfileChangeFault`; then nothing changes.
    init(_ form: JSONTree, _ fields: ProfileFields) throws(ProfileChangeFault) {
        var reader = FormReader(form)
        var refused: [Problem.FieldError] = []
        for name in Self.fixed where reader.mentions(name) {
            _ = reader.value(name, isRequired: false)
            refused.append(.init(pointer: "/" + name, .fixed))
        }
        if reader.mentions("email") {
            _ = reader.value("email", isRequired: false)
            refused.append(.init(pointer: "/email", .changedElsewhere("POST /consent/v1/profile/email")))
        }
        readNeeded(&reader, fields)
        readOpen(&reader, fields)
        reader.finish()
        guard refused.isEmpty else { throw .fixed(refused + reader.faults) }
        guard reader.faults.isEmpty else { throw .fields(reader.faults) }
    }

    private mutating func set<Value: Sendable>(_ value: Value, _ edit: @escaping @Sendable (inout Profile, Value) -> Void) {
        edits.append { edit(&$0, value) }
    }

    func applied(to profile: Profile) -> ProfileChange {
        var new = profile
        for edit in edits { edit(&new) }
        var measured: [Metric] = []
        if new.weight != profile.weight { measured.append(.bodyWeight) }
        if new.height != profile.height { measured.append(.bodyHeight) }
        return ProfileChange(profile: new, hasNewUserName: new.userName?.folded != profile.userName?.folded, measured: measured)
    }

    /// A field that is named and null is missing: these cannot be taken away.
    private mutating func readNeeded(_ reader: inout FormReader, _ fields: ProfileFields) {
        if reader.mentions("cityOfResidence"), let value = fields.cityOfResidence(&reader) { set(value) { $0.cityOfResidence = $1 } }
        if reader.mentions("address"), let value = fields.address(&reader) { set(value) { $0.address = $1 } }
        if reader.mentions("occupation"), let value = fields.occupation(&reader) { set(value) { $0.occupation = $1 } }
        if reader.mentions("weight"), let value = fields.weight(&reader) { set(value) { $0.weight = $1 } }
        if reader.mentions("height"), let value = fields.height(&reader) { set(value) { $0.height = $1 } }
        if reader.mentions("language"), let value = fields.language(&reader) { set(value) { $0.language = $1 } }
    }

    /// A field that is named and null is taken away.
    private mutating func readOpen(_ reader: inout FormReader, _ fields: ProfileFields) {
        if reader.mentions("gender") { set(fields.gender(&reader)) { $0.gender = $1 } }
        if reader.mentions("userName") { set(fields.userName(&reader)) { $0.userName = $1 } }
        if reader.mentions("phone") { set(fields.phone(&reader)) { $0.phone = $1 } }
        if reader.mentions("socialStatus") { set(fields.socialStatus(&reader)) { $0.socialStatus = $1 } }
        if reader.mentions("workHoursPerDay") { set(fields.workHoursPerDay(&reader)) { $0.workHoursPerDay = $1 } }
        if reader.mentions("sportHoursPerWeek") { set(fields.sportHoursPerWeek(&reader)) { $0.sportHoursPerWeek = $1 } }
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
