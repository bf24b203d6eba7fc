// Judging what an organisation fills in: everything that is wrong at once, or what it says of itself (ORG-02 to ORG-07, ORG-13).

import Contracts
import Foundation

/// A registration in which every field is right but for what only the stores can say.
struct OrganisationForm: Hashable, Sendable {
    var details: OrganisationDetails
    /// As it was typed; nil where none was given, which is right where passwords are mailed. Goes to consent and nowhere else.
    var password: String?
}

/// Why a form is refused, so that a client can lead the person to the right step.
enum OrganisationFormFault: Error, Hashable, Sendable {
    case fields([Problem.FieldError])
    /// Everything else is right (ORG-05).
    case conditionsNotAccepted([Problem.FieldError])
    /// What never changes after the registration (ORG-13); everything else is right.
    case fixed([Problem.FieldError])
}

extension OrganisationForm {
    /// Fields by which a form accepts the conditions, each by the version that was read.
    static let acceptances = ["acceptedTerms", "acceptedPrivacy", "acceptedResponsibility", "acceptedJurisdiction"]
    static let longestDescription = 2000
    static let longestPassword = 4096

    /// - Throws: `OrganisationFormFault`, with every wrong field named.
    static func check(
        _ form: JSONTree, version: String, in country: Country, at now: Timestamp
    ) throws(OrganisationFormFault) -> OrganisationForm {
        var reader = FormReader(form)
        let name = reader.text("businessName", longest: BusinessName.longest)
        let number = readVATNumber(country, &reader)
        let legal = address("legalAddress", in: country, &reader)
        let billing = address("billingAddress", in: country, &reader)
        let email = readTwice(&reader)
        let sector = reader.text("sector")
        let description = reader.text("description", longest: longestDescription)
        let website = readWebsite(&reader)
        let interests = reader.text("researchInterests", isRequired: false, longest: longestDescription)
        let representative = Self.representative(in: country, &reader)
        let method = reader.choice("paymentMethod", of: PaymentMethod.self)
        let language = reader.choice("language", isRequired: false, of: Language.self)
        let password = readPassword(&reader)
        for name in acceptances where reader.value(name, isRequired: false) != .text(version) {
            reader.wrong(name, .conditionsNotAccepted(version: version, at: "/thirdparty/v1/conditions"))
        }
        reader.finish()
        try refuse(reader.faults)
        guard let name, let number, let legal, let billing, let email, let sector, let description, let representative, let method
        else { throw .fields(reader.faults) }
        return OrganisationForm(
            details: OrganisationDetails(
                businessName: name, vatNumber: number.text, legalAddress: legal, billingAddress: billing, email: email, sector: sector,
                description: description, website: website, researchInterests: interests, representative: representative,
                paymentMethod: method, language: language ?? .italian, accepted: AcceptedConditions(version: version, at: now)),
            password: password)
    }

    private static func refuse(_ faults: [Problem.FieldError]) throws(OrganisationFormFault) {
        guard !faults.isEmpty else { return }
        if faults.allSatisfy({ acceptances.contains(String($0.pointer.dropFirst())) }) { throw .conditionsNotAccepted(faults) }
        throw .fields(faults)
    }

    private static func readVATNumber(_ country: Country, _ reader: inout FormReader) -> VATNumber? {
        guard let typed = reader.text("vatNumber", longest: 64) else { return nil }
        do {
            return try VATNumber(checking: typed, in: country)
        } catch {
            reader.wrong("vatNumber", error.fieldFault)
            return nil
        }
    }

    private static func readTwice(_ reader: inout FormReader) -> EmailAddress? {
        let email = emailAddress("email", &reader)
        let again = emailAddress("emailAgain", &reader)
        if let email, let again, email.folded != again.folded {
            reader.wrong("emailAgain", .notTheSame)
        }
        return email
    }

    private static func readPassword(_ reader: inout FormReader) -> String? {
        let (first, second) = (secret("password", &reader), secret("passwordAgain", &reader))
        // Consent may ask for more, and refuses what is guessed first.
        if let fault = first.flatMap({ PasswordLength.fault(of: $0) }) { reader.wrong("password", fault.fieldFault) }
        if first != second { reader.wrong("passwordAgain", .notTheSame) }
        return first
    }

    /// As it was typed, spaces included; whether it is easily guessed is for consent to say.
    private static func secret(_ name: String, _ reader: inout FormReader) -> String? {
        guard let value = reader.value(name, isRequired: false) else { return nil }
        guard case .text(let text) = value, !text.isEmpty else {
            reader.wrong(name, .wrongType(.text))
            return nil
        }
        guard text.utf8.count <= longestPassword else {
            reader.wrong(name, PasswordLength.Fault.tooLong.fieldFault)
            return nil
        }
        return text
    }
}

// MARK: Parts that registration and changes share

extension OrganisationForm {
    fileprivate static func emailAddress(_ name: String, isRequired: Bool = true, _ reader: inout FormReader) -> EmailAddress? {
        reader.read(name, isRequired: isRequired, orElse: .notAnEmail) { EmailAddress($0) }
    }

    fileprivate static func readWebsite(_ reader: inout FormReader) -> String? {
        reader.read("website", isRequired: false, orElse: .notAWebsite) { text in
            guard let start = ["https://", "http://"].first(where: { text.lowercased().hasPrefix($0) }) else { return nil }
            let rest = text.dropFirst(start.count)
            return rest.isEmpty || rest.contains(where: \.isWhitespace) ? nil : text
        }
    }

