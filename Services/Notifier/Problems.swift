// Everything that the notifier can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

extension Problem {
    static let tooManyEndpoints = Problem(
        "too-many-endpoints", status: 409, title: "There are as many push endpoints as there may be",
        italianTitle: "I destinatari delle notifiche sono già quanti possono essere",
        detail: "Remove one that is no longer used, then register the new one.",
        italianDetail: "Ne tolga uno che non si usa più, poi registri il nuovo.")

    static let unusableEndpoint = Problem(
        "unusable-endpoint", status: 422, title: "The address cannot take push messages",
        italianTitle: "L'indirizzo non può ricevere notifiche",
        detail: "Give the https address that your push app shows, for example https://ntfy.sh/my-topic.",
        italianDetail: "Dia l'indirizzo https mostrato dalla sua app di notifiche, per esempio https://ntfy.sh/my-topic.",
        errors: [.init(pointer: "/address", .notAPushAddress)])

    static let unknownReceipt = Problem(
        "unknown-receipt", status: 422, title: "The receipt cannot be understood", italianTitle: "La ricevuta non si può comprendere",
        detail: "Send {\"message\",\"channel\",\"receipt\"} with a receipt of accepted, delivered, failed or rejected.")
}

extension FieldFault {
    static let notAPushAddress = FieldFault(
        "not-a-push-address", english: "must be an https address without a user name",
        italian: "deve essere un indirizzo https senza nome utente")
}
