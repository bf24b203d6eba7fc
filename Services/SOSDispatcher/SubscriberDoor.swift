// What all doors of a subscriber share: how refusals below them become problems, and whether a proof is fresh.

import Contracts
import HTTPKit
import ServiceKit
import Storage

/// Translates what the service says for whoever asked over HTTP.
enum SubscriberDoor {
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
    static func freshProof(_ exchange: Exchange) async -> ProtectionChanges.FreshProof {
        do {
            return .success(try await exchange.requireFreshProof())
        } catch {
            return .failure(error)
        }
    }

    static let unproved = ProtectionChanges.FreshProof.failure(Problem.insufficientUserAuthentication)

    /// Of a route that asks for a fresh proof only where something is lost.
    static let mayAskForProof = Answer.problem(401, Problem.insufficientUserAuthentication.name)
}
