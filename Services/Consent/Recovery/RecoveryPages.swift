// The words and forms of the pages behind mailed links, in both languages; they work without a script.

import Contracts
import HTTPKit

struct RecoveryPages: Sendable {
    let language: Language

    private func say(_ english: String, _ italian: String) -> String {
        language == .italian ? italian : english
    }

    /// The same for a known and an unknown address (CON-08).
    var neutral: String {
        say(
            """
            If there is an account at this address, a mail with a link is on its way. The link is good for a short time only. Nothing \
            there? Look into the unwanted mail, and check the address.
            """,
            """
            Se a questo indirizzo corrisponde un account, abbiamo inviato un messaggio con un collegamento, valido per poco tempo. Non \
            arriva nulla? Guardi nella posta indesiderata e controlli l'indirizzo.
            """)
    }

    // MARK: Asking

    /// Written without a template: whoever sends what is no address, which needs no log-in, is refused by it.
    /// - Parameter again: what was typed and is no address.
    func asking(again: String? = nil) -> HTTPAnswer {
        let fault = say(
            "This is not an e-mail address: it looks like name@example.org.", "Non è un indirizzo e-mail, per esempio nome@example.org.")
        let error = again == nil ? "" : "<div class=\"error\" role=\"alert\"><p>\(PageLayout.escaped(fault))</p></div>"
        let intro = PageLayout.escaped(say("Enter the e-mail address of your account.", "Inserisca l'indirizzo e-mail del suo account."))
        let typed = PageLayout.escaped(again ?? "")
        return .page(
            title: say("Forgot your password?", "Password dimenticata?"),
            markup: """
                \(error)
                <p>\(intro)</p>
                <form method="post" novalidate>
                <label for="email">\(say("E-mail address", "Indirizzo e-mail"))</label>
                <input id="email" name="email" type="email" autocomplete="email" value="\(typed)" required>
                <button type="submit">\(say("Send the link", "Invia il collegamento"))</button>
                </form>
                """, language: language, status: again == nil ? 200 : 422)
    }

    func asked() throws -> HTTPAnswer {
        try .page(
            title: say("Look into your mail", "Controlli la posta"), template: Self.noticeTemplate, values: ["text": neutral],
            language: language)
    }

    // MARK: Choosing

    func choosing(_ purpose: MailLinkPurpose, faults: [Problem.FieldError] = []) throws -> HTTPAnswer {
        try .page(
            title: purpose == .invitation
                ? say("Welcome: choose a password", "Le diamo il benvenuto: scelga una password")
                : say("Choose a new password", "Scelga una nuova password"),
            template: Self.choosingTemplate,
            values: [
                "rule": say(
                    "At least 8 characters; several words make a good one. Every device is logged out.",
                    "Almeno 8 caratteri; più parole insieme vanno bene. Tutti i dispositivi verranno disconnessi."),
                "first": say("New password", "Nuova password"), "second": say("The same again", "Ripeta la password"),
                "asksKeep": purpose == .recover,
                "keep": say(
                    "My paired devices may go on reading my data. Leave it empty if a stranger may have had access; they go on measuring.",
                    "I miei dispositivi associati possono continuare a leggere i miei dati. Lasci vuoto se un estraneo può aver avuto "
                        + "accesso; continuano comunque a misurare."),
                "button": say("Save the password", "Salva la password"), "hasError": !faults.isEmpty,
                "errors": texts(faults),
            ], language: language, status: faults.isEmpty ? 200 : 422)
    }

    /// Each once: two fields of one form may have the same.
    private func texts(_ faults: [Problem.FieldError]) -> [String] {
        Array(Set(faults.map { say("The password ", "La password ") + $0.fault.text(in: language) + "." })).sorted()
    }

    func chosen() throws -> HTTPAnswer {
        try .page(
            title: say("The password is saved", "Password salvata"), template: Self.noticeTemplate,
            values: [
                "text": say(
                    "Log in with it, in the app or on the web. Whoever was logged in before is logged out.",
                    "Ora può accedere con la nuova password, dall'app o dal web. Gli accessi precedenti sono terminati.")
            ], language: language)
    }

    func tooLate(_ purpose: MailLinkPurpose) -> HTTPAnswer {
        let text = PageLayout.escaped(
            say("It was used already, is too old or is not complete.", "È già stato usato, è scaduto o non è completo."))
        let further =
            purpose == .recover
            ? "<a href=\"/consent/v1/recovery\">\(PageLayout.escaped(say("Ask for a new one", "Ne chieda uno nuovo")))</a>"
            : PageLayout.escaped(say("Ask whoever invited you for a new invitation.", "Chieda un nuovo invito a chi l'ha invitata."))
        return .page(
            title: say("The link does not hold any more", "Il collegamento non è più valido"),
            markup: "<div class=\"error\" role=\"alert\"><p>\(text)</p></div>\n<p>\(further)</p>", language: language, status: 404)
    }

    private static let noticeTemplate = """
        <div class="notice" role="status"><p>{{text}}</p></div>
        """

    private static let choosingTemplate = """
        {{#hasError}}<div class="error" role="alert"><ul>{{#errors}}<li>{{.}}</li>{{/errors}}</ul></div>{{/hasError}}
        <p>{{rule}}</p>
        <form method="post" novalidate>
        <label for="password">{{first}}</label>
        <input id="password" name="password" type="password" autocomplete="new-password" required>
        <label for="passwordAgain">{{second}}</label>
        <input id="passwordAgain" name="passwordAgain" type="password" autocomplete="new-password" required>
        {{#asksKeep}}<label><input name="keepDevices" type="checkbox" value="yes"> {{keep}}</label>{{/asksKeep}}
        <button type="submit">{{button}}</button>
        </form>
        """
}
