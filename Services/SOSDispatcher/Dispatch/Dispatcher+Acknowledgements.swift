// What becomes of the words of emergency services, in whatever form they come: each valid one counts, all are noted.

import Contracts
import Logging
import ServiceKit

extension Dispatcher {
    /// What became of an acknowledgement that came by itself.
    enum Reception: Sendable {
        case taken
        /// There is no such message, or it was not for this integrator.
        case unknownMessage
    }

    /// The integrator's word, after its identity has been proved. The same one again changes nothing.
    /// - Parameter form: how it came, for the timeline.
    /// - Throws: when it could not be stored durably: to be sent again.
    func receive(_ acknowledgement: Acknowledgement, from integrator: Integrator, form: String) async throws -> Reception {
        guard let id = MessageID(acknowledgement.messageId), try await isKnown(id, to: integrator.id) else { return .unknownMessage }
        await take(acknowledgement, id, by: integrator, form: form)
        try await journal.commit()
        return .taken
    }

    /// Whether the integrator was sent the message.
    func isKnown(_ id: MessageID, to integrator: String) async throws -> Bool {
        try await recall(id.emergency)
        return works[id.emergency]?.file.lines[integrator]?.message(id) != nil
    }

    /// Brings back to memory what was over, or is not read up yet.
    func recall(_ emergency: EmergencyID) async throws {
        guard works[emergency] == nil, let (person, file) = try await store.outbox(of: emergency), works[emergency] == nil else { return }
        let admitted = CallPurpose(of: person, drill: nil, names.synthetic).admitted(file)
        works[emergency] = Work(person: person, file: admitted, closedAt: clock.now, since: clock.now)
    }

    /// The file of an emergency, where the integrator may know how it goes on.
    func file(of emergency: EmergencyID, for integrator: String) async throws -> DispatchMachine? {
        let known: DispatchMachine?
        if let work = works[emergency] { known = work.file } else { known = try await store.outbox(of: emergency)?.outbox }
        return known.flatMap { $0.isOpen(to: integrator) ? $0 : nil }
    }

    /// - Parameter heard: the same, where the other dispatcher was told and has told it here.
    func take(
        _ acknowledgement: Acknowledgement, _ id: MessageID, by integrator: Integrator, form: String, heard: TakenMessage? = nil
    ) async {
        let at = heard?.at ?? .now
        // Rejected since, here or there.
        if heard != nil, acknowledgement.accepts, pair.acknowledgement(of: id, by: integrator.id) == nil { return }
        if heard == nil, let work = works[id.emergency] { tell(acknowledgement, by: integrator.id, at: at, in: work) }
        guard acknowledgement.accepts else { return await refused(id, acknowledgement, by: integrator, form, at: at) }
        guard let work = works[id.emergency], let message = work.file.lines[integrator.id]?.message(id),
            take(id, by: integrator, at: at)
        else { return }
        if purpose(of: work) == .canary { return await acknowledged(work.person, id.emergency, at) }
        let kind = id.isRelease ? "release" : message.kind.rawValue
        let word = message.kind == .alert ? "acknowledged" : "\(kind)-acknowledged"
        // Where the other dispatcher was told, when that was: the call was taken then, not when it was heard of here.
        let detail = "\(message.kind.rawValue) \(id.sequence): \(acknowledgement.result.rawValue) by \(form)"
        note(word, id, by: integrator.name, at: at, detail)
        let after = max(.zero, clock.steady(fromWall: at) - message.createdAt)
        logger.notice(
            "acknowledged",
            metadata: [
                "emergency": "\(id.emergency)", "message": "\(message.kind.rawValue)", "integrator": "\(integrator.name)",
                "form": "\(form)", "after_ms": "\(after.wholeMilliseconds)",
            ])
        if work.drill != nil { return await store.endDrill(id.emergency, "acknowledged", after: after) }
        metrics.acknowledged(after: after)
        if work.file.latestAlert?.id == id { await acknowledged(work.person, id.emergency, at) }
    }

