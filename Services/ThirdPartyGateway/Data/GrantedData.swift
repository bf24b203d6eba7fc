// Reading under a grant: asks ingest, which has the last word, and says what its refusal means.

import Bus
import Contracts
import HTTPKit
import ServiceKit

/// Why nothing was handed out.
enum DataRefusal: Error, Hashable, Sendable {
    /// The grant does not allow it (any more), or consent has been silent too long; the reason is for people.
    case denied(String)
    /// What was asked cannot be read: a cursor that no page gave.
    case invalid(String)
    /// No answer from where the data are.
    case silent

    var problem: any Error {
        switch self {
        case .denied(let reason):
            Refusal(
                Problem.dataInPreparation.saying("Nothing can be handed out at the moment: \(reason)."), retryAfter: .seconds(5))
        case .invalid(let reason): Problem.invalidParameter("query:after", .noSuchPage(reason))
        case .silent:
            Refusal(
                Problem.dataInPreparation.saying(
                    "The data are being prepared. Ask again after as long as `Retry-After` says.",
                    italian: "I dati sono in preparazione. Chieda di nuovo dopo il tempo indicato da `Retry-After`."),
                retryAfter: .seconds(5))
        }
    }
}

/// One page of what a grant allows, at its granularity. Whoever asks has made sure that it is paid (INV-20); every page is recorded
/// for the person by ingest before it leaves (SHR-24).
struct GrantedData: Sendable {
    /// As `read-samples` is asked: within its deadline, or a `Failure`.
    typealias Ask = @Sendable (ReadSamples) async throws -> ReadSamples.Reply

    let ask: Ask

    init(ask: @escaping Ask) {
        self.ask = ask
    }

    /// A page may hold 10,000 values out of many chunks; the deadline is for a slow disk.
    init(on runtime: Runtime) async throws {
        let ingest = try await runtime.client(of: .ingest)
        self.init { try await ingest.ask($0, deadline: .seconds(3), attempts: 2) }
    }

    /// - Throws: `DataRefusal`.
    func page(
        grant: GrantID, organisation: OrganisationID, type: Metric, from: Timestamp, to: Timestamp, after: String?, limit: Int
    ) async throws -> ReadSamples.Reply {
        do {
            return try await ask(
                ReadSamples(grant: grant, organisation: organisation, type: type, from: from, to: to, after: after, limit: limit))
        } catch let failure as Failure {
            switch failure.code {
            case .forbidden, .notFound, .conflict: throw DataRefusal.denied(failure.reason)
            case .invalid: throw DataRefusal.invalid(failure.reason)
            case .unavailable, .deadline, .internal, .unknownMethod: throw DataRefusal.silent
            }
        }
    }
}
