// What is wrong with a field: a code for programs, and what a person reads in each language of the suite.

/// One row of the closed list behind `errors[].code`. Codes are stable; texts may be worded anew. A row is written once, as a call with a
/// literal code, in Contracts or in the list of one service, so that docs/problems.md can be made from it.
package struct FieldFault: Hashable, Sendable {
    /// Kebab-case.
    package let code: String
    /// Follows the field's name: what is wrong and what to do, never what was sent.
    package let english: String
    /// Likewise.
    package let italian: String

    package init(_ code: String, english: String, italian: String) {
        (self.code, self.english, self.italian) = (code, english, italian)
    }

    package func text(in language: Language) -> String {
        switch language {
        case .english: english
        case .italian: italian
        }
    }
}

// MARK: Presence and type

extension FieldFault {
    package static let required = FieldFault("required", english: "is missing: fill it in", italian: "manca: va compilato")
    package static let nullNotAllowed = FieldFault("null-not-allowed", english: "must not be null", italian: "non può essere null")
    package static let unknownField = FieldFault(
        "unknown-field", english: "is not known here: leave it out", italian: "qui non è previsto: va tolto")
    package static let noPossibleForm = FieldFault(
        "no-possible-form", english: "has none of the forms that are possible here", italian: "non ha nessuna delle forme possibili qui")

    /// What JSON can hold.
    package enum ValueKind: Sendable {
        case text, flag, number, wholeNumber, list, object

        fileprivate var english: String {
            switch self {
            case .text: "text"
            case .flag: "true or false"
            case .number: "a number"
            case .wholeNumber: "a whole number"
            case .list: "an array"
            case .object: "an object"
            }
        }

        fileprivate var italian: String {
            switch self {
            case .text: "un testo"
            case .flag: "true o false"
            case .number: "un numero"
            case .wholeNumber: "un numero intero"
            case .list: "un elenco"
            case .object: "un oggetto"
            }
        }
    }

    package static func wrongType(_ wanted: ValueKind) -> FieldFault {
        FieldFault("wrong-type", english: "must be \(wanted.english)", italian: "deve essere \(wanted.italian)")
    }
}

// MARK: Bounds

extension FieldFault {
    /// In which a number of a form is asked for.
    package enum Unit: Sendable {
        case kilograms, centimetres, hoursPerDay, hoursPerWeek

        fileprivate var english: String {
            switch self {
            case .kilograms: " kg"
            case .centimetres: " cm"
            case .hoursPerDay: " hours a day"
            case .hoursPerWeek: " hours a week"
            }
        }

        fileprivate var italian: String {
            switch self {
            case .kilograms: " kg"
            case .centimetres: " cm"
            case .hoursPerDay: " ore al giorno"
            case .hoursPerWeek: " ore alla settimana"
            }
        }
    }

    /// Both ends belong to the range.
    package static func outOfRange(_ least: String, _ most: String, _ kind: ValueKind = .number, in unit: Unit? = nil) -> FieldFault {
        FieldFault(
            "out-of-range", english: "must be \(kind.english) from \(least) to \(most)\(unit?.english ?? "")",
            italian: "deve essere \(kind.italian) da \(least) a \(most)\(unit?.italian ?? "")")
    }

    package static func outOfRange(_ range: ClosedRange<Int>) -> FieldFault {
        outOfRange(String(range.lowerBound), String(range.upperBound), .wholeNumber)
    }

    package static func wrongCount(_ count: ClosedRange<Int>) -> FieldFault {
        FieldFault(
            "wrong-count", english: "must have \(count.lowerBound) to \(count.upperBound) items",
            italian: "deve avere da \(count.lowerBound) a \(count.upperBound) elementi")
    }

    package static func wrongLength(_ characters: ClosedRange<Int>) -> FieldFault {
        FieldFault(
            "wrong-length", english: "must have \(characters.lowerBound) to \(characters.upperBound) characters",
            italian: "deve avere da \(characters.lowerBound) a \(characters.upperBound) caratteri")
    }

    package static func tooLong(_ characters: Int) -> FieldFault {
        FieldFault(
            "too-long", english: "must have at most \(characters) characters", italian: "deve avere al massimo \(characters) caratteri")
    }

    package static let nothingChosen = FieldFault(
        "nothing-chosen", english: "holds nothing: choose at least one", italian: "è vuoto: va scelto almeno un elemento")
    package static let namedTwice = FieldFault(
        "named-twice", english: "holds the same twice: name each once",
        italian: "contiene due volte lo stesso elemento: ognuno una volta sola")
}

// MARK: Forms of text

