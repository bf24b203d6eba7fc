// What a subscriber's panel refuses, and what the person is told to do.

import Contracts
import HTTPKit
import ServiceKit
import Storage

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

    /// SOS-08.
    static func invalidBounds(_ errors: [Problem.FieldError]) -> Problem {
        Problem(
            "invalid-bounds", status: 422, title: "These thresholds are not possible", italianTitle: "Queste soglie non sono possibili",
            detail: "Nothing was changed. Correct the named thresholds; each says the allowed range.",
            italianDetail: "Nulla è stato cambiato. Corregga le soglie indicate; ognuna dice l'intervallo ammesso.", errors: errors)
    }

    static let tooManyContacts = Problem(
        "too-many-contacts", status: 409, title: "There are enough contacts", italianTitle: "I contatti sono già abbastanza",
        detail: "At most \(EmergencyContact.most) people can be named; remove one first.",
        italianDetail: "Si possono indicare al massimo \(EmergencyContact.most) persone; prima ne tolga una.")

    static let contactNamedTwice = Problem(
        "contact-named-twice", status: 409, title: "Somebody with this telephone number is a contact already",
        italianTitle: "Una persona con questo numero di telefono è già un contatto",
        detail: "Change that contact instead.", italianDetail: "Modifichi invece quel contatto.",
        errors: [.init(pointer: "/telephone", .anotherContact)])

    static let invalidContacts = Problem(
        "invalid-contact-order", status: 422, title: "The order does not name every contact once",
        italianTitle: "L'ordine non indica ogni contatto una volta",
        detail: "Send the ids of all contacts, each once, in the order in which they are to be reached.",
        italianDetail: "Invii gli id di tutti i contatti, ognuno una volta, nell'ordine in cui vanno raggiunti.",
        errors: [.init(pointer: "/order", .contactsIncomplete)])
}

/// Translates what the service says for whoever asked over HTTP.
enum PanelDoor {
    static func answering<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let failure as Failure {
            switch failure.code {
            case .notFound: throw Problem.notSubscribed
            case .conflict: throw Problem.emergencyRunning
            case .unavailable, .deadline, .unknownMethod, .internal, .forbidden:
                throw Refusal(.unavailable, retryAfter: .seconds(2))
            case .invalid: throw Problem.invalidBody([.init(pointer: "", .refused(failure.reason))])
            }
        } catch let fault as ContactList.Fault {
            switch fault {
            case .full: throw Problem.tooManyContacts
            case .twice: throw Problem.contactNamedTwice
            case .unknown: throw Problem.notFound
            case .notTheSame: throw Problem.invalidContacts
            }
        } catch is StoreError {
            throw Refusal(.unavailable, retryAfter: .seconds(2))
        }
    }

    /// Whether it is needed is seen in one step with the change: nothing can change in between.
    static func freshProof(_ exchange: Exchange) async -> Panel.FreshProof {
        do {
            return .success(try await exchange.requireFreshProof())
        } catch {
            return .failure(error)
        }
    }

    static let unproved = Panel.FreshProof.failure(Problem.insufficientUserAuthentication)

    /// Of a route that asks for a fresh proof only where something is lost.
    static let mayAskForProof = Answer.problem(401, Problem.insufficientUserAuthentication.name)

    /// - Throws: `invalid-bounds`, with a pointer to each wrong metric.
    static func bounds(_ asked: [String: Bounds], under pointer: String) throws(Problem) -> [Metric: Bounds] {
        var checked: [Metric: Bounds] = [:]
        var faults: [Problem.FieldError] = []
        for (code, bounds) in asked.sorted(by: { $0.key < $1.key }) {
            if let fault = OwnBounds.fault(of: bounds, for: code) {
                // What somebody typed as a name is cut, so that an answer does not echo a book.
                let step = code.prefix(40).replacing("~", with: "~0").replacing("/", with: "~1")
                faults.append(.init(pointer: "\(pointer)/\(step)", fault))
            } else if let metric = Metric(code: code), bounds.low != nil || bounds.high != nil {
                checked[metric] = bounds
            }
        }
        guard faults.isEmpty else { throw .invalidBounds(faults) }
        return checked
    }
}
