// Whom a subscriber wants to be told in an emergency (SOS-22): data, in the order in which they are to be reached.

import Contracts

/// Names one of a subscriber's contacts: `ctc_…`.
enum Contact: Identified { static let prefix = "ctc" }

/// Somebody who is alerted by text and call. Personal.
struct EmergencyContact: Hashable, Codable, Sendable {
    static let most = 10
    static let longestName = 100
    static let longestEmail = 254

    /// `ctc_…`.
    var id: String
    var name: String
    /// E.164: `+39…`.
    var telephone: String
    var email: String?
    var language: Language
}

/// A contact as it was typed in.
struct ContactForm: Hashable, Codable, Sendable {
    var name: String
    var telephone: String
    var email: String?
    var language: Language?

    /// What is wrong, each with its field as a JSON Pointer; empty where it is a contact.
    func faults(in country: Country) -> [Problem.FieldError] {
        var faults: [Problem.FieldError] = []
        let name = ContactForm.trimmed(name)
        if name.isEmpty || name.count > EmergencyContact.longestName || name.unicodeScalars.contains(where: { $0.value < 32 }) {
            faults.append(.init(pointer: "/name", .wrongLength(1...EmergencyContact.longestName)))
        }
        if TelephoneNumber(telephone, in: country) == nil {
            faults.append(.init(pointer: "/telephone", .notATelephoneNumber(like: country.exampleNumber)))
        }
        if let email, !ContactForm.isAddress(email) {
            faults.append(.init(pointer: "/email", .notAnEmail))
        }
        return faults
    }

    /// The contact under this id; nil where there are faults.
    func contact(_ id: String, in country: Country, language usual: Language) -> EmergencyContact? {
        guard faults(in: country).isEmpty, let number = TelephoneNumber(telephone, in: country) else { return nil }
        return EmergencyContact(
            id: id, name: ContactForm.trimmed(name), telephone: number.text, email: email, language: language ?? usual)
    }

    private static func trimmed(_ text: String) -> String {
        let words = text.split(omittingEmptySubsequences: true) { $0.isWhitespace && !$0.isNewline }
        return words.joined(separator: " ")
    }

    /// Enough to keep mistakes out; whether somebody reads it, only mail can show.
    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let host = parts.last, !parts[0].isEmpty, text.utf8.count <= EmergencyContact.longestEmail else {
            return false
        }
        return host.split(separator: ".", omittingEmptySubsequences: false).count { !$0.isEmpty } >= 2
            && !host.hasPrefix(".") && !host.hasSuffix(".") && text.utf8.allSatisfy { (33...126).contains($0) }
    }
}

/// A subscriber's contacts in their order; at most `EmergencyContact.most`.
enum ContactList {
    enum Fault: Error, Hashable, Sendable {
        case full
        /// Somebody is named twice, or not at all, or is none of the contacts.
        case notTheSame
        case unknown
        /// The same number is in the list already.
        case twice
    }

    static func adding(_ contact: EmergencyContact, to list: [EmergencyContact]) throws(Fault) -> [EmergencyContact] {
        guard list.count < EmergencyContact.most else { throw .full }
        guard !list.contains(where: { $0.telephone == contact.telephone }) else { throw .twice }
        return list + [contact]
    }

    static func changing(_ contact: EmergencyContact, in list: [EmergencyContact]) throws(Fault) -> [EmergencyContact] {
        guard list.contains(where: { $0.id == contact.id }) else { throw .unknown }
        guard !list.contains(where: { $0.telephone == contact.telephone && $0.id != contact.id }) else { throw .twice }
        return list.map { $0.id == contact.id ? contact : $0 }
    }

    static func removing(_ id: String, from list: [EmergencyContact]) throws(Fault) -> [EmergencyContact] {
        guard list.contains(where: { $0.id == id }) else { throw .unknown }
        return list.filter { $0.id != id }
    }

    /// The same contacts in another order.
    static func ordered(_ ids: [String], of list: [EmergencyContact]) throws(Fault) -> [EmergencyContact] {
        let known = Dictionary(list.map { ($0.id, $0) }) { $1 }
        guard ids.count == list.count, Set(ids) == Set(known.keys) else { throw .notTheSame }
        return ids.compactMap { known[$0] }
    }
}
