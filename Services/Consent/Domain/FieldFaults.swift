// What only consent finds wrong with a field, in the languages of its readers.

import Contracts

extension FieldFault {
    // MARK: Registration and profile

    static let notABirthDate = FieldFault(
        "not-a-birth-date", english: "must be a real date in the past such as 1940-05-01",
        italian: "deve essere una data reale nel passato, come 1940-05-01")
    static let notAUserName = FieldFault(
        "not-a-user-name",
        english: "must have 3 to 32 letters, digits, full stops, hyphens or underscores, and must not look like a fiscal code",
        italian: "deve avere da 3 a 32 lettere, cifre, punti, trattini o trattini bassi, e non somigliare a un codice fiscale")
    static let sosClausesNotAccepted = FieldFault(
        "sos-clauses-not-accepted", english: "must be true to join AutomatedSOS; its clauses are shown with the choice",
        italian: "deve essere true per aderire ad AutomatedSOS; le clausole sono mostrate accanto alla scelta")

    /// - Parameter path: where places are looked up.
    static func notAPlace(listedAt path: String) -> FieldFault {
        FieldFault(
            "not-a-place", english: "must be the code of a place, from \(path)", italian: "deve essere il codice di un luogo, da \(path)")
    }

    // MARK: The fiscal code beside the other fields

    static let fiscalCodeNoSuchPlace = FieldFault(
        "fiscal-code-no-such-place", english: "names a place of birth that does not exist: check it",
        italian: "indica un luogo di nascita che non esiste: va controllato")
    static let fiscalCodeOtherBirthDate = FieldFault(
        "fiscal-code-other-birth-date", english: "says another date of birth: check both",
        italian: "indica un'altra data di nascita: vanno controllati entrambi i campi")
    static let fiscalCodeOtherPlace = FieldFault(
        "fiscal-code-other-place", english: "says another place of birth: choose the place as it was called at the birth",
        italian: "indica un altro luogo di nascita: va scelto il luogo come si chiamava alla nascita")
    static let fiscalCodeOtherSurname = FieldFault(
        "fiscal-code-other-surname", english: "says another surname: check both",
        italian: "indica un altro cognome: vanno controllati entrambi i campi")
    static let fiscalCodeOtherName = FieldFault(
        "fiscal-code-other-name", english: "says another name: give all names as registered",
        italian: "indica un altro nome: vanno scritti tutti i nomi come registrati")
    static let fiscalCodeOtherSex = FieldFault(
        "fiscal-code-other-sex", english: "says another sex: check both, or leave the gender out",
        italian: "indica un altro sesso: vanno controllati entrambi i campi, o non va indicato il genere")

    // MARK: Guardians

    static func guardianNeeded(below age: Int64) -> FieldFault {
        FieldFault(
            "guardian-needed",
            english: "is missing: below \(age) years an adult must consent; give the e-mail address of a parent or guardian",
            italian: "manca: sotto i \(age) anni deve acconsentire un adulto; va indicato l'indirizzo e-mail di un genitore o tutore")
    }

    static let guardianIsOneself = FieldFault(
        "guardian-is-oneself", english: "must be another address than the account's own",
        italian: "deve essere un indirizzo diverso da quello dell'account")

    // MARK: Passwords, log-ins and codes

    static let oldPassword = FieldFault(
        "password-old", english: "is the old one: choose another", italian: "è quella vecchia: ne va scelta un'altra")
    static let typeAgain = FieldFault(
        "credentials-not-valid", english: "must be typed again; the name may stay as it is",
        italian: "va scritta di nuovo; il nome può restare com'è")
    static let notRegistered = FieldFault("not-registered", english: "is not registered", italian: "non è registrato")
    static let wrongCode = FieldFault(
        "wrong-code", english: "is wrong, too old, or was used already", italian: "non è giusto, è scaduto o è già stato usato")
    static let wrongProof = FieldFault(
        "wrong-proof", english: "password or code is wrong", italian: "password o codice non sono giusti")
    static let proofMissing = FieldFault(
        "proof-missing", english: "is missing, and so is `code`: send one of them",
        italian: "manca, e manca anche `code`: va inviato uno dei due")
    static let noLongerValid = FieldFault("no-longer-valid", english: "is not valid any more", italian: "non è più valido")
    static let otherConfirmation = FieldFault(
        "other-confirmation", english: "is not the one that was given for this account just now",
        italian: "non è quella data poco fa per questo account")
}

extension PasswordFault {
    var fieldFault: FieldFault {
        switch self {
        case .length(let fault): fault.fieldFault
        case .common: .passwordCommon
        case .personal: .passwordPersonal
        case .service: .passwordOfService
        }
    }
}
