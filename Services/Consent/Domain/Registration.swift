// Judging a registration form: everything that is wrong at once, or what the account is made of.

import Contracts

/// A form in which every field is right (ACC-03).
struct Registration: Hashable, Sendable {
    var profile: Profile
    var fiscalCode: PersonIdentifier
    /// Nil where passwords are mailed.
    var password: String?
    /// Types that may be shared anonymously; none unless chosen (ACC-06).
    var anonymousTypes: [Metric]
    var joinsAutomatedSOS: Bool
    /// The adult who must consent for a child (ACC-36); nil where none is needed.
    var guardian: EmailAddress?
}

/// How far an Italian fiscal code must agree with the other fields; identifiers of other countries say nothing of their owner.
enum FiscalCodeMatch: String, CaseIterable, Sendable {
    /// Form and check character alone.
    case check
    /// Also date and place of birth.
    case birth
    /// Also gender, where one is given that a code knows, and name and surname.
    case all
}

/// What the operator and the conditions ask of a form.
struct RegistrationRules: Sendable {
    var fields: ProfileFields
    /// The version that must be accepted.
    var termsVersion: String
    var isPasswordMailed = false
    /// What is wrong with a password, given the person's own words; nil where nothing is.
    var passwordFault: @Sendable (_ password: String, _ personal: [String]) -> FieldFault?
    var guardianAge: Int64
    var fiscalCodeMatch: FiscalCodeMatch
    var today: CivilDate
}

/// Why a form is refused; one of three problems, so that a client can lead the person to the right step.
enum RegistrationFault: Error, Hashable, Sendable {
    case fields([Problem.FieldError])
    /// Everything else is right (ACC-05).
    case conditionsNotAccepted([Problem.FieldError])
    /// Everything else is right (ACC-36).
    case guardianNeeded([Problem.FieldError])
}

extension Registration {
    /// Fields by which a form accepts the conditions.
    static let acceptances = ["acceptedTerms", "acceptedPrivacy"]
    static let guardianField = "guardianEmail"

    /// - Throws: `RegistrationFault`, with every wrong field named.
    static func check(_ form: JSONTree, _ rules: RegistrationRules) throws(RegistrationFault) -> Registration {
        var reader = FormReader(form)
        let profile = readProfile(&reader, rules)
        let fiscalCode = readFiscalCode(&reader, rules)
        if let fiscalCode, let profile { agree(fiscalCode, profile, &reader, rules.fiscalCodeMatch) }
        let password = readPassword(&reader, rules, profile)
        for name in acceptances {
            let accepted = reader.value(name, isRequired: false)
            if accepted != .text(rules.termsVersion) {
                reader.wrong(name, .conditionsNotAccepted(version: rules.termsVersion, at: "/consent/v1/terms"))
            }
        }
        let metrics = reader.list("anonymousTypes", most: Metric.all.count, orElse: .notAMetric(listedAt: "/ingest/v1/metrics")) {
            Metric(code: $0)
        }
        let joins = reader.flag("joinsAutomatedSOS")
        let clauses = reader.flag("acceptedSOSClauses")
        if joins, !clauses {
            reader.wrong("acceptedSOSClauses", .sosClausesNotAccepted)
        }
        let guardian = readGuardian(&reader, rules, profile)
        reader.finish()
        try refuse(reader.faults)
        guard var profile, let fiscalCode else { throw .fields(reader.faults) }
        profile.fiscalCode = fiscalCode.text
        return Registration(
            profile: profile, fiscalCode: fiscalCode, password: password, anonymousTypes: metrics, joinsAutomatedSOS: joins,
            guardian: guardian)
    }

    private static func refuse(_ faults: [Problem.FieldError]) throws(RegistrationFault) {
        guard !faults.isEmpty else { return }
        if faults.allSatisfy({ acceptances.contains(String($0.pointer.dropFirst())) }) { throw .conditionsNotAccepted(faults) }
        if faults.allSatisfy({ $0.pointer == "/" + guardianField }) { throw .guardianNeeded(faults) }
        throw .fields(faults)
    }

