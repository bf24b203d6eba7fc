// What a subscriber reads and writes of contacts over HTTP.

import Contracts
import HTTPKit

extension EmergencyContact: Documented {
    static let schema = JSONSchema.object(
        .required("id", .identifier(Contact.self)), .required("name", .string()), .required("telephone", .string(), "E.164."),
        .optional("email", .string()), .required("language", .oneOf(Language.allCases.map(\.rawValue)))
    ).named("EmergencyContact")
}

extension ContactForm: Documented {
    static let schema = JSONSchema.object(
        .required("name", .string(length: 0...200)), .required("telephone", .string(length: 0...40)),
        .optional("email", JSONSchema.string(length: 0...300).nullable()),
        .optional("language", .oneOf(Language.allCases.map(\.rawValue)), "Of the messages; the person's own unless told.")
    ).named("EmergencyContactForm")
}

struct ContactOrder: Codable, Sendable, Documented {
    var order: [String]

    static let schema = JSONSchema.object(
        .required(
            "order", .array(of: .identifier(Contact.self), count: 0...EmergencyContact.most),
            "The ids of all contacts, in the order in which they are to be reached.")
    ).named("EmergencyContactOrder")
}
