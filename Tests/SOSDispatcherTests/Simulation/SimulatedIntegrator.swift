// The played emergency services: three addresses of two integrators, with ledgers of their own and manners that the plan changes.

import Contracts
import Foundation
import Sealing
import ServiceKit

@testable import Outbound
@testable import SOSDispatcher

enum SimulatedAddress: Int, CaseIterable {
    case alphaFirst
    case alphaSecond
    case beta

    var integrator: String { self == .beta ? "beta" : "alpha" }
    var url: String { "https://\(rawValue).test/messages" }
}

/// One integrator, whichever of its addresses is called.
struct SimulatedIntegrator {
    /// Every message that came in, as it came first, and its bytes from each process.
    var received: [DispatchID: DispatchMessage] = [:]
    var bytes: [DispatchID: [Int: [UInt8]]] = [:]
    var accepted: Set<DispatchID> = []
    /// What it says by calls of its own, until a dispatcher has confirmed it.
    var words: [DispatchID: Acknowledgement.Result] = [:]
    /// About what it has begun to call by itself.
    var called: Set<DispatchID> = []
}

extension SimulatedIntegrator {
    func hasTakenBack(_ id: DispatchID) -> Bool { called.contains(id) && !accepted.contains(id) }

    func isCalledOff(_ emergency: EmergencyID) -> Bool {
        received.contains { $0.key.emergency == emergency && $0.value.msgType == .cancel }
    }
}

/// Contracts has a message's name too: that of one to a person.
typealias DispatchID = SOSDispatcher.MessageID

extension SimulatedSuite {
    /// One attempt of a dispatcher, from its request to the answer: what HTTP and the other end do with it.
    func carry(_ request: OutboundRequest, from role: PairRole, _ process: Int) async -> Result<OutboundResponse, OutboundError> {
        guard let address = SimulatedAddress.allCases.first(where: { $0.url == request.url }),
            let id = request.headers.first(where: { $0.name == WebhookSignature.idHeader }).flatMap({ DispatchID($0.value) })
        else { return .failure(.unresolved) }
        let integrator = address.integrator
        ledger.attempts += 1
        let number = ledger.tried(id, process, to: integrator, at: now)
        if ledger.isTold(id, process, integrator, at: now) { violation("\(role) sends \(id) to \(integrator) after its acknowledgement") }
        if flaw == .givesUpAfterThree, number > 3 { return await fail(.timeout, after: request.timeout.wholeMilliseconds) }
        ledger.left(id, to: integrator, at: now)
        guard await pass(dice.between(1, 30)) else { return .failure(.cancelled) }
        let manners = plan.manners(of: address, at: now)
        note("\(integrator) at \(address) (\(manners)) gets \(id) from \(role)")
        switch manners {
        case .isDown: return await fail(.connect, after: 5)
        case .blackHole: return await fail(.timeout, after: request.timeout.wholeMilliseconds)
        default: break
        }
        receive(id, request.body, at: integrator, from: process)
        let reply =
            integrators[integrator]?.hasTakenBack(id) == true && manners == .takesBack
            ? IntegratorManners.rejects.reply(to: id, flaw) : manners.reply(to: id, flaw)
        if reply.isAcceptance { integrators[integrator]?.accepted.insert(id) }
        callsBack(id, integrator, manners)
        let delay = manners == .answersSlowly ? dice.between(3000, 9000) : dice.between(20, 300)
        guard await pass(delay) else { return .failure(.cancelled) }
        if reply.word?.result == .rejected { ledger.rejected(id, by: integrator, at: now) }
        if reply.isAcceptance {
            ledger.told(id, process, integrator, at: now)
            if flaw == .repeatsAcknowledged { await sendOnce(again: request, from: role, process) }
        }
        return .success(answer(reply, secret: reply.isSigned ? secrets[integrator] : .random()))
    }

    /// Planted: an acknowledged message is sent on.
    private func sendOnce(again request: OutboundRequest, from role: PairRole, _ process: Int) async {
        let carried = Carried((self, request))
        time.after(1500) { [time] in
            time.enter(process) { Task { _ = await carried.value.0.carry(carried.value.1, from: role, process) } }
        }
    }

    private func fail(_ error: OutboundError, after delay: Int64) async -> Result<OutboundResponse, OutboundError> {
        await pass(delay) ? .failure(error) : .failure(.cancelled)
    }