    /// Reads every field of table ACC-F but the fiscal code, also after one was wrong.
    private static func readProfile(_ reader: inout FormReader, _ rules: RegistrationRules) -> Profile? {
        let fields = rules.fields
        let name = reader.text("name")
        let surname = reader.text("surname")
        let email = reader.read("email", orElse: .notAnEmail) { EmailAddress($0) }
        let birthDate = reader.read("birthDate", orElse: .notABirthDate) { text in
            BirthDate(text).flatMap { $0.isPlausible(today: rules.today) ? $0 : nil }
        }
        let (birth, residence) = (fields.cityOfBirth(&reader), fields.cityOfResidence(&reader))
        let (address, occupation) = (fields.address(&reader), fields.occupation(&reader))
        let (weight, height) = (fields.weight(&reader), fields.height(&reader))
        let (gender, userName, phone) = (fields.gender(&reader), fields.userName(&reader), fields.phone(&reader))
        let (status, work, sport) = (
            fields.socialStatus(&reader), fields.workHoursPerDay(&reader), fields.sportHoursPerWeek(&reader)
        )
        let language = fields.language(&reader)
        guard let name, let surname, let email, let birthDate, let birth, let residence, let address, let occupation, let weight, let height
        else { return nil }
        return Profile(
            name: name, surname: surname, email: email, language: language ?? .english, fiscalCode: "", birthDate: birthDate,
            cityOfBirth: birth, cityOfResidence: residence, address: address, occupation: occupation, weight: weight, height: height,
            gender: gender, userName: userName, phone: phone, socialStatus: status, workHoursPerDay: work, sportHoursPerWeek: sport)
    }

    private static func readFiscalCode(_ reader: inout FormReader, _ rules: RegistrationRules) -> PersonIdentifier? {
        guard let typed = reader.text("fiscalCode", longest: 64) else { return nil }
        do {
            let identifier = try PersonIdentifier(checking: typed, as: rules.fields.country.identifier)
            if case .fiscalCode(let code) = identifier, rules.fields.places.place(code.place) == nil {
                reader.wrong("fiscalCode", .fiscalCodeNoSuchPlace)
                return nil
            }
            return identifier
        } catch {
            reader.wrong("fiscalCode", error.fieldFault)
            return nil
        }
    }

    private static func agree(_ code: PersonIdentifier, _ profile: Profile, _ reader: inout FormReader, _ match: FiscalCodeMatch) {
        guard case .fiscalCode(let code) = code, match != .check else { return }
        let birth = profile.birthDate.date
        if !code.fits(year: Int(birth.year), month: Int(birth.month), day: Int(birth.day)) {
            reader.wrong("fiscalCode", .fiscalCodeOtherBirthDate)
        }
        if !code.fits(place: profile.cityOfBirth) {
            reader.wrong("fiscalCode", .fiscalCodeOtherPlace)
        }
        guard match == .all else { return }
        if !code.fits(surname: profile.surname) { reader.wrong("fiscalCode", .fiscalCodeOtherSurname) }
        if !code.fits(name: profile.name) { reader.wrong("fiscalCode", .fiscalCodeOtherName) }
        if let gender = profile.gender, gender != .other, gender.rawValue != code.sex.rawValue {
            reader.wrong("fiscalCode", .fiscalCodeOtherSex)
        }
    }

    private static func readPassword(_ reader: inout FormReader, _ rules: RegistrationRules, _ profile: Profile?) -> String? {
        guard !rules.isPasswordMailed else { return nil }
        let (first, second) = (secret(&reader, "password"), secret(&reader, "passwordAgain"))
        guard let first, let second else { return nil }
        if first != second { reader.wrong("passwordAgain", .notTheSame) }
        let personal = profile.map { [$0.name, $0.surname, $0.email.text, $0.userName?.text].compactMap { $0 } } ?? []
        if let fault = rules.passwordFault(first, personal) { reader.wrong("password", fault) }
        return first
    }

    /// As it was typed, spaces included; how long it may be is the password rule's affair.
    private static func secret(_ reader: inout FormReader, _ name: String) -> String? {
        guard let value = reader.value(name, isRequired: true) else { return nil }
        guard case .text(let text) = value, !text.isEmpty, text.utf8.count <= 4096 else {
            reader.wrong(name, .wrongType(.text))
            return nil
        }
        return text
    }

    private static func readGuardian(_ reader: inout FormReader, _ rules: RegistrationRules, _ profile: Profile?) -> EmailAddress? {
        let given = reader.read(guardianField, isRequired: false, orElse: .notAnEmail) { EmailAddress($0) }
        guard let profile, profile.birthDate.age(on: rules.today) < rules.guardianAge else { return nil }
        guard let given else {
            if !reader.mentions(guardianField) || reader.clears(guardianField) {
                reader.wrong(guardianField, .guardianNeeded(below: rules.guardianAge))
            }
            return nil
        }
        if given.folded == profile.email.folded { reader.wrong(guardianField, .guardianIsOneself) }
        return given
    }
}
