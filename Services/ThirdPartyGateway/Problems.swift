// Everything that the gateway can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

extension Problem {
    static let paymentOutstanding = Problem(
        "payment-outstanding", status: 402, title: "The amount due has not been paid",
        italianTitle: "L'importo dovuto non è stato pagato")
    static let paymentDeclined = Problem(
        "payment-declined", status: 402, title: "The payment was declined", italianTitle: "Il pagamento è stato rifiutato")
    static let paymentNotDue = Problem(
        "payment-not-due", status: 409, title: "There is nothing to be paid yet", italianTitle: "Non c'è ancora nulla da pagare")
    static let paymentOver = Problem(
        "payment-over", status: 409, title: "There is nothing to be paid any more", italianTitle: "Non c'è più nulla da pagare")
    static let paymentUnderWay = Problem(
        "payment-under-way", status: 409, title: "Another way of paying is under way",
        italianTitle: "È in corso un altro modo di pagare")
    static let paymentMethodUnavailable = Problem(
        "payment-method-unavailable", status: 409, title: "This way of paying is not offered",
        italianTitle: "Questo modo di pagare non è offerto")
    static let paymentHandlerUnreachable = Problem(
        "payment-handler-unreachable", status: 503, title: "The payment handler does not answer",
        italianTitle: "Il gestore dei pagamenti non risponde")
    static let priceChanged = Problem(
        "price-changed", status: 409, title: "The prices have changed", italianTitle: "I prezzi sono cambiati")
    static let signatureRefused = Problem(
        "signature-refused", status: 400, title: "The notification is not signed as agreed",
        italianTitle: "La notifica non è firmata come convenuto")
    static let organisationNotConfirmed = Problem(
        "organisation-not-confirmed", status: 403, title: "The registration is not complete",
        italianTitle: "La registrazione non è completa")
    static let organisationNotApproved = Problem(
        "organisation-not-approved", status: 403, title: "The registration is being looked at",
        italianTitle: "La registrazione è in esame")
    static let organisationSuspended = Problem(
        "organisation-suspended", status: 403, title: "The organisation is suspended", italianTitle: "L'organizzazione è sospesa")
    static let heldAfterRestore = Problem(
        "held-after-restore", status: 503, title: "The operator looks first at what a restore has changed",
        italianTitle: "Il gestore verifica prima che cosa ha cambiato un ripristino")
    static let missingRight = Problem(
        "missing-right", status: 403, title: "The caller has not the right for that",
        italianTitle: "Chi chiede non ne ha il diritto")
    static let rightsBeyondOwn = Problem(
        "rights-beyond-own", status: 403, title: "Nobody gives rights that they have not",
        italianTitle: "Nessuno dà diritti che non ha")
    static let invalidOrganisation = Problem(
        "invalid-organisation", status: 422, title: "The form is not complete and right",
        italianTitle: "Il modulo non è completo o corretto")
    static let conditionsNotAccepted = Problem(
        "conditions-not-accepted", status: 422, title: "The conditions are not accepted",
        italianTitle: "Le condizioni non sono accettate")
    static let fixedField = Problem(
        "fixed-field", status: 422, title: "The field does not change here", italianTitle: "Il campo non si cambia qui")
    static let emailInUse = Problem("email-in-use", status: 409, title: "E-mail in use", italianTitle: "Indirizzo e-mail già in uso")
    static let businessNameInUse = Problem(
        "business-name-in-use", status: 409, title: "Business name in use", italianTitle: "Ragione sociale già in uso")
    static let vatNumberInUse = Problem(
        "vat-number-in-use", status: 409, title: "VAT number already registered", italianTitle: "Partita IVA già registrata")
    static let linkNotValid = Problem(
        "link-not-valid", status: 404, title: "The link does not hold any more", italianTitle: "Il collegamento non vale più")
    static let notConfirmed = Problem(
        "closing-not-confirmed", status: 422, title: "The deletion is not confirmed",
        italianTitle: "L'eliminazione non è confermata")
    static let memberStays = Problem(
        "member-stays", status: 409, title: "This member cannot be removed or changed",
        italianTitle: "Questo membro non si può togliere o cambiare")
    static let tooManyClients = Problem(
        "too-many-clients", status: 409, title: "There are as many API clients as an organisation may have",
        italianTitle: "I client API sono già quanti un'organizzazione può averne")
    static let tooManyMembers = Problem(
        "too-many-members", status: 409, title: "There are as many members as an organisation may have",
        italianTitle: "I membri sono già quanti un'organizzazione può averne")
    static let openRequestCovers = Problem(
        "open-request-covers-this", status: 409, title: "An open request already covers this",
        italianTitle: "Una richiesta aperta lo comprende già")
    static let noSuchPerson = Problem("no-such-person", status: 422, title: "No such person", italianTitle: "Persona inesistente")
    static let tooManyUnknownCodes = Problem(
        "too-many-unknown-codes", status: 429, title: "Too many unknown fiscal codes were asked for today",
        italianTitle: "Oggi sono stati chiesti troppi codici fiscali sconosciuti")
    static let requestRefused = Problem(
        "request-refused", status: 409, title: "This cannot be asked now", italianTitle: "Ora non si può chiedere")
    static let requestNotApproved = Problem(
        "request-not-approved", status: 409, title: "The request is not approved", italianTitle: "La richiesta non è approvata")
    static let notEntitled = Problem(
        "not-entitled", status: 403, title: "The organisation may not have this", italianTitle: "L'organizzazione non può averlo")
    static let dataInPreparation = Problem(
        "data-in-preparation", status: 503, title: "The data are in preparation", italianTitle: "I dati sono in preparazione")
    static let fileNotReady = Problem("file-not-ready", status: 409, title: "The file is not ready", italianTitle: "Il file non è pronto")
    static let tooManyFiles = Problem(
        "too-many-files", status: 429, title: "Too many files were asked for", italianTitle: "Sono stati chiesti troppi file")
    static let subscriptionOver = Problem(
        "subscription-over", status: 410, title: "The subscription is over", italianTitle: "L'abbonamento è finito")
    static let consentNotHeard = Problem(
        "consent-not-heard", status: 503, title: "Nothing can be handed out at the moment",
        italianTitle: "Al momento non si può consegnare nulla")
    static let itemsReleased = Problem(
        "items-released", status: 410, title: "These items are not kept any more",
        italianTitle: "Questi elementi non sono più conservati")
    static let cursorAhead = Problem(
        "cursor-ahead", status: 400, title: "No item has had that number", italianTitle: "Nessun elemento ha avuto quel numero")
    static let tooManyStreams = Problem(
        "too-many-streams", status: 429, title: "Too many event streams are open",
        italianTitle: "Troppi flussi di eventi sono aperti")
    static let invalidEndpoint = Problem(
        "invalid-endpoint", status: 422, title: "The address cannot be registered",
        italianTitle: "L'indirizzo non si può registrare")
    static let tooManyEndpoints = Problem(
        "too-many-endpoints", status: 409, title: "There are as many endpoints as an organisation may have",
        italianTitle: "Gli indirizzi sono già quanti un'organizzazione può averne")
    static let endpointNotVerified = Problem(
        "endpoint-not-verified", status: 422, title: "The endpoint did not pass verification",
        italianTitle: "L'indirizzo non ha superato la verifica")
    static let groupNotAnonymisable = Problem(
        "group-not-anonymisable", status: 422, title: "The group cannot be anonymised",
        italianTitle: "Il gruppo non può essere anonimizzato",
        detail:
            """
            The group cannot be properly anonymised. Use less restrictive parameters (wider age or weight interval, larger area, longer \
            period, fewer data types).
            """,
        italianDetail:
            """
            Il gruppo non può essere reso davvero anonimo. Usi parametri meno restrittivi (intervallo di età o di peso più ampio, area \
            più grande, periodo più lungo, meno tipi di dati).
            """)
    static let statisticsOnly = Problem(
        "statistics-only", status: 403, title: "The organisation may receive statistics of groups alone",
        italianTitle: "L'organizzazione può ricevere solo statistiche dei gruppi",
        detail:
            """
            Records of groups are not handed out to your organisation, nor are those that were released before. Ask for the product \
            `statistics`, or the operator why: GET /thirdparty/v1/support says where.
            """,
        italianDetail:
            """
            I record dei gruppi non sono consegnati alla sua organizzazione, nemmeno quelli già rilasciati. Chieda il prodotto \
            `statistics`, o il motivo al gestore: GET /thirdparty/v1/support dice dove.
            """)
    static let groupReleaseLost = Problem(
        "group-release-lost", status: 410, title: "What was released is not kept any more",
        italianTitle: "Quanto era stato rilasciato non è più conservato",
        detail:
            """
            The operator has put back a copy from before this was released. Nothing is owed for it; what you paid comes back by itself \
            unless you have fetched some of it: then ask for the money back (GET /thirdparty/v1/support says where). Of days up to that restore nothing more is released: ask about later ones.
            """,
        italianDetail:
            """
            Il gestore ha ripristinato una copia precedente al rilascio. Non è dovuto nulla; quanto ha pagato le viene restituito, a meno \
            che non ne abbia già scaricato una parte: in tal caso chieda il rimborso (GET /thirdparty/v1/support dice dove). Dei giorni fino a quel ripristino non si rilascia altro: chieda di giorni successivi.
            """)
    static let groupAnswerAwaited = Problem(
        "group-answer-awaited", status: 503, title: "The answer is not there yet", italianTitle: "La risposta non c'è ancora")
    static let groupNotReleased = Problem(
        "group-not-released", status: 409, title: "Nothing was released for this request",
        italianTitle: "Per questa richiesta non è stato rilasciato nulla")
    static let endpointNotActive = Problem(
        "endpoint-not-active", status: 409, title: "The endpoint is not active", italianTitle: "L'indirizzo non è attivo")
}

