// The messages to organisations about their account, and to people about an organisation that is gone.

import Contracts

extension MessageText {
    static let englishOrganisation: [MessageTemplate: MessageText] = [
        .organisationConfirm: MessageText(
            subject: "Complete the registration of {organisation}",
            body:
                "{organisation} was registered with TrackMe with this address. Complete the registration within {hours} h here:\n{link}\n\n"
                + "If you did not register, ignore this message.",
            short: "TrackMe: complete the registration of {organisation} within {hours} h with the link in our e-mail.",
            title: "Complete the registration"),
        .organisationConfirmWithPassword: MessageText(
            subject: "Complete the registration of {organisation}",
            body:
                "{organisation} was registered with TrackMe with this address. Complete the registration within {hours} h here:\n{link}\n\n"
                + "Then log in with this address and the temporary password:\n\n    {password}\n\n"
                + "It must be changed at the first log-in. If you did not register, ignore this message.",
            short: "TrackMe: complete the registration of {organisation} within {hours} h. Temporary password: {password}",
            title: "Complete the registration"),
        .organisationAddressChange: MessageText(
            subject: "Confirm the new address of {organisation}",
            body:
                "please confirm within {hours} h that {organisation} shall be written to, and log in, at this address from now on:\n{link}\n\n"
                + "Until then the old one is used. If you did not ask for it, ignore this message.",
            short: "TrackMe: confirm the new address of {organisation} within {hours} h with the link in our e-mail.",
            title: "Confirm the new address"),
        .organisationAddressChanged: MessageText(
            subject: "The address of {organisation} was changed",
            body: "the corporate e-mail address of {organisation} was changed on {time}; this one is no longer used.\n\n"
                + "If it was not you, write to the support of this TrackMe at once.",
            short: "TrackMe: the address of {organisation} was changed on {time}. Not you? Contact us at once.",
            title: "The address was changed"),
        .organisationKeysChanged: MessageText(
            subject: "What opens the account of {organisation} was changed",
            body: "on {time} {change} in the account of {organisation}.\n\n"
                + "If it was none of you, undo it in TrackMe; let every member log out everywhere and choose a new password.",
            short: "TrackMe: on {time} {change} at {organisation}. None of you? Undo it and choose new passwords.",
            title: "An access to the account was changed"),
        .organisationActive: MessageText(
            subject: "{organisation} can now use TrackMe",
            body: "{organisation} can now ask for data. Its members log in as usual; programs use API clients, which you make yourself.",
            short: "TrackMe: {organisation} can now ask for data.", title: "The account is active"),
        .organisationAwaitsApproval: MessageText(
            subject: "The registration of {organisation} is being looked at",
            body:
                "the address is confirmed. The operator of this TrackMe now looks at the registration of {organisation}; you are told by mail.",
            short: "TrackMe: the registration of {organisation} is being looked at.", title: "Registration is being looked at"),
        .organisationSuspended: MessageText(
            subject: "The account of {organisation} is suspended",
            body:
                "the operator of this TrackMe has suspended the account of {organisation}: nothing is delivered and nothing can be asked for. "
                + "Write to the support to learn why.",
            short: "TrackMe: the account of {organisation} is suspended. Please contact the support.", title: "The account is suspended"),
        .organisationClosed: MessageText(
            subject: "The account of {organisation} was deleted",
            body:
                "the profile of {organisation} was deleted as ordered. Its requests and subscriptions have ended and the people concerned are "
                + "told.\n\nAmounts that remain due: {debts}",
            short: "TrackMe: the account of {organisation} was deleted. Due: {debts}", title: "The account was deleted"),
        .organisationLeft: MessageText(
            subject: "{organisation} no longer uses TrackMe",
            body:
                "{organisation}, which had asked for some of your data, has left TrackMe. Its requests and its access to your data have ended.",
            short: "TrackMe: {organisation} has left TrackMe; its access to your data has ended.", title: "An access has ended"),
    ]

