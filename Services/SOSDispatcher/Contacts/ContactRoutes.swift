// The doors of a subscriber's contacts: who is told in an emergency, and in which order (SOS-22).

import Contracts
import HTTPKit
import ServiceKit

struct ContactRoutes: Sendable {
    private static let bodyLimit = 1 << 14
    private static let idParameter = HTTPKit.Parameter.path("contact", .identifier(Contact.self), "One of the person's contacts.")

    let service: ContactService
    let country: Country

    var all: [Route] { [list, add, order, change, remove] }

    private static let answer = Answer.json(
        200, "All contacts, in the order in which they are to be reached; `next` is null", Page<EmergencyContact>.self)

    private var list: Route {
        Route(
            .get, "/sos/v1/contacts", access: .person, summary: "Who is told in an emergency",
            answers: [Self.answer, .problem(409, "not-subscribed")]
        ) { exchange in
            let person = try exchange.person
            return try .json(Page(items: try await SubscriberDoor.answering { try await service.contacts(of: person) }, next: nil))
        }
    }

    private var add: Route {
        Route(
            .post, "/sos/v1/contacts", access: .person, summary: "Names one more, at the end",
            description: "At most \(EmergencyContact.most); each telephone number once. The person is told by a message, once an hour.",
            body: .json(ContactForm.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(201, "The contact", EmergencyContact.self),
                .problem(409, "not-subscribed", "too-many-contacts", "contact-named-twice"), .problem(422, "invalid-body"),
            ]
        ) { exchange in
            let person = try exchange.person
            let contact = try contact(try await exchange.json(ContactForm.self), "\(Identifier<Contact>.random())", exchange.language)
            _ = try await SubscriberDoor.answering {
                try await service.changeContacts(of: person, "contact-added") { try ContactList.adding(contact, to: $0) }
            }
            return try .json(contact, status: 201)
        }
    }

    private var order: Route {
        Route(
            .put, "/sos/v1/contacts", as: "orderContacts", access: .person, summary: "Puts the contacts in another order",
            description: "The person is told by a message, once an hour.",
            body: .json(ContactOrder.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [Self.answer, .problem(409, "not-subscribed"), .problem(422, "invalid-contact-order")]
        ) { exchange in
            let person = try exchange.person
            let order = try await exchange.json(ContactOrder.self).order
            let items = try await SubscriberDoor.answering {
                try await service.changeContacts(of: person, "contacts-ordered") { try ContactList.ordered(order, of: $0) }
            }
            return try .json(Page(items: items, next: nil))
        }
    }

    private var change: Route {
        Route(
            .put, "/sos/v1/contacts/{contact}", as: "updateContact", access: .personAnew, summary: "Changes a contact",
            description: "The person is told by a message.",
            parameters: [Self.idParameter],
            body: .json(ContactForm.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(200, "The contact as it is now", EmergencyContact.self),
                .problem(409, "not-subscribed", "contact-named-twice"), .problem(422, "invalid-body"),
            ]
        ) { exchange in
            let person = try exchange.person
            let id = try exchange.identifier("contact", of: Contact.self)
            let contact = try contact(try await exchange.json(ContactForm.self), "\(id)", exchange.language)
            _ = try await SubscriberDoor.answering {
                try await service.changeContacts(of: person, "contact-changed", losing: [.contactChanged]) {
                    try ContactList.changing(contact, in: $0)
                }
            }
            return try .json(contact)
        }
    }

    private var remove: Route {
        Route(
            .delete, "/sos/v1/contacts/{contact}", access: .personAnew, summary: "Removes a contact",
            description: "The person is told by a message.", parameters: [Self.idParameter],
            answers: [Answer(204, "Nobody tells that contact any more"), .problem(409, "not-subscribed")]
        ) { exchange in
            let person = try exchange.person
            let id = try exchange.identifier("contact", of: Contact.self)
            _ = try await SubscriberDoor.answering {
                try await service.changeContacts(of: person, "contact-removed", losing: [.contactRemoved]) {
                    try ContactList.removing("\(id)", from: $0)
                }
            }
            return .empty()
        }
    }

    private func contact(_ form: ContactForm, _ id: String, _ language: Language) throws(Problem) -> EmergencyContact {
        guard let contact = form.contact(id, in: country, language: language) else {
            throw .invalidBody(form.faults(in: country))
        }
        return contact
    }
}