extension Problem {
    /// With what helps against this reason. No number and nothing of what was asked: the same bytes for everything that is refused for it.
    static func groupRefused(for reason: GroupRefusal) -> Problem {
        switch reason {
        case .tooFewIndividuals: groupNotAnonymisable
        case .tooSimilar:
            groupNotAnonymisable.saying(
                """
                Too few people tell this group from one that your organisation has asked for before, released or refused: the two together \
                would describe those few. A request that was released to you is given again; a new one has to be wider or narrower by many \
                more people. Of subscriptions that are alike one at a time runs, and a period needs a whole window that is yet to come.
                """,
                italian:
                    """
                    Troppo poche persone distinguono questo gruppo da uno già chiesto dalla sua organizzazione, rilasciato o rifiutato: \
                    insieme descriverebbero quelle poche. Una richiesta già rilasciata riottiene gli stessi dati; una nuova deve essere più \
                    ampia o più stretta di molte più persone. Di abbonamenti uguali ne è attivo uno alla volta, e il periodo deve contenere \
                    una finestra intera ancora da venire.
                    """)
        case .budgetExhausted:
            groupNotAnonymisable.saying(
                """
                Either nothing more is released to your organisation of a day of this period, or it has asked about as many different \
                groups as it may. Choose other days, or a group that was released to you; what you have had is given again.
                """,
                italian:
                    """
                    O di un giorno di questo periodo non si rilascia altro alla sua organizzazione, o essa ha già chiesto di tanti gruppi \
                    diversi quanti ne può chiedere. Scelga altri giorni, o un gruppo già rilasciato; quanto ha già avuto è dato di nuovo.
                    """)
        }
    }

    /// - Parameter head: the last number that was given.
    static func cursorAhead(of head: Int64) -> Problem {
        cursorAhead.saying(
            "The last number given here is \(head). Go on after the last number of this subscription that you have stored.",
            italian: "L'ultimo numero dato qui è \(head). Prosegua dopo l'ultimo numero di questo abbonamento che ha conservato.")
    }

    /// Nothing of this id that is the caller's. Whether it is somebody else's is not told.
    static let absent: Problem = {
        var problem = Problem.notFound
        problem.detail = "Your organisation has nothing of this id. Check it; the lists name what there is."
        return problem
    }()
    /// Likewise, of subscriptions, which have the id of their request.
    static let noSubscription: Problem = {
        var problem = Problem.notFound
        problem.detail =
            """
            Your organisation has no subscription of this id. One begins when its request, whose period ends after now, is accepted \
            and paid.
            """
        return problem
    }()
    /// Likewise, of subscriptions to groups.
    static let noGroupSubscription: Problem = {
        var problem = Problem.notFound
        problem.detail =
            """
            Your organisation has no subscription to a group of this id. An accepted group request is one where its period ended after it \
            was sent; look at the request.
            """
        return problem
    }()
}