extension FieldFault {
    package static func notAnOption(_ options: [String]) -> FieldFault {
        let list = options.joined(separator: ", ")
        return FieldFault("not-an-option", english: "must be one of \(list)", italian: "deve essere uno di: \(list)")
    }

    package static let wrongFormat = FieldFault("wrong-format", english: "has not the right form", italian: "non ha la forma giusta")
    package static let unreadableCharacters = FieldFault(
        "unreadable-characters", english: PlainText.advice,
        italian: "contiene caratteri di controllo, o segni che invertono la direzione della scrittura: vanno tolti")
    package static let notATime = FieldFault(
        "not-a-time", english: "must be a time like 2026-01-10T00:31:00.000Z",
        italian: "deve essere data e ora, come 2026-01-10T00:31:00.000Z")
    package static let notADay = FieldFault(
        "not-a-day", english: "must be a day like 2026-01-10", italian: "deve essere una data, come 2026-01-10")
    package static let notALengthOfTime = FieldFault(
        "not-a-length-of-time", english: "must be a number of days, weeks, months or years like P7D, P2W, P3M or P1Y",
        italian: "deve essere un numero di giorni, settimane, mesi o anni, come P7D, P2W, P3M o P1Y")
    package static let notAnEmail = FieldFault(
        "not-an-email", english: "must be an e-mail address such as name@example.org",
        italian: "deve essere un indirizzo e-mail, come nome@example.org")

    package static func notATelephoneNumber(like example: String) -> FieldFault {
        FieldFault(
            "not-a-telephone-number", english: "must be a telephone number such as \(example)",
            italian: "deve essere un numero di telefono, come \(example)")
    }

    package static func notAnIdentifier(prefix: String) -> FieldFault {
        FieldFault(
            "not-an-identifier", english: "must be an id that begins with \(prefix)_",
            italian: "deve essere un identificativo che inizia con \(prefix)_")
    }

    package static func notAMetric(listedAt path: String) -> FieldFault {
        FieldFault(
            "not-a-metric", english: "must be the code of a type of data; GET \(path) lists them",
            italian: "deve essere il codice di un tipo di dati; GET \(path) li elenca")
    }
}

// MARK: Times and periods

extension FieldFault {
    package static let beforeEpoch = FieldFault(
        "before-1970", english: "must be after 1970 began", italian: "deve essere dopo l'inizio del 1970")
    package static let inThePast = FieldFault("in-the-past", english: "must lie in the future", italian: "deve essere nel futuro")
    package static let inTheFuture = FieldFault("in-the-future", english: "lies in the future", italian: "è nel futuro")

    package static func notAfter(_ start: String) -> FieldFault {
        FieldFault("not-after", english: "must be later than `\(start)`", italian: "deve essere dopo `\(start)`")
    }

    package static func before(_ start: String) -> FieldFault {
        FieldFault("before", english: "must not be before `\(start)`", italian: "non può essere prima di `\(start)`")
    }

    package static func after(_ end: String) -> FieldFault {
        FieldFault("after", english: "must not be after `\(end)`", italian: "non può essere dopo `\(end)`")
    }

    /// - Parameter other: the field of the period's other end.
    package static func periodTooLong(days: Int, from other: String) -> FieldFault {
        FieldFault(
            "period-too-long", english: "must be at most \(days) days from `\(other)`",
            italian: "può distare al massimo \(days) giorni da `\(other)`")
    }

    package static let endOrLength = FieldFault(
        "end-or-length", english: "is one of two: give either `to` or `length`", italian: "è in alternativa: va dato `to` oppure `length`")
}

// MARK: What is stored already, and what may not be changed

extension FieldFault {
    package static let taken = FieldFault(
        "taken", english: "is in use already: choose another", italian: "è già in uso: ne va scelto un altro")
    package static let registeredAlready = FieldFault("registered-already", english: "is registered already", italian: "è già registrato")
    package static let fixed = FieldFault(
        "fixed", english: "does not change after the registration: ask the support to correct it",
        italian: "non cambia dopo la registrazione: chieda all'assistenza di correggerlo")

    package static func changedElsewhere(_ operation: String) -> FieldFault {
        FieldFault("changed-elsewhere", english: "is changed by \(operation)", italian: "si cambia con \(operation)")
    }

    package static func conditionsNotAccepted(version: String, at path: String) -> FieldFault {
        FieldFault(
            "conditions-not-accepted", english: "is not accepted: read \(path) and send the version \(version)",
            italian: "non è accettato: legga \(path) e invii la versione \(version)")
    }

    package static let notConfirmed = FieldFault(
        "not-confirmed", english: "does not confirm it: send what is asked for", italian: "non dà conferma: invii ciò che è richiesto")
}
