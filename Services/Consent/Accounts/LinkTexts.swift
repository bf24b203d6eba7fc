// The words and templates of the pages that mailed links open, in Italian and English.

import Contracts

enum LinkTexts {
    private static func say(_ language: Language, _ italian: String, _ english: String) -> String {
        language == .italian ? italian : english
    }

    // MARK: Addresses

    static let confirmTemplate = """
        <p>{{text}}</p>
        <p><strong>{{address}}</strong></p>
        <form method="post"><button type="submit">{{button}}</button></form>
        """

    static func confirmTitle(_ purpose: MailLinkPurpose, _ language: Language) -> String {
        switch purpose {
        case .changeAddress: say(language, "Nuovo indirizzo e-mail", "New e-mail address")
        case .undoAddress: say(language, "Riprendere l'indirizzo e-mail", "Take the e-mail address back")
        default: say(language, "Conferma dell'indirizzo e-mail", "Confirm the e-mail address")
        }
    }

    static func confirmText(_ purpose: MailLinkPurpose, _ language: Language) -> String {
        switch purpose {
        case .changeAddress:
            say(
                language, "Confermando, questo diventa l'indirizzo del suo account. Se non l'ha chiesto lei, chiuda questa pagina.",
                "By confirming, this becomes the address of your account. If you did not ask for it, close this page.")
        case .undoAddress:
            say(
                language,
                "Confermando, questo resta o torna l'indirizzo del suo account, tutti gli accessi vengono terminati e riceve un collegamento "
                    + "per una nuova password.",
                "By confirming, this stays or becomes the address of your account again, everybody is logged out, and you are mailed a link "
                    + "for a new password.")
        default:
            say(
                language, "Confermi che questo indirizzo è suo. Se non si è registrato lei, chiuda questa pagina.",
                "Confirm that this address is yours. If you did not register, close this page.")
        }
    }

    static func confirmButton(_ language: Language) -> String { say(language, "Confermo", "Confirm") }

    static func confirmedTitle(_ purpose: MailLinkPurpose, _ language: Language) -> String {
        purpose == .undoAddress
            ? say(language, "Indirizzo ripreso", "Address taken back") : say(language, "Indirizzo confermato", "Address confirmed")
    }

    static func confirmedText(_ purpose: MailLinkPurpose, _ language: Language) -> String {
        switch purpose {
        case .changeAddress:
            say(
                language, "Da ora acceda con questo indirizzo. Lo abbiamo comunicato anche a quello precedente.",
                "From now on log in with this address. We have told the earlier one, too.")
        case .undoAddress:
            say(
                language, "Tutti gli accessi sono terminati. Scelga ora una nuova password con il collegamento che le abbiamo inviato.",
                "Everybody is logged out. Now choose a new password with the link that we have mailed to you.")
        default: say(language, "Grazie. Ora può accedere.", "Thank you. You can log in now.")
        }
    }

    static func staleTitle(_ language: Language) -> String {
        say(language, "Il collegamento non vale più", "The link does not hold any more")
    }

    static func staleText(_ language: Language) -> String {
        say(
            language, "È già stato usato, è scaduto o non viene da noi. Ne chieda uno nuovo dall'app o dal sito.",
            "It was used already, is too old, or did not come from us. Ask for a new one in the app or on the web site.")
    }

    // MARK: Guardians

    static let guardianTemplate = """
        {{#hasError}}<p class="error" role="alert">{{error}}</p>{{/hasError}}
        <p>{{intro}} <strong>{{child}}</strong></p>
        <p>{{later}}</p>
        {{#documents}}<details><summary>{{title}}</summary>{{#paragraphs}}<p>{{.}}</p>{{/paragraphs}}</details>{{/documents}}
        <form method="post">
        <label for="name">{{nameLabel}}</label><input id="name" name="name" autocomplete="name" maxlength="200">
        <p><label><input type="checkbox" name="adult" value="yes"> {{adultLabel}}</label></p>
        <p><label><input type="checkbox" name="conditions" value="yes"> {{conditionsLabel}}</label></p>
        {{#hasTypes}}<p><label><input type="checkbox" name="anonymous" value="yes"> {{anonymousLabel}} {{types}}</label></p>{{/hasTypes}}
        <button type="submit" name="answer" value="consent">{{consent}}</button>
        <button class="danger" type="submit" name="answer" value="refuse">{{refuse}}</button>
        </form>
        """

    static func guardianTitle(_ language: Language) -> String { say(language, "Consenso per un minore", "Consent for a child") }

    static func guardianWords(_ language: Language) -> [String: any Sendable] {
        [
            "intro": say(
                language, "Con il suo indirizzo è stato registrato un account TrackMe per",
                "A TrackMe account was registered with your address for"),
            "later": say(
                language,
                "Finché lei non acconsente non si raccoglie alcun dato. Anche le richieste di organizzazioni per i dati del minore verranno poste a lei.",
                "Nothing is collected until you consent. Requests of organisations for the child's data will be put to you, too."),
            "nameLabel": say(language, "Il suo nome e cognome", "Your name and surname"),
            "adultLabel": say(language, "Sono maggiorenne e genitore o tutore.", "I am an adult, and a parent or guardian."),
            "conditionsLabel": say(
                language, "Accetto per il minore le condizioni e l'informativa qui sopra.",
                "I accept the conditions and the policy above for the child."),
            "anonymousLabel": say(
                language, "Acconsento alla condivisione anonima di:", "I consent to the anonymous sharing of:"),
            "consent": say(language, "Acconsento", "I consent"), "refuse": say(language, "Non acconsento", "I do not consent"),
        ]
    }

    static func guardianIncomplete(_ language: Language) -> String {
        say(
            language, "Per acconsentire scriva il suo nome e spunti le prime due caselle.",
            "To consent, give your name and tick the first two boxes.")
    }

    static func thanks(_ language: Language) -> String { say(language, "Grazie", "Thank you") }

    static func guardianConsented(_ language: Language) -> String {
        say(language, "Il consenso è registrato e l'account funziona.", "Your consent is recorded, and the account works.")
    }

    static func guardianRefused(_ language: Language) -> String {
        say(language, "La registrazione è stata cancellata; non ne resta nulla.", "The registration was deleted; nothing of it is left.")
    }

    // MARK: Requests for a child's data

    static let requestTemplate = """
        <p>{{intro}} <strong>{{child}}</strong>:</p>
        <p><strong>{{organisation}}</strong></p>
        <p>{{purpose}}</p>
        <form method="post">
        <button type="submit" name="answer" value="consent">{{consent}}</button>
        <button class="danger" type="submit" name="answer" value="refuse">{{refuse}}</button>
        </form>
        """

    static func requestTitle(_ language: Language) -> String {
        say(language, "Richiesta di dati di un minore", "Request for a child's data")
    }

    static func requestWords(_ language: Language) -> [String: any Sendable] {
        [
            "intro": say(language, "Un'organizzazione chiede i dati di", "An organisation asks for the data of"),
            "consent": say(language, "Accetto", "Accept"), "refuse": say(language, "Rifiuto", "Refuse"),
        ]
    }

    static func requestAnswered(_ accepted: Bool, _ language: Language) -> String {
        accepted
            ? say(
                language, "La richiesta è accettata; può revocarla in ogni momento.",
                "The request is accepted; it can be withdrawn at any time.")
            : say(language, "La richiesta è rifiutata.", "The request is refused.")
    }
}
