// Passwords, and the numbers by which countries tell people and organisations apart: what is wrong with them in any form of any service.

extension FieldFault {
    package static let notTheSame = FieldFault(
        "not-the-same-twice", english: "is not the same in both fields: type both again",
        italian: "non è uguale nei due campi: vanno scritti di nuovo entrambi")
    package static let wrongPassword = FieldFault(
        "wrong-password", english: "is wrong: type it again", italian: "non è giusta: va scritta di nuovo")

    static func passwordTooShort(_ least: Int) -> FieldFault {
        FieldFault(
            "password-too-short", english: "is too short: choose at least \(least) characters; several words make a good one",
            italian: "è troppo corta: almeno \(least) caratteri; più parole insieme vanno bene")
    }

    static let passwordTooLong = FieldFault(
        "password-too-long", english: "is too long: at most \(PasswordLength.longest) characters",
        italian: "è troppo lunga: al massimo \(PasswordLength.longest) caratteri")
    package static let passwordCommon = FieldFault(
        "password-common", english: "is one of the most used passwords, which are tried first: choose another",
        italian: "è tra le più usate, le prime a essere tentate: ne va scelta un'altra")
    package static let passwordPersonal = FieldFault(
        "password-personal",
        english: "is your name, user name or e-mail address: choose something that others do not know of you",
        italian: "è il suo nome, nome utente o indirizzo e-mail: va scelto qualcosa che altri non sanno di lei")
    package static let passwordOfService = FieldFault(
        "password-of-service", english: "is the name of this service: choose another",
        italian: "è il nome di questo servizio: ne va scelta un'altra")
    package static let passwordRefused = FieldFault(
        "password-refused", english: "cannot be taken: choose another", italian: "non può essere accettata: ne va scelta un'altra")

    /// For a service that asked another to take a password: the row whose English text came back as the reason.
    package static func password(refusedAs reason: String) -> FieldFault {
        let rows = [passwordCommon, passwordPersonal, passwordOfService, passwordTooLong, .required]
        return rows.first { $0.english == reason } ?? passwordRefused
    }
}

extension PasswordLength.Fault {
    package var fieldFault: FieldFault {
        switch self {
        case .tooShort(let least): .passwordTooShort(least)
        case .tooLong: .passwordTooLong
        }
    }
}

extension FiscalCode.Fault {
    package var fieldFault: FieldFault {
        switch self {
        case .length:
            FieldFault(
                "fiscal-code-wrong-length", english: "must have \(FiscalCode.length) letters and digits, as on the health card",
                italian: "deve avere \(FiscalCode.length) lettere e cifre, come sulla tessera sanitaria")
        case .character(let index):
            FieldFault(
                "fiscal-code-wrong-character",
                english: "has a character that cannot stand at place \(index + 1): copy it from the health card",
                italian: "ha un carattere che non può stare al posto \(index + 1): va copiato dalla tessera sanitaria")
        case .date:
            FieldFault(
                "fiscal-code-no-such-date", english: "holds a date that does not exist: copy it from the health card",
                italian: "contiene una data che non esiste: va copiato dalla tessera sanitaria")
        case .checkCharacter:
            FieldFault(
                "fiscal-code-mistyped", english: "is mistyped: the last letter does not fit; copy it from the health card",
                italian: "è scritto male: l'ultima lettera non corrisponde; va copiato dalla tessera sanitaria")
        }
    }
}

extension TaxIdentificationNumber.Fault {
    package var fieldFault: FieldFault {
        switch self {
        case .length:
            FieldFault(
                "tax-number-wrong-length",
                english: "must have \(TaxIdentificationNumber.length) digits, as on the letter of the tax office",
                italian: "deve avere \(TaxIdentificationNumber.length) cifre, come sulla lettera dell'ufficio delle imposte")
        case .digits:
            FieldFault(
                "tax-number-not-given-out", english: "is no number that is given out: copy it from the letter of the tax office",
                italian: "non è un numero che viene assegnato: va copiato dalla lettera dell'ufficio delle imposte")
        case .checkDigit:
            FieldFault(
                "tax-number-mistyped",
                english: "is mistyped: the last digit does not fit the others; copy it from the letter of the tax office",
                italian: "è scritto male: l'ultima cifra non corrisponde; va copiato dalla lettera dell'ufficio delle imposte")
        }
    }
}

extension VATNumber.Fault {
    package var fieldFault: FieldFault {
        switch self {
        case .country:
            let list = VATNumber.countries.joined(separator: ", ")
            return FieldFault(
                "vat-number-no-country",
                english: "must be a number as this country writes it, or one that begins with its country: \(list)",
                italian: "deve essere un numero come lo scrive questo paese, o iniziare con il suo paese: \(list)")
        case .form(let country):
            return FieldFault(
                "vat-number-wrong-form", english: "is not as \(country) writes VAT numbers: copy it from an invoice",
                italian: "non è come \(country) scrive le partite IVA: va copiata da una fattura")
        case .checkDigit:
            return FieldFault(
                "vat-number-mistyped", english: "is mistyped: the last digit does not fit the others; copy it from an invoice",
                italian: "è scritta male: l'ultima cifra non corrisponde; va copiata da una fattura")
        }
    }
}
