// What all routes of ingest read from an exchange, and how errors below them become problems.

import Contracts
import HTTPKit
import ServiceKit

enum IngestDoor {
    static func device(_ exchange: Exchange) throws(Problem) -> KnownDevice {
        guard let device = exchange.caller.context as? KnownDevice else { throw .unauthorised }
        return device
    }

    /// ING-10: names why nothing of the device's person is recorded at all.
    static func requireAcquisition(_ device: KnownDevice) throws(Problem) {
        if let bar = device.bar { throw bar.problem }
    }

    static func answering(_ work: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        do {
            return try await work()
        } catch {
            throw refusal(of: error)
        }
    }

    /// A key is gone for the moment in which a person's data are erased while the account goes on; of an erased account there are no tokens.
    static func refusal(of error: any Error) -> any Error {
        error is KeyDestroyed ? Refusal(.unavailable, retryAfter: .seconds(1)) : error
    }
}
