// What a subscriber's panel refuses, and what the person is told to do.

import Contracts
import HTTPKit
import ServiceKit
import Storage

extension Problem {
    /// SOS-01.
    static func clausesNotAccepted(_ version: String) -> Problem {
        Problem(
            "clauses-not-accepted", status: 422, title: "The clauses of AutomatedSOS are not accepted",
            detail: "Nobody watches over you yet. Read them in GET /sos/v1/subscription and send their version to accept them.",
            errors: [.init(pointer: "/acceptedClauses", detail: "expected the version \(version)")])
    }

    /// SOS-02.
    static func abilityMissing(_ missing: [NeededAbility]) -> Problem {
        Problem(
            "ability-missing", status: 409, title: "Your devices cannot show an emergency",
            detail: "Nobody watches over you yet. " + missing.map(\.detail).joined(separator: " "),
            errors: missing.map { .init(pointer: "/devices/\($0.rawValue)", detail: $0.detail) })
    }

    /// SOS-03.
    static let confirmationRequired = Problem(
        "confirmation-required", status: 409, title: "Leaving AutomatedSOS must be confirmed",
        detail: "From then on no emergency is detected and nobody is called. Send it again with ?confirm=true to leave.",
        errors: [.init(pointer: "query:confirm", detail: "expected true")])

    static let notSubscribed = Problem(
        "not-subscribed", status: 409, title: "You have not joined AutomatedSOS",
        detail: "Join with PUT /sos/v1/subscription first.")

    static let emergencyRunning = Problem(
        "emergency-running", status: 409, title: "An emergency is running",
        detail: "Answer the prompt or report a false alarm first.")

    /// SOS-08.
    static func invalidBounds(_ errors: [Problem.FieldError]) -> Problem {
        Problem(
            "invalid-bounds", status: 422, title: "These thresholds are not possible",
            detail: "Nothing was changed. Correct the named thresholds; each says the allowed range.", errors: errors)
    }

    static let tooManyContacts = Problem(
        "too-many-contacts", status: 409, title: "There are enough contacts",
        detail: "At most \(EmergencyContact.most) people can be named; remove one first.")

    static let contactNamedTwice = Problem(
        "contact-named-twice", status: 409, title: "Somebody with this telephone number is a contact already",
        detail: "Change that contact instead.", errors: [.init(pointer: "/telephone", detail: "is another contact's")])

    static let invalidContacts = Problem(
        "invalid-contact-order", status: 422, title: "The order does not name every contact once",
        detail: "Send the ids of all contacts, each once, in the order in which they are to be reached.",
        errors: [.init(pointer: "/order", detail: "expected every contact's id once")])
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
            case .invalid: throw Problem.invalidBody([.init(pointer: "", detail: failure.reason)])
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

    /// - Throws: `invalid-bounds`, with a pointer to each wrong metric.
    static func bounds(_ asked: [String: Bounds], under pointer: String) throws(Problem) -> [Metric: Bounds] {
        var checked: [Metric: Bounds] = [:]
        var faults: [Problem.FieldError] = []
        for (code, bounds) in asked.sorted(by: { $0.key < $1.key }) {
            do {
                checked.merge(try OwnBounds.checked([code: bounds])) { $1 }
            } catch {
                // What somebody typed as a name is cut, so that an answer does not echo a book.
                let step = code.prefix(40).replacing("~", with: "~0").replacing("/", with: "~1")
                faults.append(.init(pointer: "\(pointer)/\(step)", detail: error.reason))
            }
        }
        guard faults.isEmpty else { throw .invalidBounds(faults) }
        return checked
    }
}