    /// False where the attempt was called off meanwhile.
    private func pass(_ milliseconds: Int64) async -> Bool {
        // Of virtual time.
        (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil
    }

    private func receive(_ id: DispatchID, _ body: [UInt8], at integrator: String, from process: Int) {
        let message = try? JSONDecoder().decode(DispatchMessage.self, from: Data(body))
        guard let message else { return violation("\(id) cannot be read") }
        ledger.received(id, at: now)
        // Two that cannot hear each other decide alike, each from what it has heard by then; one process never says a thing anew.
        if let first = integrators[integrator]?.bytes[id]?[process], first != body { violation("\(id) came again with other bytes") }
        integrators[integrator]?.bytes[id, default: [:]][process] = body
        if let first = integrators[integrator]?.received[id], first.msgType != message.msgType {
            violation("\(id) came as \(first.msgType.rawValue) and as \(message.msgType.rawValue)")
        }
        if integrators[integrator]?.received[id] == nil { integrators[integrator]?.received[id] = message }
    }

    /// Once for each message, whatever its attempts are.
    private func callsBack(_ id: DispatchID, _ name: String, _ manners: IntegratorManners) {
        guard manners == .callsBack || manners == .takesBack, integrators[name]?.called.insert(id).inserted == true else { return }
        let takesBack = manners == .takesBack && integrators[name]?.received[id]?.msgType == .alert
        guard takesBack || manners == .callsBack else { return }
        time.after(takesBack ? dice.between(200, 4000) : dice.between(100, 400)) { [self] in
            // What is called off is not taken back.
            if takesBack, integrators[name]?.isCalledOff(id.emergency) == true { return }
            integrators[name]?.words[id] = takesBack ? .rejected : .accepted
            if takesBack {
                integrators[name]?.accepted.remove(id)
                note("\(name) does not take \(id) any more")
            }
            callBack(id, name)
        }
    }

    /// Again each second until a dispatcher has confirmed it.
    private func callBack(_ id: DispatchID, _ name: String) {
        guard let result = integrators[name]?.words[id] else { return }
        time.after(1000) { [self] in callBack(id, name) }
        let up = dispatchers.filter(\.isUp)
        guard !up.isEmpty else { return }
        let dispatcher = dice.one(of: up)
        let carried = Carried((self, dispatcher.parts))
        let process = dispatcher.process
        ledger.offered(id, by: name, at: now)
        time.enter(process) {
            Task {
                guard let parts = carried.value.1, let integrator = await parts.dispatcher.registry.integrator(name) else { return }
                let word = Acknowledgement(messageId: "\(id)", result: result, ackId: "back", reason: nil)
                guard case .taken? = try? await parts.dispatcher.receive(word, from: integrator, form: "call") else { return }
                carried.value.0.confirmed(id, result, process, name)
            }
        }
    }

    private func confirmed(_ id: DispatchID, _ result: Acknowledgement.Result, _ process: Int, _ name: String) {
        guard integrators[name]?.words.removeValue(forKey: id) != nil else { return }
        if result == .accepted {
            ledger.told(id, process, name, at: now)
            integrators[name]?.accepted.insert(id)
        } else {
            note("\(name)'s rejection of \(id) is confirmed")
            ledger.takenBack(id, by: name, at: now)
        }
    }

    private func answer(_ reply: SimulatedReply, secret: WebhookSecret?) -> OutboundResponse {
        guard let word = reply.word, let secret, let body = try? Array(JSONEncoder().encode(AcknowledgementBody(ack: word))),
            let signature = try? WebhookSignature.sign(id: word.ackId, at: .now, body: body, secrets: [secret])
        else { return OutboundResponse(status: reply.status, head: [], body: []) }
        let head = [
            (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
            (WebhookSignature.signatureHeader, signature.signatures),
        ].map { "\($0): \($1)\r\n" }.joined()
        return OutboundResponse(status: reply.status, head: Array(head.utf8), body: body)
    }
}

/// What an address answers to one attempt.
struct SimulatedReply {
    var status = 200
    /// nil: not a word.
    var word: Acknowledgement?
    var isSigned = true
    /// Whether this is the integrator's own and true word that it takes the message.
    var isAcceptance = false
}

extension IntegratorManners {
    func reply(to id: DispatchID, _ flaw: PlantedFlaw?) -> SimulatedReply {
        func word(_ message: String, _ result: Acknowledgement.Result = .accepted) -> Acknowledgement {
            Acknowledgement(messageId: message, result: result, ackId: "ack-1", reason: result == .rejected ? "no ambulance is free" : nil)
        }
        // Planted: whatever is said comes in as if it were said well.
        let believes = flaw == .believesAnyAcknowledgement
        switch self {
        case .accepts, .answersSlowly, .takesBack: return SimulatedReply(word: word("\(id)"), isAcceptance: true)
        case .rejects: return SimulatedReply(word: word("\(id)", .rejected))
        case .forges: return SimulatedReply(word: word("\(id)"), isSigned: believes)
        case .confusesMessages: return SimulatedReply(word: word(believes ? "\(id)" : "\(id)1"))
        case .fails: return SimulatedReply(status: 500)
        case .justDelivers, .callsBack, .isDown, .blackHole: return SimulatedReply(status: 204)
        }
    }
}
