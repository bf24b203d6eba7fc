// Sends requests to the services, as the bus peer `trackme`. Every command that concerns a service comes through here.

import Bus
import Contracts
import Foundation
import Logging
import ServiceKit

/// One command's place on the bus; closed when the command ends.
actor SuiteConnection {
    private let runtime: Runtime
    private var clients: [Peer: BusClient] = [:]

    /// A request of an operator may wait longer than one between services.
    static let deadline = Duration.seconds(2)
    private static let attempts = 3

    private init(_ runtime: Runtime) {
        self.runtime = runtime
    }

    /// Gives `body` a connection to the suite of these folders.
    static func with<Value: Sendable>(
        _ layout: SuiteLayout, _ body: (SuiteConnection) async throws -> Value
    ) async throws -> Value {
        let settings = try layout.settings()
        guard FileManager.default.fileExists(atPath: layout.keys.publicFile(of: .ingest).path) else {
            throw OperatorError(
                .configuration, "there are no keys of a suite in \(layout.keysFolder.path)",
                mend: "start one with `trackme up`, or name its folder with --data")
        }
        let runtime: Runtime
        do {
            runtime = try Runtime(peer: .trackme, settings: settings, logger: Logger(label: "trackme") { _ in SwiftLogNoOpLogHandler() })
        } catch {
            throw OperatorError(.configuration, "\(error)", mend: "see `trackme doctor`")
        }
        let connection = SuiteConnection(runtime)
        do {
            let value = try await body(connection)
            await runtime.bus.shutdown()
            return value
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
    }

    /// - Parameter deadline: of each attempt; a request that takes long by nature has a longer one.
    func ask<Request: BusRequest>(
        _ request: Request, deadline: Duration = SuiteConnection.deadline
    ) async throws(OperatorError) -> Request.Reply {
        do {
            return try await ask(request, at: Request.owner, deadline: deadline)
        } catch {
            // Whoever stands in for a service that does not answer knows the same.
            guard error.status == .unavailable, let deputy = Request.owner.deputy,
                let reply = try? await ask(request, at: deputy, deadline: deadline)
            else { throw error }
            return reply
        }
    }

    /// As `ask`, of one of those who answer it.
    func ask<Request: BusRequest>(
        _ request: Request, at peer: Peer, deadline: Duration = SuiteConnection.deadline
    ) async throws(OperatorError) -> Request.Reply {
        let client = try await client(of: peer)
        do {
            return try await client.ask(request, deadline: deadline, attempts: SuiteConnection.attempts)
        } catch {
            throw SuiteConnection.explained(error, peer)
        }
    }

    /// Lets the log of `publisher` forget a consumer.
    func forget(_ request: ForgetConsumer, at publisher: Peer) async throws(OperatorError) -> ForgetConsumer.Reply {
        let client = try await client(of: publisher)
        do {
            return try await client.forget(request)
        } catch {
            throw SuiteConnection.explained(error, publisher)
        }
    }

    /// What a service has still to do, a page of it.
    func jobs(_ request: ListJobs, at peer: Peer) async throws(OperatorError) -> ListJobs.Reply {
        try await ask(ListJobs.method, request, at: peer)
    }

    /// Lets a service try again what it gave up.
    func resend(_ request: ResendJobs, at peer: Peer) async throws(OperatorError) -> ResendJobs.Reply {
        try await ask(ResendJobs.method, request, at: peer)
    }

    /// A request that every service answers for itself.
    private func ask<Reply: Decodable>(_ method: String, _ request: some Encodable, at peer: Peer) async throws(OperatorError) -> Reply {
        let client = try await client(of: peer)
        do throws(Failure) {
            guard let body = try? Methods.encode(request) else { throw Failure(.invalid, "the request cannot be written as JSON") }
            let answer = try await client.ask(
                method: method, body: body, deadline: SuiteConnection.deadline, attempts: SuiteConnection.attempts)
            return try Methods.decode(Reply.self, answer)
        } catch {
            throw SuiteConnection.explained(error, peer)
        }
    }

    private func client(of peer: Peer) async throws(OperatorError) -> BusClient {
        if let client = clients[peer] { return client }
        do {
            let client = try await runtime.client(of: peer)
            clients[peer] = client
            return client
        } catch {
            throw OperatorError(.configuration, "\(error)", mend: "see `trackme doctor`")
        }
    }

    private static func explained(_ failure: Failure, _ peer: Peer) -> OperatorError {
        switch failure.code {
        case .deadline, .unavailable:
            OperatorError(
                .unavailable, "\(peer) does not answer (\(failure.reason))",
                mend: "start the suite with `trackme up`, or see what `trackme doctor` says")
        case .forbidden, .unknownMethod:
            OperatorError(
                .configuration, "\(peer) refuses this request (\(failure.reason))",
                mend: "trackme and \(peer) must be of one version and share one keys folder; see `trackme keys list`")
        case .invalid, .notFound, .conflict:
            OperatorError(.failed, "\(peer): \(failure.reason)", mend: "correct the command; --help shows an example")
        case .internal:
            OperatorError(.failed, "\(peer) failed: \(failure.reason)", mend: "its log says more")
        }
    }
}
