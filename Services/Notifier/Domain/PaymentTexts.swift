// What organisations are told about money, in both languages.

import Contracts

extension MessageText {
    static let englishPayments: [MessageTemplate: MessageText] = [
        .paymentReceived: MessageText(
            subject: "Receipt: {amount} for request {request}",
            body: "the payment of {organisation} has arrived: {amount} for the request {request}. The data can be fetched from now on.\n\n"
                + "The invoice {invoice} can be seen and printed here:\n{link}",
            short: "TrackMe: {amount} received for request {request}, invoice {invoice}.", title: "A payment has arrived"),
        .paymentFailed: MessageText(
            subject: "The payment for request {request} was not carried out",
            body: "the payment of {organisation} for the request {request} was not carried out; the payment handler says: {reason}. "
                + "Nothing was charged, and {amount} are still due. Try again, or choose another method.",
            short: "TrackMe: payment of {amount} for request {request} failed: {reason}.", title: "A payment was not carried out"),
        .paymentNotFeasible: MessageText(
            subject: "The payment for request {request} may not be possible",
            body: "the payment handler cannot take {amount} from {organisation} for the request {request} this way; it says: {reason}. "
                + "The request goes on, and nothing is due before the person accepts. Another method can be chosen until then.",
            short: "TrackMe: {amount} for request {request} cannot be paid this way: {reason}.",
            title: "A payment may not be possible"),
        .paymentRefunded: MessageText(
            subject: "Refund: {amount} for request {request}",
            body:
                "{organisation} gets {amount} back for the request {request}. The credit note {invoice} can be seen and printed here:\n{link}",
            short: "TrackMe: {amount} for request {request} goes back, credit note {invoice}.", title: "A payment goes back"),
    ]

    static let italianPayments: [MessageTemplate: MessageText] = [
        .paymentReceived: MessageText(
            subject: "Ricevuta: {amount} per la richiesta {request}",
            body: "il pagamento di {organisation} è arrivato: {amount} per la richiesta {request}. Da ora i dati si possono ricevere.\n\n"
                + "La fattura {invoice} si può vedere e stampare qui:\n{link}",
            short: "TrackMe: ricevuti {amount} per la richiesta {request}, fattura {invoice}.", title: "Un pagamento è arrivato"),
        .paymentFailed: MessageText(
            subject: "Il pagamento per la richiesta {request} non è riuscito",
            body: "il pagamento di {organisation} per la richiesta {request} non è riuscito; il gestore dei pagamenti risponde: {reason}. "
                + "Nulla è stato addebitato e {amount} restano dovuti. Si può riprovare o scegliere un altro metodo.",
            short: "TrackMe: pagamento di {amount} per la richiesta {request} non riuscito: {reason}.", title: "Un pagamento non è riuscito"
        ),
        .paymentNotFeasible: MessageText(
            subject: "Il pagamento per la richiesta {request} potrebbe non riuscire",
            body:
                "il gestore dei pagamenti non può incassare {amount} da {organisation} per la richiesta {request} in questo modo; risponde: "
                + "{reason}. La richiesta prosegue e nulla è dovuto prima che la persona accetti. Intanto si può scegliere un altro metodo.",
            short: "TrackMe: {amount} per la richiesta {request} non si possono pagare così: {reason}.",
            title: "Un pagamento potrebbe non riuscire"),
        .paymentRefunded: MessageText(
            subject: "Rimborso: {amount} per la richiesta {request}",
            body:
                "{organisation} riceve indietro {amount} per la richiesta {request}. La nota di credito {invoice} si può vedere e stampare "
                + "qui:\n{link}",
            short: "TrackMe: rimborso di {amount} per la richiesta {request}, nota di credito {invoice}.",
            title: "Un pagamento torna indietro"),
    ]
}