    static let italianOrganisation: [MessageTemplate: MessageText] = [
        .organisationConfirm: MessageText(
            subject: "Completi la registrazione di {organisation}",
            body:
                "{organisation} è stata registrata su TrackMe con questo indirizzo. Completi la registrazione entro {hours} ore qui:\n{link}\n\n"
                + "Se non si è registrato lei, ignori questo messaggio.",
            short: "TrackMe: completi la registrazione di {organisation} entro {hours} ore con il link nella nostra e-mail.",
            title: "Completi la registrazione"),
        .organisationConfirmWithPassword: MessageText(
            subject: "Completi la registrazione di {organisation}",
            body:
                "{organisation} è stata registrata su TrackMe con questo indirizzo. Completi la registrazione entro {hours} ore qui:\n{link}\n\n"
                + "Poi acceda con questo indirizzo e la password temporanea:\n\n    {password}\n\n"
                + "Va cambiata al primo accesso. Se non si è registrato lei, ignori questo messaggio.",
            short: "TrackMe: completi la registrazione di {organisation} entro {hours} ore. Password temporanea: {password}",
            title: "Completi la registrazione"),
        .organisationAddressChange: MessageText(
            subject: "Confermi il nuovo indirizzo di {organisation}",
            body: "confermi entro {hours} ore che da ora {organisation} riceve la posta e accede con questo indirizzo:\n{link}\n\n"
                + "Fino ad allora vale quello precedente. Se non l'ha chiesto lei, ignori questo messaggio.",
            short: "TrackMe: confermi il nuovo indirizzo di {organisation} entro {hours} ore con il link nella nostra e-mail.",
            title: "Confermi il nuovo indirizzo"),
        .organisationAddressChanged: MessageText(
            subject: "L'indirizzo di {organisation} è stato cambiato",
            body: "l'indirizzo e-mail di {organisation} è stato cambiato il {time}; questo non è più in uso.\n\n"
                + "Se non è stato lei, scriva subito all'assistenza di questo TrackMe.",
            short: "TrackMe: l'indirizzo di {organisation} è stato cambiato il {time}. Non è stato lei? Ci scriva subito.",
            title: "Indirizzo cambiato"),
        .organisationKeysChanged: MessageText(
            subject: "È cambiato un accesso all'account di {organisation}",
            body: "il {time} nell'account di {organisation} {change}.\n\n"
                + "Se non è stato nessuno di voi, annullatelo in TrackMe; ogni membro termini tutti gli accessi e scelga una nuova password.",
            short: "TrackMe: il {time} {change} ({organisation}). Nessuno di voi? Annullatelo e scegliete nuove password.",
            title: "È cambiato un accesso all'account"),
        .organisationActive: MessageText(
            subject: "{organisation} può usare TrackMe",
            body:
                "{organisation} può ora chiedere dati. I suoi membri accedono come sempre; i programmi usano i client API che create voi stessi.",
            short: "TrackMe: {organisation} può ora chiedere dati.", title: "L'account è attivo"),
        .organisationAwaitsApproval: MessageText(
            subject: "La registrazione di {organisation} è in esame",
            body:
                "l'indirizzo è confermato. Il gestore di questo TrackMe esamina ora la registrazione di {organisation}; lo saprà per e-mail.",
            short: "TrackMe: la registrazione di {organisation} è in esame.", title: "Registrazione in esame"),
        .organisationSuspended: MessageText(
            subject: "L'account di {organisation} è sospeso",
            body: "il gestore di questo TrackMe ha sospeso l'account di {organisation}: nulla viene consegnato e nulla si può chiedere. "
                + "Scriva all'assistenza per saperne il motivo.",
            short: "TrackMe: l'account di {organisation} è sospeso. Contatti l'assistenza.", title: "L'account è sospeso"),
        .organisationClosed: MessageText(
            subject: "L'account di {organisation} è stato eliminato",
            body:
                "il profilo di {organisation} è stato eliminato come richiesto. Richieste e abbonamenti sono terminati e le persone interessate "
                + "ne vengono informate.\n\nImporti che restano dovuti: {debts}",
            short: "TrackMe: l'account di {organisation} è stato eliminato. Dovuto: {debts}", title: "Account eliminato"),
        .organisationLeft: MessageText(
            subject: "{organisation} non usa più TrackMe",
            body:
                "{organisation}, che aveva chiesto alcuni tuoi dati, ha lasciato TrackMe. Le sue richieste e il suo accesso ai tuoi dati sono "
                + "terminati.",
            short: "TrackMe: {organisation} ha lasciato TrackMe; il suo accesso ai tuoi dati è terminato.", title: "Un accesso è terminato"),
    ]
}
