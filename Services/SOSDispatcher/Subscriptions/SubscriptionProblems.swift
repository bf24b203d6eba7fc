// How a subscription is refused, and what the person is told to do.

import Contracts

/// Whether anybody watches over the person who asks to join, as a refusal begins: it changes nothing of it.
enum StandingWatch: Sendable {
    case nobody, paused, goesOn

    /// - Parameter state: nil for whom nothing is known of.
    init(_ state: Supervision.State?) {
        guard let state, state.subscribed else {
            self = .nobody
            return
        }
        self = state.stage == .paused || state.monitoringPaused == true ? .paused : .goesOn
    }

    var english: String {
        switch self {
        case .nobody: "Nobody watches over you yet."
        case .paused: "You have joined, and AutomatedSOS stays paused: nothing was changed."
        case .goesOn: "You have joined, and AutomatedSOS goes on as before: nothing was changed."
        }
    }

    var italian: String {
        switch self {
        case .nobody: "Nessuno veglia ancora su di lei."
        case .paused: "Lei ha già aderito e AutomatedSOS resta in pausa: nulla è stato cambiato."
        case .goesOn: "Lei ha già aderito e AutomatedSOS prosegue come prima: nulla è stato cambiato."
        }
    }
}

extension Problem {
    /// SOS-01.
    static func clausesNotAccepted(_ version: String, while watch: StandingWatch) -> Problem {
        Problem(
            "clauses-not-accepted", status: 422, title: "The clauses of AutomatedSOS are not accepted",
            italianTitle: "Le clausole di AutomatedSOS non sono accettate",
            detail: watch.english + " Read them in GET /sos/v1/subscription and send their version to accept them.",
            italianDetail: watch.italian + " Le legga in GET /sos/v1/subscription e ne invii la versione per accettarle.",
            errors: [.init(pointer: "/acceptedClauses", .sosClausesNotAccepted(version: version))])
    }

    /// SOS-02.
    static func abilityMissing(_ missing: [NeededAbility], while watch: StandingWatch) -> Problem {
        Problem(
            "ability-missing", status: 409, title: "Your devices cannot show an emergency",
            italianTitle: "I suoi dispositivi non possono mostrare un'emergenza",
            detail: ([watch.english] + missing.map(\.detail)).joined(separator: " "),
            italianDetail: ([watch.italian] + missing.map(\.fieldFault.italian)).joined(separator: " "),
            errors: missing.map { .init(pointer: "/devices/\($0.rawValue)", $0.fieldFault) })
    }

    /// SOS-03.
    static let confirmationRequired = Problem(
        "confirmation-required", status: 409, title: "Leaving AutomatedSOS must be confirmed",
        italianTitle: "L'uscita da AutomatedSOS va confermata",
        detail: "From then on no emergency is detected and nobody is called. Send it again with ?confirm=true to leave.",
        italianDetail:
            "Da quel momento non si rileva alcuna emergenza e nessuno viene chiamato. Invii di nuovo con ?confirm=true per uscire.",
        errors: [.init(pointer: "query:confirm", .notConfirmed)])

    static let notSubscribed = Problem(
        "not-subscribed", status: 409, title: "You have not joined AutomatedSOS", italianTitle: "Lei non ha aderito ad AutomatedSOS",
        detail: "Join with PUT /sos/v1/subscription first.", italianDetail: "Prima aderisca con PUT /sos/v1/subscription.")

    static let emergencyRunning = Problem(
        "emergency-running", status: 409, title: "An emergency is running", italianTitle: "È in corso un'emergenza",
        detail: "Answer the prompt or report a false alarm first.", italianDetail: "Prima risponda alla domanda o segnali un falso allarme."
    )
}
