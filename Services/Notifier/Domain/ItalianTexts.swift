// The messages in Italian.

import Contracts

extension MessageText {
    static let italian = italianAccount.merging(italianEmergency) { account, _ in account }.merging(italianOrganisation) { other, _ in other
    }
    .merging(italianRequests) { other, _ in other }.merging(italianPayments) { other, _ in other }
    .merging(italianEndpoints) { other, _ in other }

    private static let italianAccount: [MessageTemplate: MessageText] = [
        .accountCreated: MessageText(
            subject: "Il tuo account TrackMe è stato creato",
            body: "il tuo account è stato creato e può essere usato da subito.\n\nConferma che questo indirizzo è tuo:\n{link}",
            short: "TrackMe: l'account di {name} è stato creato. Conferma il tuo indirizzo con il link nella nostra e-mail.",
            title: "Account creato"),
        .confirmAddress: MessageText(
            subject: "Conferma il tuo indirizzo e-mail",
            body: "conferma entro {hours} ore che questo indirizzo è tuo:\n{link}\n\n"
                + "Se non ti sei registrato a TrackMe, ignora questo messaggio.",
            short: "TrackMe: conferma il tuo indirizzo entro {hours} ore con il link nella nostra e-mail.",
            title: "Conferma il tuo indirizzo"),
        .alreadyRegistered: MessageText(
            subject: "Ha già un account TrackMe",
            body:
                "il {time} qualcuno ha indicato il suo indirizzo o il suo codice fiscale per un altro account TrackMe. Lei ne ha già uno, "
                + "che resta com'è.\n\nSe è stato lei, acceda; se non ricorda la password, ne scelga una nuova qui:\n{link}\n\n"
                + "Se non è stato lei, non deve fare nulla: nessuno ha saputo da noi che lei è registrato.",
            short: "TrackMe: il {time} qualcuno ha indicato il suo indirizzo o codice fiscale per un altro account. Il suo resta com'è.",
            title: "È già registrato"),
        .temporaryPassword: MessageText(
            subject: "La tua password temporanea",
            body: "questa è la tua password temporanea:\n\n    {password}\n\n"
                + "Vale per {hours} ore e va cambiata al primo accesso.",
            short: "TrackMe: password temporanea {password}, valida per {hours} ore. Cambiala al primo accesso.",
            title: "Password temporanea"),
        .recoverPassword: MessageText(
            subject: "Scegli una nuova password",
            body: "qualcuno, probabilmente tu, ha chiesto una nuova password. Sceglila entro {hours} ore qui:\n{link}\n\n"
                + "Se non sei stato tu, ignora questo messaggio: la tua password resta com'è.",
            short: "TrackMe: puoi scegliere una nuova password entro {hours} ore con il link nella nostra e-mail. Non sei tu? Ignora.",
            title: "Nuova password"),
        .passwordChanged: MessageText(
            subject: "La tua password è stata cambiata",
            body: "la tua password è stata cambiata il {time}.\n\n"
                + "Se non sei stato tu, scegline subito una nuova con \"Password dimenticata?\".",
            short: "TrackMe: la tua password è stata cambiata il {time}. Non sei stato tu? Scegline subito una nuova.",
            title: "Password cambiata"),
        .failedLogIns: MessageText(
            subject: "Password sbagliate per il tuo account",
            body: "qualcuno ha inserito {count} volte di seguito una password sbagliata per il tuo account, l'ultima il {time}.\n\n"
                + "Se sei stato tu, non c'è niente da fare. Altrimenti scegli una password più sicura e controlla le sessioni aperte.",
            short: "TrackMe: {count} password sbagliate di seguito per il tuo account, l'ultima il {time}. Non sei tu? Cambia password.",
            title: "Password sbagliate per il tuo account"),
        .changeAddress: MessageText(
            subject: "Conferma il tuo nuovo indirizzo e-mail",
            body: "conferma entro {hours} ore che il tuo account deve usare d'ora in poi questo indirizzo:\n{link}\n\n"
                + "Fino ad allora vale quello vecchio. Se non l'hai chiesto tu, ignora questo messaggio.",
            short: "TrackMe: conferma il tuo nuovo indirizzo entro {hours} ore con il link nella nostra e-mail.",
            title: "Conferma il tuo nuovo indirizzo"),
        .addressChangeAsked: MessageText(
            subject: "È stato chiesto un altro indirizzo e-mail",
            body: "il {time} qualcuno che ha accesso al suo account ha chiesto di usare un altro indirizzo. Finché non viene confermato, "
                + "resta questo.\n\nSe non è stato lei, lo fermi qui, ora o entro sette giorni dal cambiamento; tutti gli accessi "
                + "verranno terminati:\n{link}",
            short:
                "TrackMe: il {time} è stato chiesto un altro indirizzo per il suo account. Non è stato lei? Lo fermi dalla nostra e-mail.",
            title: "È stato chiesto un altro indirizzo"),
        .secondFactorChanged: MessageText(
            subject: "Il suo secondo fattore è cambiato",
            body: "il {time} {change}.\n\nSe non è stato lei, scelga subito una nuova password con \"Password dimenticata?\".",
            short: "TrackMe: il {time} {change}. Non è stato lei? Scelga subito una nuova password.", title: "Secondo fattore cambiato"),
        .addressChanged: MessageText(
            subject: "Il suo indirizzo e-mail è cambiato",
            body: "l'indirizzo e-mail del suo account è cambiato il {time}; questo non viene più usato.\n\n"
                + "Se non è stato lei, lo riprenda entro sette giorni qui; tutti gli accessi verranno terminati:\n{link}",
            short: "TrackMe: l'indirizzo e-mail del suo account è cambiato il {time}. Non è stato lei? Lo annulli dalla nostra e-mail.",
            title: "Indirizzo e-mail cambiato"),
        .phoneChanged: MessageText(
            subject: "Il tuo numero di telefono è stato cambiato",
            body: "il numero di telefono del tuo profilo è stato cambiato o tolto il {time}. È quello che i soccorsi richiamano.\n\n"
                + "Se non sei stato tu, correggilo in TrackMe, termina tutti gli accessi e scegli una nuova password.",
            short: "TrackMe: il tuo numero di telefono è cambiato il {time}. Non sei tu? Correggilo e scegli una nuova password.",
            title: "Numero di telefono cambiato"),
        .guardianConsent: MessageText(
            subject: "Serve il tuo consenso per {child}",
            body:
                "{child} vuole usare TrackMe e ti ha indicato come genitore o tutore. Prima del tuo consenso non si raccoglie nessun dato.\n\n"
                + "Leggi di che cosa si tratta e rispondi entro {hours} ore:\n{link}",
            short: "TrackMe: serve il tuo consenso di genitore o tutore entro {hours} ore. Usa il link nella nostra e-mail.",
            title: "Serve il tuo consenso"),
        .guardianAnswered: MessageText(
            subject: "Il tuo genitore o tutore ha risposto",
            body: "il tuo genitore o tutore {answer} al tuo uso di TrackMe.",
            short: "TrackMe: il tuo genitore o tutore {answer} al tuo uso di TrackMe.", title: "Il tuo genitore o tutore ha risposto"),
        .memberInvited: MessageText(
            subject: "Invito a lavorare per {organisation} su TrackMe",
            body:
                "{organisation} ti invita a lavorare per suo conto su TrackMe. Accetta entro {hours} ore e scegli qui la tua password:\n{link}",
            short: "TrackMe: {organisation} ti invita. Accetta entro {hours} ore con il link nella nostra e-mail.", title: "Invito"),
        .requestReceived: MessageText(
            subject: "{organisation} chiede alcuni tuoi dati",
            body: "{organisation} chiede alcuni tuoi dati. Scopo dichiarato:\n\n    {purpose}\n\n"
                + "Nessuno vede nulla se non accetti. In TrackMe trovi esattamente che cosa viene chiesto e puoi accettare o rifiutare; "
                + "senza risposta entro {hours} ore la richiesta è rifiutata.",
            short: "TrackMe: {organisation} chiede alcuni tuoi dati. Accetta o rifiuta nell'app entro {hours} ore.",
            title: "Qualcuno chiede i tuoi dati"),
        .requestExpired: MessageText(
            subject: "Una richiesta è scaduta",
            body: "non hai risposto in tempo alla richiesta di {organisation}, che quindi è stata rifiutata. Nessuno ha visto nulla.",
            short: "TrackMe: la richiesta di {organisation} è scaduta ed è stata rifiutata.", title: "Una richiesta è scaduta"),
        .accessGiven: MessageText(
            subject: "{organisation} ha ricevuto accesso ad alcuni tuoi dati",
            body: "una richiesta di {organisation} per alcuni tuoi dati è stata accettata. "
                + "In TrackMe vedi che cosa riceve, e fino a quando.\n\n"
                + "Se non sei stato tu, ritirala lì, termina tutti gli accessi e scegli una nuova password.",
            short: "TrackMe: {organisation} ha ricevuto accesso ad alcuni tuoi dati. Non sei tu? Ritiralo e scegli una nuova password.",
            title: "Un accesso è stato concesso"),
        .grantEnded: MessageText(
            subject: "{organisation} non ha più accesso",
            body: "l'accesso di {organisation} ai tuoi dati è terminato. D'ora in poi non riceve più nulla.",
            short: "TrackMe: l'accesso di {organisation} ai tuoi dati è terminato.", title: "Un accesso è terminato"),
        .devicePaired: MessageText(
            subject: "Un dispositivo è stato abbinato al tuo account",
            body: "il dispositivo \"{device}\" è stato abbinato al tuo account e da ora può consegnare i tuoi dati.\n\n"
                + "Se non sei stato tu, rimuovilo in TrackMe e cambia la password.",
            short: "TrackMe: il dispositivo {device} è stato abbinato al tuo account. Non sei tu? Rimuovilo e cambia password.",
            title: "Un dispositivo è stato abbinato"),
        .trackingMoved: MessageText(
            subject: "Qualcosa viene ora misurato da un altro dispositivo",
            body: "un tuo dispositivo è stato rimosso. Un altro tuo dispositivo ora consegna: {what}.\n\n"
                + "Se non è quello che vuoi, scegli diversamente in TrackMe, alla voce Dispositivi.",
            short: "TrackMe: un tuo dispositivo è stato rimosso. Un altro ora consegna: {what}. Puoi scegliere diversamente.",
            title: "Ora misura un altro dispositivo"),
        .monitoringPaused: MessageText(
            subject: "Il monitoraggio è in pausa",
            body: "il monitoraggio dei tuoi dati è in pausa dal {time}. Finché è in pausa non si registra nulla "
                + "e AutomatedSOS non può chiamare aiuto.",
            short: "TrackMe: monitoraggio in pausa dal {time}. Non si registra nulla e AutomatedSOS non chiama aiuto.",
            title: "Il monitoraggio è in pausa"),
        .watchedLess: MessageText(
            subject: "Si veglia su di te meno di prima",
            body: "il {time} {change}.\n\n"
                + "Se non sei stato tu, annullalo in TrackMe, termina tutti gli accessi e scegli una nuova password.",
            short: "TrackMe: il {time} {change}. Non sei tu? Annullalo e scegli una nuova password.", title: "Si veglia meno di prima"),
        .rescueChanged: MessageText(
            subject: "È cambiato ciò che ricevono i soccorsi",
            body: "il {time} {change}. Altri cambiamenti nella stessa ora non vengono comunicati uno per uno.\n\n"
                + "Se non sei stato tu, annullalo in TrackMe, termina tutti gli accessi e scegli una nuova password.",
            short: "TrackMe: il {time} {change}. Non sei tu? Annullalo e scegli una nuova password.",
            title: "È cambiato ciò che ricevono i soccorsi"),
        .pushEndpointAdded: MessageText(
            subject: "I tuoi messaggi arrivano a un'altra app",
            body: "dal {time} i messaggi push per te arrivano anche a un indirizzo presso {host}.\n\n"
                + "Se non sei stato tu, rimuovilo in TrackMe, termina tutti gli accessi e scegli una nuova password: chi riceve questi "
                + "messaggi può rispondere al tuo posto se stai bene.",
            short: "TrackMe: dal {time} i tuoi push arrivano anche a {host}. Non sei tu? Rimuovilo e scegli una nuova password.",
            title: "Un'altra app riceve i tuoi messaggi"),
        .pushEndpointRemoved: MessageText(
            subject: "Un'app in meno riceve i tuoi messaggi",
            body: "dal {time} i messaggi push per te non arrivano più all'indirizzo presso {host}: è stato tolto, o l'app è uscita "
                + "dall'account.\n\nSe quell'app deve svegliarti o avvisarti, accedi di nuovo lì. Se non sei stato tu, scegli anche una nuova "
                + "password.",
            short: "TrackMe: dal {time} i tuoi messaggi push non arrivano più a {host}. Non sei tu? Accedi di nuovo lì.",
            title: "Un'app in meno riceve i tuoi messaggi"),
        .erasureOrdered: MessageText(
            subject: "I tuoi dati vengono cancellati",
            body: "come hai chiesto, da ora i tuoi dati non si possono più leggere e sono cancellati ovunque entro {hours} ore. "
                + "Non si può tornare indietro.",
            short: "TrackMe: come hai chiesto, i tuoi dati vengono cancellati, ovunque entro {hours} ore.",
            title: "I tuoi dati vengono cancellati"),
        .erasureCompleted: MessageText(
            subject: "Certificato di cancellazione",
            body: "i tuoi dati sono stati cancellati. Questo è il certificato, con ogni luogo in cui erano:\n\n{certificate}",
            short: "TrackMe: i tuoi dati sono stati cancellati. Il certificato è nella nostra e-mail.",
            title: "I tuoi dati sono stati cancellati"),
        .exportReady: MessageText(
            subject: "La tua esportazione è pronta",
            body: "l'esportazione dei tuoi dati è pronta. Puoi scaricarla in TrackMe per {hours} ore.",
            short: "TrackMe: l'esportazione dei tuoi dati è pronta e si può scaricare per {hours} ore.",
            title: "La tua esportazione è pronta"),
        .announcement: MessageText(subject: "{title}", body: "{text}", short: "TrackMe: {title}. {text}", title: "Novità da TrackMe"),
        .dataBreach: MessageText(
            subject: "Sulla sicurezza dei suoi dati: {title}", body: "si tratta della sicurezza dei suoi dati personali.\n\n{text}",
            short: "TrackMe, sulla sicurezza dei suoi dati: {title}. {text}", title: "Sulla sicurezza dei suoi dati"),
        .sosDispatch: MessageText(
            subject: "Chiamata di emergenza", body: "Chiamata di emergenza: {text}", short: "{text}", title: "Chiamata di emergenza"),
    ]
}
