// What only the dispatcher finds wrong with a field, in the languages of its readers.

import Contracts

extension FieldFault {
    static func sosClausesNotAccepted(version: String) -> FieldFault {
        FieldFault("sos-clauses-not-accepted", english: "must be the version \(version)", italian: "deve essere la versione \(version)")
    }

    static let anotherContact = FieldFault("another-contact", english: "is another contact's", italian: "è di un altro contatto")
    static let contactsIncomplete = FieldFault(
        "contacts-incomplete", english: "must name every contact's id once", italian: "deve indicare una volta l'id di ogni contatto")
    static let pauseTooLong = FieldFault(
        "pause-too-long", english: "lies more than four hours ahead", italian: "è a più di quattro ore da adesso")
    static let noSuchAnswer = FieldFault(
        "no-such-answer", english: "is none of the four answers: press one of the buttons",
        italian: "non è una delle quattro risposte: prema uno dei pulsanti")

    /// Another service's or part's words, which are English.
    static func refused(_ reason: String) -> FieldFault {
        FieldFault("refused", english: reason, italian: "non può essere accettato")
    }

    // MARK: Thresholds

    static let noBounds = FieldFault(
        "no-bounds", english: "no measurement of this kind can have bounds; ask for the list of metrics",
        italian: "nessuna misura di questo tipo può avere soglie; si veda l'elenco delle misure")

    static func impossibleBounds(_ metric: Metric) -> FieldFault {
        FieldFault(
            "impossible-bounds", english: "bounds of \(metric.code) are \(metric.definition.possibleInWords), the lower below the upper",
            italian: "le soglie di \(metric.code) sono \(metric.definition.possibleInItalian), la minima sotto la massima")
    }

    // MARK: Acknowledgements

    static let notAnAckID = FieldFault(
        "not-an-ack-id",
        english: "has 1 to \(Acknowledgement.longestAckID) printable ASCII characters without spaces: choose another one",
        italian: "ha da 1 a \(Acknowledgement.longestAckID) caratteri ASCII stampabili senza spazi: ne va scelto un altro")
    static let otherMessage = FieldFault(
        "other-message", english: "is not the message of the path: acknowledge the one that you have received",
        italian: "non è il messaggio del percorso: va confermato quello ricevuto")
}

extension NeededAbility {
    var fieldFault: FieldFault {
        switch self {
        case .vitalParameter:
            FieldFault(
                "vital-parameter-missing",
                english: """
                    No paired device delivers a parameter that has thresholds, such as the heart rate, at least every \
                    \(Self.realTime.components.seconds) seconds: pair one, have it tracked from yours, or set thresholds for what yours deliver.
                    """,
                italian: """
                    Nessun dispositivo associato fornisce almeno ogni \(Self.realTime.components.seconds) secondi un parametro con soglie, \
                    come la frequenza cardiaca: ne associ uno, lo faccia rilevare dai suoi, o imposti soglie per ciò che i suoi forniscono.
                    """)
        case .positionSource:
            FieldFault(
                "position-source-missing",
                english: "No paired device delivers positions: pair a device with GPS, or a phone, or have them tracked.",
                italian: "Nessun dispositivo associato fornisce posizioni: ne associ uno con GPS, o un telefono, o le faccia rilevare.")
        }
    }
}
