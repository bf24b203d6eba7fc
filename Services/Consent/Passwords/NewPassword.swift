// A new password as it was typed twice, and what is wrong with it.

import Contracts

/// Judged the same way wherever somebody chooses a password.
struct NewPassword: Sendable {
    let typed: String
    let again: String

    /// Where the two entries stand in a body.
    struct Pointers: Sendable {
        var first: String
        var second: String
    }

    /// Empty where it can be taken.
    /// - Parameters:
    ///   - contact: of its owner, whose name and address make no password.
    ///   - old: where it is known, the new one must be another.
    func faults(_ rule: PasswordRule, of contact: AccountContact, old: String? = nil, at pointers: Pointers) -> [Problem.FieldError] {
        if let fault = rule.fault(of: typed, personal: [contact.email.text, contact.name, contact.surname]) {
            return [.init(pointer: pointers.first, fault.fieldFault)]
        }
        if let old, PasswordLength.normalised(old) == PasswordLength.normalised(typed) {
            return [.init(pointer: pointers.first, .oldPassword)]
        }
        // Compared as typed: the second entry is there to find slips.
        guard typed == again else {
            return [.init(pointer: pointers.first, .notTheSame), .init(pointer: pointers.second, .notTheSame)]
        }
        return []
    }
}
