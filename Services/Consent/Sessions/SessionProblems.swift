// What log-ins, sessions, passwords and mailed links can refuse.

import Contracts

extension Problem {
    /// The one message for whatever is wrong (ACC-11).
    static let credentialsNotValid = Problem(
        "credentials-not-valid", status: 401, title: "Credentials not valid", italianTitle: "Credenziali non valide",
        detail: """
            Nobody with this name and password may log in here. Type the password again, or ask for a new one by “forgot password?”. \
            If you have just registered, first follow the link in the mail.
            """,
        italianDetail:
            """
            Con questo nome e questa password non accede nessuno. Scriva di nuovo la password, o ne chieda una nuova con «password \
            dimenticata?». Se si è appena registrato, segua prima il collegamento nell'e-mail.
            """,
        errors: [.init(pointer: "/password", .typeAgain)])

    /// Only with `acc.detailed_login_errors`.
    static let unknownIdentifier = Problem(
        "unknown-identifier", status: 401, title: "Nobody is registered under this name",
        italianTitle: "Nessuno è registrato con questo nome",
        detail: "Correct the name, or register.", italianDetail: "Corregga il nome, o si registri.",
        errors: [.init(pointer: "/login", .notRegistered)])

    /// Only with `acc.detailed_login_errors`.
    static let wrongPassword = Problem(
        "log-in-password-wrong", status: 401, title: "The password is wrong", italianTitle: "La password non è giusta",
        detail: "Type it again, or ask for a new one by “forgot password?”.",
        italianDetail: "La scriva di nuovo, o ne chieda una nuova con «password dimenticata?».",
        errors: [.init(pointer: "/password", .wrongPassword)])

    static let temporaryPasswordExpired = Problem(
        "temporary-password-expired", status: 403, title: "The temporary password is too old",
        italianTitle: "La password temporanea è scaduta",
        detail: "Ask for a new one by “forgot password?”.", italianDetail: "Ne chieda una nuova con «password dimenticata?».")

    static let addressNotConfirmed = Problem(
        "address-not-confirmed", status: 403, title: "The e-mail address is not confirmed yet",
        italianTitle: "L'indirizzo e-mail non è ancora confermato",
        detail: "Follow the link in the mail that was sent to it; it can be sent again.",
        italianDetail: "Segua il collegamento nell'e-mail che gli è stata inviata; si può inviare di nuovo.")

    static let guardianAwaited = Problem(
        "guardian-awaited", status: 403, title: "An adult has not consented yet", italianTitle: "Un adulto non ha ancora acconsentito",
        detail: "The account opens when the guardian follows the link in the mail that was sent to them.",
        italianDetail: "L'account si apre quando il tutore segue il collegamento nell'e-mail che ha ricevuto.")

    /// Only to whoever has the password.
    static let secondFactorNeeded = Problem(
        "second-factor-needed", status: 401, title: "A code is needed too", italianTitle: "Serve anche un codice",
        detail: "Send the same again with `code`: six digits of your authenticator, or one of your recovery codes.",
        italianDetail: "Invii di nuovo lo stesso con `code`: sei cifre dell'app di autenticazione, o uno dei codici di recupero.",
        errors: [.init(pointer: "/code", .required)])

    static let secondFactorNotRight = Problem(
        "second-factor-not-right", status: 401, title: "The code is not right", italianTitle: "Il codice non è giusto",
        detail: "Each code is good once and for about a minute: wait for the next. Lost the authenticator? Use a recovery code.",
        italianDetail:
            """
            Ogni codice vale una volta e per circa un minuto: attenda il prossimo. Ha perso l'app di autenticazione? Usi un codice \
            di recupero.
            """,
        errors: [.init(pointer: "/code", .wrongCode)])

    /// Where an authenticator is confirmed.
    static let secondFactorWrong = Problem(
        "second-factor-wrong", status: 422, title: "The code is not right", italianTitle: "Il codice non è giusto",
        detail: "Nothing was changed. Wait for the authenticator's next code; if that is not right either, its clock may be wrong.",
        italianDetail:
            "Nulla è stato cambiato. Attenda il prossimo codice; se anche quello non è giusto, forse l'orologio dell'app è sbagliato.",
        errors: [.init(pointer: "/code", .wrongCode)])

    static let secondFactorEnrolled = Problem(
        "second-factor-enrolled", status: 409, title: "A second factor is enrolled already",
        italianTitle: "Un secondo fattore è già attivo",
        detail: "Take it away first: DELETE /consent/v1/second-factor.", italianDetail: "Prima lo tolga: DELETE /consent/v1/second-factor.")

    static let secondFactorMissing = Problem(
        "second-factor-missing", status: 409, title: "No second factor is enrolled", italianTitle: "Nessun secondo fattore è attivo",
        detail: "Enrol one first: POST /consent/v1/second-factor.", italianDetail: "Prima ne attivi uno: POST /consent/v1/second-factor.")

    static let wrongProof = Problem(
        "wrong-proof", status: 422, title: "This does not prove who you are", italianTitle: "Così non dimostra chi è",
        detail: "Nothing was done. Type the password again, or wait for the authenticator's next code.",
        italianDetail: "Nulla è stato fatto. Scriva di nuovo la password, o attenda il prossimo codice.",
        errors: [.init(pointer: "", .wrongProof)])

    static let proofLacksCode = Problem(
        "wrong-proof", status: 422, title: "A code is needed too", italianTitle: "Serve anche un codice",
        detail: "Send the same again with `code`: six digits of your authenticator, or one of your recovery codes.",
        italianDetail: "Invii di nuovo lo stesso con `code`: sei cifre dell'app di autenticazione, o uno dei codici di recupero.",
        errors: [.init(pointer: "/code", .required)])

    static let sessionOver = Problem(
        "session-over", status: 401, title: "The session is over", italianTitle: "La sessione è finita", detail: "Log in again.",
        italianDetail: "Acceda di nuovo.",
        errors: [.init(pointer: "/refreshToken", .noLongerValid)])

    static let wrongOldPassword = Problem(
        "wrong-old-password", status: 422, title: "The old password is wrong", italianTitle: "La vecchia password non è giusta",
        detail: "The password was not changed. Type the old one again.",
        italianDetail: "La password non è stata cambiata. Scriva di nuovo quella vecchia.", errors: [.init(pointer: "/old", .wrongPassword)]
    )

    /// - Parameter errors: what is wrong with the new password, field by field.
    static func newPasswordRefused(_ errors: [FieldError]) -> Problem {
        Problem(
            "new-password-refused", status: 422, title: "The new password cannot be taken",
            italianTitle: "La nuova password non può essere accettata",
            detail: "The password was not changed. Choose a new one and type it twice.",
            italianDetail: "La password non è stata cambiata. Ne scelga una nuova e la scriva due volte.", errors: errors)
    }
}
