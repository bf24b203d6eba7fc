// The door on the bus for operators' work with integrators, and for integrators' own words.

import Bus
import Contracts
import ServiceKit

struct IntegratorsBusRoutes: Sendable {
    /// Characters of a name or a reason that an operator gives.
    static let longestWords = 200

    let integrators: IntegratorsService
    let registry: IntegratorRegistry
    let dispatcher: Dispatcher
    let answers: StoredAnswers

    func register(in methods: inout Methods) {
        methods.on(AddIntegrator.self) { try await integrators.add($0, $1) }
        methods.on(ListIntegrators.self) { _, _ in integrators.list() }
        methods.on(RemoveIntegrator.self) { try await integrators.remove($0, $1) }
        methods.on(RotateIntegrator.self) { try await integrators.rotate($0, $1) }
        methods.on(ScheduleDrill.self) { try await integrators.schedule($0, $1) }
        methods.on(AcknowledgeDispatch.self, acknowledge)
        methods.on(AcknowledgeByCode.self) { request, _ in
            AcknowledgeByCode.Reply(result: try await dispatcher.receive(text: request.text, from: request.number)?.rawValue)
        }
        methods.on(AcknowledgeByHand.self, acknowledgeByHand)
    }

    private func acknowledge(_ request: AcknowledgeDispatch, _ context: RequestContext) async throws -> Nothing {
        guard let integrator = registry.integrator(of: context.peer) else {
            throw Failure(.forbidden, "no integrator is registered with the peer \(context.peer)")
        }
        guard let result = Acknowledgement.Result(rawValue: request.result) else {
            throw Failure(.invalid, "the result is \(Acknowledgement.Result.inWords)")
        }
        let acknowledgement = Acknowledgement(
            messageId: request.messageId, result: result, ackId: request.ackId, reason: request.reason)
        if let faults = acknowledgement.faultsInWords { throw Failure(.invalid, faults) }
        switch try await dispatcher.receive(acknowledgement, from: integrator, form: "bus") {
        case .taken: return Nothing()
        case .unknownMessage: throw Failure(.notFound, "no such message was sent to \(integrator.name)")
        }
    }

    private func acknowledgeByHand(_ request: AcknowledgeByHand, _ context: RequestContext) async throws -> Nothing {
        let words = [request.by, request.second, request.reason].map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        guard words.allSatisfy({ (1...Self.longestWords).contains($0.count) }) else {
            throw Failure(.invalid, "both names and the reason have 1 to 200 characters")
        }
        guard words[0].lowercased() != words[1].lowercased() else { throw Failure(.invalid, "the second person is another one") }
        let order = AcknowledgeByHand(emergency: request.emergency, by: words[0], second: words[1], reason: words[2])
        try await dispatcher.acknowledgeByHand(order, further: answers.remembering(Nothing(), to: context))
        return Nothing()
    }
}