    /// - Parameter current: stands in for what is not sent; nil where everything must be.
    fileprivate static func address(
        _ name: String, current: PostalAddress? = nil, in home: Country, _ reader: inout FormReader
    ) -> PostalAddress? {
        nested(name, isRequired: current == nil, &reader) { inner in
            let street = inner.text("street", isRequired: current == nil) ?? current?.street
            let city = inner.text("city", isRequired: current == nil) ?? current?.city
            let code = inner.read(
                "postalCode", isRequired: current == nil, orElse: .notAPostalCode
            ) { text in
                let isRight = text.utf8.allSatisfy { isPlain($0) || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "-") }
                return isRight && (2...12).contains(text.count) ? text : nil
            }
            let country = inner.read("country", isRequired: false, orElse: .notACountry) { text in
                text.utf8.count == 2 && text.utf8.allSatisfy { isPlain($0) && $0 > UInt8(ascii: "9") } ? text.uppercased() : nil
            }
            guard let street, let city, let code = code ?? current?.postalCode else { return nil }
            return PostalAddress(street: street, city: city, postalCode: code, country: country ?? current?.country ?? home.code.rawValue)
        }
    }

    fileprivate static func representative(
        current: LegalRepresentative? = nil, in country: Country, _ reader: inout FormReader
    ) -> LegalRepresentative? {
        nested("representative", isRequired: current == nil, &reader) { inner in
            let all = current == nil
            let name = inner.text("name", isRequired: all) ?? current?.name
            let surname = inner.text("surname", isRequired: all) ?? current?.surname
            let office = inner.text("officeAddress", isRequired: all) ?? current?.officeAddress
            let phone = inner.read("phone", isRequired: all, orElse: .notATelephoneNumber(like: "+390212345678")) {
                internationalNumber($0)
            }
            let email = emailAddress("email", isRequired: all, &inner) ?? current?.email
            let code = readIdentifier(isRequired: all, in: country, &inner) ?? current?.fiscalCode
            guard let name, let surname, let office, let phone = phone ?? current?.phone, let email, let code else { return nil }
            return LegalRepresentative(name: name, surname: surname, officeAddress: office, phone: phone, email: email, fiscalCode: code)
        }
    }

    private static func readIdentifier(isRequired: Bool, in country: Country, _ reader: inout FormReader) -> String? {
        guard let typed = reader.text("fiscalCode", isRequired: isRequired, longest: 64) else { return nil }
        do {
            return try PersonIdentifier(checking: typed, as: country.identifier).text
        } catch {
            reader.wrong("fiscalCode", error.fieldFault)
            return nil
        }
    }

    /// Reads an object within the form; its faults are named by their full place.
    private static func nested<Value>(
        _ name: String, isRequired: Bool, _ reader: inout FormReader, _ read: (inout FormReader) -> Value?
    ) -> Value? {
        guard let value = reader.value(name, isRequired: isRequired) else { return nil }
        var inner = FormReader(value)
        let found = read(&inner)
        inner.finish()
        for fault in inner.faults { reader.wrong(name + fault.pointer, fault.fault) }
        return inner.faults.isEmpty ? found : nil
    }

    /// E.164 without blanks and hyphens: a plus, 6 to 15 digits, no leading zero.
    private static func internationalNumber(_ typed: String) -> String? {
        let number = typed.filter { !$0.isWhitespace && $0 != "-" }
        let digits = number.dropFirst().utf8
        guard number.first == "+", (6...15).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
        else { return nil }
        return number
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

// MARK: Changes

extension OrganisationDetails {
    /// What an organisation cannot change by itself, and the address, which is changed by a mailed link.
    private static let fixed = ["businessName", "vatNumber"]

    /// The same with the named fields changed; what is not named stays, null takes a field away that may be missing.
    /// - Throws: `OrganisationFormFault`, with every wrong field named; nothing is changed then.
    func changed(_ form: JSONTree, in country: Country) throws(OrganisationFormFault) -> OrganisationDetails {
        var (reader, next) = (FormReader(form), self)
        var fixedFaults: [Problem.FieldError] = []
        for name in Self.fixed where reader.value(name, isRequired: false) != nil {
            fixedFaults.append(.init(pointer: "/" + name, .fixed))
        }
        if reader.value("email", isRequired: false) != nil {
            fixedFaults.append(.init(pointer: "/email", .changedElsewhere("PUT /thirdparty/v1/organisation/email")))
        }
        next.legalAddress = OrganisationForm.address("legalAddress", current: legalAddress, in: country, &reader) ?? legalAddress
        next.billingAddress = OrganisationForm.address("billingAddress", current: billingAddress, in: country, &reader) ?? billingAddress
        if let representative {
            next.representative = OrganisationForm.representative(current: representative, in: country, &reader) ?? representative
        }
        next.sector = reader.text("sector", isRequired: false) ?? sector
        next.description =
            reader.text("description", isRequired: false, longest: OrganisationForm.longestDescription) ?? description
        let site = OrganisationForm.readWebsite(&reader)
        next.website = reader.clears("website") ? nil : site ?? website
        let interests = reader.text("researchInterests", isRequired: false, longest: OrganisationForm.longestDescription)
        next.researchInterests = reader.clears("researchInterests") ? nil : interests ?? researchInterests
        next.paymentMethod = reader.choice("paymentMethod", isRequired: false, of: PaymentMethod.self) ?? paymentMethod
        next.language = reader.choice("language", isRequired: false, of: Language.self) ?? language
        reader.finish()
        guard reader.faults.isEmpty else { throw .fields(reader.faults + fixedFaults) }
        guard fixedFaults.isEmpty else { throw .fixed(fixedFaults) }
        return next
    }
}
