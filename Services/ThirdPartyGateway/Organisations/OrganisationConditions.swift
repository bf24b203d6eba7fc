// What an organisation accepts before it is registered (ORG-05): the version, the titles and where the texts are.

import Contracts

/// A changed text is a new version; who accepted which is kept with the organisation.
enum OrganisationConditions {
    static let version = "2026-11"

    enum Kind: String, Codable, Sendable, CaseIterable {
        case terms, privacy, responsibility, jurisdiction

        /// The field of the form that accepts it.
        var field: String { "accepted" + rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
    }

    static func title(_ kind: Kind, _ language: Language) -> String {
        switch (kind, language) {
        case (.terms, .italian): "Condizioni del servizio per le organizzazioni"
        case (.terms, .english): "Terms of service for organisations"
        case (.privacy, .italian): "Informativa sui dati personali"
        case (.privacy, .english): "Privacy policy"
        case (.responsibility, .italian): "Responsabilità per la divulgazione non autorizzata"
        case (.responsibility, .english): "Responsibility for unauthorised disclosure"
        case (.jurisdiction, .italian): "Foro competente"
        case (.jurisdiction, .english): "Place of jurisdiction"
        }
    }

    static func text(_ kind: Kind, _ language: Language) -> String {
        switch (kind, language) {
        case (.terms, .italian):
            """
            TrackMe consente all'organizzazione di chiedere dati di persone. Nessun dato è consegnato se la persona non ha accettato la \
            richiesta, e soltanto nei tipi, nel periodo e nel dettaglio che ha accettato; la persona può revocare in ogni momento.

            L'importo di ogni richiesta è mostrato prima che sia inviata e si paga dopo l'accettazione. I dati si usano solo per lo scopo \
            dichiarato nella richiesta.

            L'organizzazione custodisce le password dei suoi membri e i segreti dei suoi programmi, e risponde di ciò che essi fanno.
            """
        case (.terms, .english):
            """
            TrackMe lets the organisation ask for data of people. Nothing is handed out unless the person has accepted the request, and \
            only in the types, the period and the granularity that were accepted; the person may withdraw at any time.

            The amount of each request is shown before it is sent and is paid after the acceptance. Data are used for the purpose that \
            the request states and for nothing else.

            The organisation keeps its members' passwords and its programs' secrets safe, and answers for what they do.
            """
        case (.privacy, .italian):
            """
            Di chi rappresenta l'organizzazione e di chi lavora per essa si conservano i dati inseriti, gli accessi e le operazioni, per \
            tenere il conto di chi ha visto quali dati. Le persone i cui dati sono stati letti vedono quale organizzazione li ha letti, \
            quali e quando.
            """
        case (.privacy, .english):
            """
            Of those who represent the organisation or work for it, what they enter, their log-ins and what they do is kept, so that it is \
            known who has seen which data. The people whose data were read can see which organisation read what, and when.
            """
        case (.responsibility, .italian):
            """
            L'organizzazione è titolare dei dati ricevuti: li protegge, non li passa ad altri e risponde di ogni divulgazione non \
            autorizzata.
            """
        case (.responsibility, .english):
            """
            The organisation is responsible for the data it has received: it keeps them secure, does not pass them on, and answers for any \
            unauthorised disclosure.
            """
        case (.jurisdiction, .italian): "Per ogni controversia è competente il foro di Milano."
        case (.jurisdiction, .english): "The place of jurisdiction for all disputes is Milan."
        }
    }
}
