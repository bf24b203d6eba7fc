// The messages to organisations about their requests: they name the request, never the person.

import Contracts

extension MessageText {
    static let englishRequests: [MessageTemplate: MessageText] = [
        .groupWindowWithheld: MessageText(
            subject: "Subscription {request}: a window was withheld",
            body:
                "the group of the subscription {request} of {organisation} was too small for too long, so that its data up to {time} (window "
                + "{window}) cannot be anonymised and are not delivered. The subscription goes on; less restrictive filters in a new one "
                + "make the group larger.",
            short: "TrackMe: window {window} of {request} was withheld, the group was too small.", title: "A window was withheld"),
        .requestAccepted: MessageText(
            subject: "Request {request} was accepted",
            body:
                "the person accepts the request {request} of {organisation}. Amount due: {amount}. Once it is paid, the data can be displayed, "
                + "downloaded and subscribed to; the request and its payment form are here:\n{link}",
            short: "TrackMe: request {request} was accepted. Due: {amount}.", title: "A request was accepted"),
        .requestDeclined: MessageText(
            subject: "Request {request} was declined",
            body: "the person does not agree to the request {request} of {organisation}. There are no data, and nothing is due. "
                + "You can ask somebody else, or again later.",
            short: "TrackMe: request {request} was declined.", title: "A request was declined"),
        .requestUnanswered: MessageText(
            subject: "Request {request} has expired",
            body:
                "the person did not answer the request {request} of {organisation} in time, which counts as a refusal. There are no data, and "
                + "nothing is due. You can ask somebody else, or again later.",
            short: "TrackMe: request {request} has expired without an answer.", title: "A request has expired"),
        .accessNarrowed: MessageText(
            subject: "Request {request}: some data types were withdrawn",
            body:
                "the person no longer shares some of the data types of the request {request} of {organisation}. From now on nothing more of "
                + "them is delivered. What is still shared stands in the request.",
            short: "TrackMe: some data types of request {request} were withdrawn.", title: "Data types were withdrawn"),
        .accessWithdrawn: MessageText(
            subject: "Request {request}: the data are no longer available",
            body:
                "the data of the request {request} of {organisation} are no longer available: access was withdrawn or the data were deleted. "
                + "From now on nothing more is delivered.",
            short: "TrackMe: the data of request {request} are no longer available.", title: "Data are no longer available"),
        .accessEnded: MessageText(
            subject: "Request {request} has ended",
            body: "the request {request} of {organisation} has ended: its period is over, or you stopped it. Nothing more is delivered.",
            short: "TrackMe: request {request} has ended.", title: "A request has ended"),
    ]

    static let italianRequests: [MessageTemplate: MessageText] = [
        .groupWindowWithheld: MessageText(
            subject: "Abbonamento {request}: una finestra non è stata consegnata",
            body:
                "il gruppo dell'abbonamento {request} di {organisation} è stato troppo piccolo per troppo tempo: i suoi dati fino al {time} "
                + "(finestra {window}) non possono essere resi anonimi e non vengono consegnati. L'abbonamento continua; filtri meno "
                + "restrittivi in uno nuovo rendono il gruppo più grande.",
            short: "TrackMe: la finestra {window} di {request} non è stata consegnata, gruppo troppo piccolo.",
            title: "Una finestra non è stata consegnata"),
        .requestAccepted: MessageText(
            subject: "La richiesta {request} è stata accettata",
            body:
                "la persona accetta la richiesta {request} di {organisation}. Importo dovuto: {amount}. Dopo il pagamento i dati si possono "
                + "vedere, scaricare e ricevere in abbonamento; la richiesta e il modulo di pagamento sono qui:\n{link}",
            short: "TrackMe: la richiesta {request} è stata accettata. Dovuto: {amount}.", title: "Una richiesta è stata accettata"),
        .requestDeclined: MessageText(
            subject: "La richiesta {request} è stata rifiutata",
            body: "la persona non acconsente alla richiesta {request} di {organisation}. Non ci sono dati e nulla è dovuto. "
                + "Si può chiedere ad altri, o di nuovo più avanti.",
            short: "TrackMe: la richiesta {request} è stata rifiutata.", title: "Una richiesta è stata rifiutata"),
        .requestUnanswered: MessageText(
            subject: "La richiesta {request} è scaduta",
            body:
                "la persona non ha risposto in tempo alla richiesta {request} di {organisation}, il che vale come rifiuto. Non ci sono dati e "
                + "nulla è dovuto. Si può chiedere ad altri, o di nuovo più avanti.",
            short: "TrackMe: la richiesta {request} è scaduta senza risposta.", title: "Una richiesta è scaduta"),
        .accessNarrowed: MessageText(
            subject: "Richiesta {request}: alcuni tipi di dati sono stati revocati",
            body: "la persona non condivide più alcuni dei tipi di dati della richiesta {request} di {organisation}. Da ora non ne viene "
                + "consegnato altro. Ciò che resta condiviso è indicato nella richiesta.",
            short: "TrackMe: alcuni tipi di dati della richiesta {request} sono stati revocati.", title: "Tipi di dati revocati"),
        .accessWithdrawn: MessageText(
            subject: "Richiesta {request}: i dati non sono più disponibili",
            body:
                "i dati della richiesta {request} di {organisation} non sono più disponibili: l'accesso è stato revocato o i dati sono stati "
                + "cancellati. Da ora non viene consegnato altro.",
            short: "TrackMe: i dati della richiesta {request} non sono più disponibili.", title: "Dati non più disponibili"),
        .accessEnded: MessageText(
            subject: "La richiesta {request} è terminata",
            body: "la richiesta {request} di {organisation} è terminata: il periodo è finito, oppure è stata fermata da voi. Non viene "
                + "consegnato altro.",
            short: "TrackMe: la richiesta {request} è terminata.", title: "Una richiesta è terminata"),
    ]
}