    private func refused(
        _ id: MessageID, _ acknowledgement: Acknowledgement, by integrator: Integrator, _ form: String, at time: Timestamp
    ) async {
        guard let work = works[id.emergency] else { return }
        let wasTaken = work.file.lines[integrator.id]?.message(id)?.end == .acknowledged
        note("rejected", id, by: integrator.name, "\(id.sequence) by \(form)\(wasTaken ? ", after it was taken" : "")")
        logger.warning(
            "an emergency service rejects a message",
            metadata: ["emergency": "\(id.emergency)", "integrator": "\(integrator.name)", "taken_before": "\(wasTaken)"])
        if work.drill != nil {
            stop(id.emergency)
            return await store.endDrill(id.emergency, "refused", after: clock.now - work.since)
        }
        // What the other dispatcher was told before counts no more, even if it is heard only now, nor after a restart.
        let last = PairFact.acknowledged(
            TakenMessage(person: work.person, integrator: integrator.id, acknowledgement: acknowledgement, at: time))
        pair.note(last)
        var batch = StoreBatch()
        batch.heard = [last]
        journal.note(batch)
        guard !work.isStopped, await mayReopen(id.emergency) else { return }
        let now = clock.now
        let passing = change(id.emergency) { file, order in
            file.refused(id, by: integrator.id, order: order, at: now, repetition: repetition(at: time))
        }
        switch passing ?? .nothing {
        case .nothing: break
        case .on(let next):
            note("passed-on", id, by: "dispatcher", "to \(registry.integrator(next)?.name ?? next)")
        case .refusedByAll:
            logger.critical("every emergency service has refused a call: each is called again", metadata: ["emergency": "\(id.emergency)"])
            note("refused-by-all", id, by: "dispatcher", "each is asked again after \(nextAfter.components.seconds) s")
        }
        if wasTaken, works[id.emergency]?.file.isTaken == false { await rejected(work.person, id.emergency) }
    }

    /// Whether a rejection still opens the choice anew: until an hour after the emergency was closed.
    private func mayReopen(_ emergency: EmergencyID) async -> Bool {
        guard works[emergency]?.closedAt != nil, let record = try? await store.emergency(emergency), let closedAt = record.closedAt else {
            return true
        }
        return Timestamp.now - closedAt < Dispatcher.reopens
    }

    // MARK: By text

    /// A text from a registered number, with the code of a message that went there.
    /// - Returns: what it said; nil where it is no acknowledgement.
    func receive(text: String, from number: String) async throws -> AcknowledgementText.Meaning? {
        let said = AcknowledgementText(text)
        let named = messages(named: said, to: number)
        guard let (integrator, message) = named.first,
            let meaning = said.meaning(of: Set(named.map { names.code(of: $0.message) }))
        else { return nil }
        guard meaning != .notUnderstood else {
            note("not-understood", message, by: integrator.name, "by text")
            logger.warning(
                "a text of an emergency service is not understood: the call goes on",
                metadata: ["emergency": "\(message.emergency)", "integrator": "\(integrator.name)"])
            try await journal.commit()
            return meaning
        }
        let accepts = meaning == .accepted
        let acknowledgement = Acknowledgement(
            messageId: "\(message)", result: accepts ? .accepted : .rejected, ackId: "text", reason: accepts ? nil : "by text")
        await take(acknowledgement, message, by: integrator, form: "text")
        try await journal.commit()
        return meaning
    }

    /// Those whose code stands in the text, of all that went to the number.
    private func messages(named text: AcknowledgementText, to number: String) -> [(integrator: Integrator, message: MessageID)] {
        var named: [(integrator: Integrator, message: MessageID)] = []
        for integrator in registry.integrators(withNumber: number) {
            for work in works.values {
                for message in work.file.lines[integrator.id]?.messages ?? [] where text.words.contains(names.code(of: message.id)) {
                    named.append((integrator: integrator, message: message.id))
                }
            }
        }
        return named
    }

    // MARK: By hand

    /// An operator has heard by other means that the call is taken. Two people answer for it.
    func acknowledgeByHand(_ order: AcknowledgeByHand, further: @escaping SealedBatchStore.FurtherWrite) async throws {
        guard let work = works[order.emergency], work.drill == nil, !work.file.isOver else {
            throw Failure(.conflict, "nothing is waiting for an acknowledgement in this emergency")
        }
        let wasTaken = work.file.isTaken
        for (integrator, outbox) in work.file.lines {
            guard let current = outbox.current else { continue }
            let word = Acknowledgement(messageId: "\(current.id)", result: .accepted, ackId: "by-hand", reason: nil)
            tell(word, by: integrator, at: .now, in: work)
        }
        change(order.emergency) { file, _ in file.acknowledgedByHand() }
        var batch = StoreBatch()
        batch.audit = [
            AuditNote(
                at: .now, actor: "operator", action: "acknowledged", object: "\(order.emergency)",
                detail: "by hand: \(order.by), seconded by \(order.second): \(order.reason)")
        ]
        batch.further = [further]
        journal.note(batch)
        logger.notice("acknowledged", metadata: ["emergency": "\(order.emergency)", "form": "hand"])
        if !wasTaken { await acknowledged(work.person, order.emergency, nil) }
        try await journal.commit()
    }
}
