// Messages to organisations about their addresses for webhooks, in English and Italian.

import Contracts

extension MessageText {
    static let englishEndpoints: [MessageTemplate: MessageText] = [
        .endpointPaused: MessageText(
            subject: "An endpoint of yours is paused",
            body: "for {hours} h nothing that we sent could be delivered to this endpoint of {organisation}:\n{address}\n\n"
                + "It is paused. What was not delivered is kept for a while: mend the endpoint, verify it again, and it goes on where it "
                + "stopped. What could not be delivered in time is listed under its dead letters and can be sent again.",
            short: "TrackMe: an endpoint of {organisation} failed for {hours} h and is paused. Verify it again to go on.",
            title: "An endpoint is paused"),
        .endpointGone: MessageText(
            subject: "An endpoint of yours says that it is gone",
            body: "this endpoint of {organisation} answered 410 (Gone), so that nothing more is sent there:\n{address}\n\n"
                + "If that was a mistake, verify it again; else remove it.",
            short: "TrackMe: an endpoint of {organisation} answered 410 and gets nothing more.", title: "An endpoint is gone"),
    ]

    static let italianEndpoints: [MessageTemplate: MessageText] = [
        .endpointPaused: MessageText(
            subject: "Un vostro endpoint è sospeso",
            body: "per {hours} h nulla di quanto inviato è stato consegnato a questo endpoint di {organisation}:\n{address}\n\n"
                + "È sospeso. Ciò che non è stato consegnato viene conservato per un po': riparate l'endpoint, verificatelo di nuovo e "
                + "riprenderà da dove si è fermato. Ciò che non è stato consegnato in tempo è elencato tra i messaggi non recapitati e "
                + "può essere inviato di nuovo.",
            short: "TrackMe: un endpoint di {organisation} non risponde da {hours} h ed è sospeso. Verificatelo di nuovo.",
            title: "Un endpoint è sospeso"),
        .endpointGone: MessageText(
            subject: "Un vostro endpoint dice di non esistere più",
            body: "questo endpoint di {organisation} ha risposto 410 (Gone), perciò non vi inviamo più nulla:\n{address}\n\n"
                + "Se è stato un errore verificatelo di nuovo, altrimenti rimuovetelo.",
            short: "TrackMe: un endpoint di {organisation} ha risposto 410 e non riceve più nulla.", title: "Un endpoint non esiste più"),
    ]
}
