// Messages to organisations about money, in both languages.

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
        .paymentDisputed: MessageText(
            subject: "The payment for request {request} is contested",
            body: "the bank or payment service of {organisation} contests the payment of {amount} for the request {request}. Nothing is "
                + "delivered until it has decided. If this is a mistake, have the dispute withdrawn there; nothing has to be paid here.",
            short: "TrackMe: the payment of {amount} for request {request} is contested; deliveries wait.",
            title: "A payment is contested"),
        .paymentChargedBack: MessageText(
            subject: "{amount} for request {request} are due again",
            body: "the bank or payment service of {organisation} has taken {amount} back that had been paid for the request {request}, and "
                + "data were delivered for it. The amount is due again, and nothing more is delivered before it is paid.",
            short: "TrackMe: {amount} for request {request} were taken back by the bank and are due again.",
            title: "An amount is due again"),
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
        .paymentDisputed: MessageText(
            subject: "Il pagamento per la richiesta {request} è contestato",
            body:
                "la banca o il servizio di pagamento di {organisation} contesta il pagamento di {amount} per la richiesta {request}. Nulla "
                + "viene consegnato finché non ha deciso. Se è un errore, si faccia ritirare la contestazione là; qui non c'è nulla da pagare.",
            short: "TrackMe: il pagamento di {amount} per la richiesta {request} è contestato; le consegne attendono.",
            title: "Un pagamento è contestato"),
        .paymentChargedBack: MessageText(
            subject: "{amount} per la richiesta {request} sono di nuovo dovuti",
            body: "la banca o il servizio di pagamento di {organisation} ha ripreso {amount} già pagati per la richiesta {request}, per la "
                + "quale sono stati consegnati dati. L'importo è di nuovo dovuto e nulla viene consegnato prima che sia pagato.",
            short: "TrackMe: {amount} per la richiesta {request} sono stati ripresi dalla banca e sono di nuovo dovuti.",
            title: "Un importo è di nuovo dovuto"),
    ]
}
