// How contacts are refused, and what the person is told to do.

import Contracts

extension Problem {
    static let tooManyContacts = Problem(
        "too-many-contacts", status: 409, title: "There are enough contacts", italianTitle: "I contatti sono già abbastanza",
        detail: "At most \(EmergencyContact.most) people can be named; remove one first.",
        italianDetail: "Si possono indicare al massimo \(EmergencyContact.most) persone; prima ne tolga una.")

    static let contactNamedTwice = Problem(
        "contact-named-twice", status: 409, title: "Somebody with this telephone number is a contact already",
        italianTitle: "Una persona con questo numero di telefono è già un contatto",
        detail: "Change that contact instead.", italianDetail: "Modifichi invece quel contatto.",
        errors: [.init(pointer: "/telephone", .anotherContact)])

    static let invalidContacts = Problem(
        "invalid-contact-order", status: 422, title: "The order does not name every contact once",
        italianTitle: "L'ordine non indica ogni contatto una volta",
        detail: "Send the ids of all contacts, each once, in the order in which they are to be reached.",
        italianDetail: "Invii gli id di tutti i contatti, ognuno una volta, nell'ordine in cui vanno raggiunti.",
        errors: [.init(pointer: "/order", .contactsIncomplete)])
}
