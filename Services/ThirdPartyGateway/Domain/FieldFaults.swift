// What only the gateway finds wrong with a field, in the languages of its readers.

import Contracts

extension FieldFault {
    // MARK: Organisations

    static let notAWebsite = FieldFault(
        "not-a-website", english: "must be an address that begins with https:// or http://",
        italian: "deve essere un indirizzo che inizia con https:// o http://")
    static let notAPostalCode = FieldFault(
        "not-a-postal-code", english: "must have 2 to 12 letters, digits, spaces and hyphens",
        italian: "deve avere da 2 a 12 lettere, cifre, spazi e trattini")
    static let notACountry = FieldFault(
        "not-a-country", english: "must be two letters such as IT (ISO 3166-1)", italian: "deve essere di due lettere, come IT (ISO 3166-1)"
    )
    static let notTheBusinessName = FieldFault(
        "not-the-business-name", english: "is not the business name", italian: "non è la ragione sociale")

    // MARK: Requests

    static let notAPersonIdentifier = FieldFault(
        "not-a-person-identifier", english: "is no fiscal code, and no identifier of another country: check it",
        italian: "non è un codice fiscale, né un identificativo di un altro paese: va controllato")
    static let noSuchPerson = FieldFault("no-such-person", english: "no such person", italian: "è di nessuna persona registrata")
    static let purposeMissing = FieldFault(
        "purpose-missing", english: "must say what the data are for; the person reads it",
        italian: "deve dire a che cosa servono i dati; la persona lo legge")
    static let tooFarAhead = FieldFault(
        "too-far-ahead", english: "must lie within ten years from now", italian: "deve essere entro dieci anni da adesso")

    static func otherPriceList(_ current: Int) -> FieldFault {
        FieldFault(
            "other-price-list", english: "is not the list in force, which is \(current)",
            italian: "non è il listino in vigore, che è \(current)")
    }

    // MARK: Lists of people

    static func headerIncomplete(_ columns: [String]) -> FieldFault {
        let list = columns.joined(separator: ", ")
        return FieldFault(
            "header-incomplete", english: "the header must name \(list), each once",
            italian: "l'intestazione deve indicare \(list), ognuno una volta")
    }

    static func otherFieldCount(_ found: Int, of columns: Int) -> FieldFault {
        FieldFault(
            "other-field-count", english: "has \(found) fields; the header has \(columns)",
            italian: "ha \(found) campi; l'intestazione ne ha \(columns)")
    }

    static let requestTwice = FieldFault(
        "request-twice", english: "is the same request as one further up", italian: "è la stessa richiesta di una più in alto")

    /// What the reader of tables says; programs write tables.
    static func notCSV(_ reason: String) -> FieldFault {
        FieldFault("not-csv", english: reason, italian: "non è CSV che si possa leggere: \(reason)")
    }

    // MARK: What was granted

    static let notShared = FieldFault(
        "not-shared", english: "must be one of the request's `sharedTypes`", italian: "deve essere uno dei `sharedTypes` della richiesta")
    static let outsidePeriod = FieldFault(
        "outside-period", english: "must lie within the request's period, or, of a group, between 1970 and 2200",
        italian: "deve essere nel periodo della richiesta o, per un gruppo, tra il 1970 e il 2200")
    static let outsidePeriodOrReversed = FieldFault(
        "outside-period-or-reversed", english: "must lie within the request's period, and after `from`",
        italian: "deve essere nel periodo della richiesta, e dopo `from`")
    static let notAnItemNumber = FieldFault(
        "not-an-item-number", english: "must be the number of an item", italian: "deve essere il numero di un elemento")
    static let notAMonth = FieldFault("not-a-month", english: "must be a month like 2026-01", italian: "deve essere un mese, come 2026-01")

    static func noSuchPage(_ reason: String) -> FieldFault {
        FieldFault("no-such-page", english: reason, italian: "deve essere il `next` della pagina precedente")
    }

    // MARK: Groups

    static let notInCatalogue = FieldFault(
        "not-in-catalogue", english: "is not in the catalogue: GET /thirdparty/v1/group-catalogue and /places under it list what is",
        italian: "non è nel catalogo: GET /thirdparty/v1/group-catalogue e /places al suo interno elencano che cosa c'è")
    static let reversedInterval = FieldFault(
        "reversed", english: "ends before it begins: `from` must not be above `to`",
        italian: "finisce prima di iniziare: `from` non può superare `to`")
    static let nothingClosed = FieldFault(
        "nothing-closed", english: "must be later, or `from` earlier: no day of the period is closed yet",
        italian: "deve essere dopo, o `from` prima: nessun giorno del periodo è già chiuso")
    static let notOffered = FieldFault(
        "not-offered", english: "is not offered together with the other choices",
        italian: "non è offerto insieme alle altre scelte")
    static let closedDaysOnly = FieldFault(
        "closed-days-only",
        english:
            """
            chooses by whole days that are over: leave it out of a subscription, or ask for each day by a request of its own, once \
            `closedThrough` of the catalogue has reached its end
            """,
        italian:
            """
            sceglie per giorni interi già finiti: lo ometta da un abbonamento, o chieda ogni giorno con una richiesta a sé, quando \
            `closedThrough` del catalogo ne ha raggiunto la fine
            """)

    static func notAMultiple(of step: Int, _ below: Int, _ above: Int) -> FieldFault {
        FieldFault(
            "not-a-multiple", english: "must be a multiple of \(step): \(below) or \(above)",
            italian: "deve essere un multiplo di \(step): \(below) o \(above)")
    }

    static func atLeast(_ least: Int) -> FieldFault {
        FieldFault("at-least", english: "must be at least \(least)", italian: "deve essere almeno \(least)")
    }

    static func atMost(_ most: Int) -> FieldFault {
        FieldFault("at-most", english: "must be at most \(most)", italian: "deve essere al massimo \(most)")
    }

    // MARK: Payments

    static let methodNotOffered = FieldFault("method-not-offered", english: "is not offered here", italian: "qui non è offerto")
    static let unknownPaymentMethod = FieldFault(
        "unknown-payment-method", english: "is unknown to the payment handler: make a new one there. Nothing was charged",
        italian: "non è noto al gestore dei pagamenti: ne crei uno nuovo lì. Nulla è stato addebitato")
}

extension WebhookAddress.Fault {
    var fieldFault: FieldFault {
        switch self {
        case .form:
            FieldFault(
                "url-not-absolute", english: "is not an absolute address of at most 2000 characters without spaces",
                italian: "non è un indirizzo assoluto di al massimo 2000 caratteri senza spazi")
        case .scheme: FieldFault("url-not-https", english: "must begin with https://", italian: "deve iniziare con https://")
        case .plainToPublic:
            FieldFault(
                "url-plain-to-public", english: "must begin with https://; http:// is for this machine and private networks alone",
                italian: "deve iniziare con https://; http:// è solo per questa macchina e per reti private")
        case .credentials:
            FieldFault(
                "url-with-credentials", english: "must not hold a user name or password; messages are signed instead",
                italian: "non può contenere nome utente o password; i messaggi sono invece firmati")
        case .fragment:
            FieldFault("url-with-fragment", english: "must not have a fragment (#…)", italian: "non può avere un frammento (#…)")
        case .port:
            FieldFault(
                "url-port-not-possible", english: "must have a port from 1 to 65535, or none",
                italian: "deve avere una porta da 1 a 65535, o nessuna")
        case .privateName:
            FieldFault(
                "url-private", english: "leads to a private network; it must be reachable from the Internet",
                italian: "porta a una rete privata; deve essere raggiungibile da Internet")
        }
    }
}
