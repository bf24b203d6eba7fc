// Taking uploads: from the bytes of a request to durable, answered and published entries.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// An upload as the route hands it over: read, but not yet stored.
struct ReceivedUpload: Sendable {
    var scanned: ScannedUpload
    /// The refused entries as they came, as far as there was room; personal. Without those that may not be taken at all (ING-10).
    var refusedText: [UInt8] = []
    /// How many entries those are.
    var refusedCount = 0
    /// Of the whole body but the member `sentAt`, which is another in each try; only where the request has an `Idempotency-Key`.
    var bodyHash: [UInt8] = []

    /// Whether it has values of now.
    func isUrgent(at now: Timestamp) -> Bool {
        (scanned.samples + scanned.unstored).contains { $0.age(receivedAt: now, sentAt: scanned.sending.time) <= UploadLimits.urgentAge }
    }
}

/// Where an upload came from.
struct UploadOrigin: Sendable {
    var device: KnownDevice
    var receivedAt: Timestamp
    var trace: String
    var idempotencyKey: String?
}

/// Every step keeps the promise of ING-14: what is answered as accepted is on disk, and sending again adds nothing.
/// A class, because each upload on its way holds it.
final class Uploads: Sendable {
    private static let quarantinedBytes = 64 << 10

    let settings: IngestSettings
    let store: Store
    let vault: ChunkVault
    let relay: EventRelay
    let epoch: String
    let digests: SymmetricKey
    let registry: DeviceRegistry
    let logger: Logger
    /// Wakes the event streams of a person's dashboard.
    let arrivals = Watchers<PersonID>(limit: HTTPLimits().streamsPerCaller)
    /// Who is in an alert: their devices are asked to measure more often.
    let alerted = AlertedPeople()
    private let arrivalEvents: ArrivalEventStore
    private let uploadStore: UploadRepository
    private let fastPath: FastPath
    private let meters = UploadMeters()
    private let clockWatch: ClockWatch

    init(
        settings: IngestSettings, store: Store, vault: ChunkVault, memory: SeriesMemory, relay: EventRelay, epoch: String,
        arrivalEvents: ArrivalEventStore, digests: SymmetricKey, registry: DeviceRegistry, clockWatch: ClockWatch, logger: Logger
    ) {
        (self.arrivalEvents, self.clockWatch) = (arrivalEvents, clockWatch)
        (self.settings, self.store, self.vault, self.relay) = (settings, store, vault, relay)
        (self.epoch, self.digests, self.registry, self.logger) = (epoch, digests, registry, logger)
        uploadStore = UploadRepository(vault: vault, memory: memory, arrivals: arrivalEvents)
        fastPath = FastPath(after: settings.fastPathAfter, relay: relay, epoch: epoch, keys: vault.keys, memory: memory)
    }

    // MARK: Reading

    private func rules(_ receivedAt: Timestamp) -> EntryRules {
        EntryRules(now: receivedAt, clockSkew: settings.clockSkew)
    }

    private func scanner(_ receivedAt: Timestamp) -> EntryScanner {
        EntryScanner(rules: rules(receivedAt))
    }

    /// A whole JSON document.
    func read(document bytes: UnsafeRawBufferPointer, _ origin: UploadOrigin) throws(UploadFault) -> ReceivedUpload {
        let scanned = try scan(document: bytes, at: origin.receivedAt)
        return received(scanned, bytes, origin)
    }

    /// The first half of `read`, for which it need not be known where the document comes from; `received` is the other.
    func scan(document bytes: UnsafeRawBufferPointer, at receivedAt: Timestamp) throws(UploadFault) -> ScannedUpload {
        try scanner(receivedAt).scan(document: bytes)
    }

    /// A document in a maker's own format (ING-16).
    func read(
        _ source: MakerSource, document bytes: UnsafeRawBufferPointer, _ origin: UploadOrigin
    ) throws(UploadFault) -> ReceivedUpload {
        received(try source.read(bytes, rules(origin.receivedAt)), bytes, origin)
    }

    /// One piece of a stream of lines, whose first entry is the `firstIndex`th.
    func read(lines bytes: UnsafeRawBufferPointer, firstIndex: Int, _ origin: UploadOrigin) -> ReceivedUpload {
        received(scanner(origin.receivedAt).scan(lines: bytes, firstIndex: firstIndex), bytes, origin)
    }

    func received(_ scanned: ScannedUpload, _ bytes: UnsafeRawBufferPointer, _ origin: UploadOrigin) -> ReceivedUpload {
        clockWatch.note(scanned, from: origin.device, receivedAt: origin.receivedAt)
        var upload = ReceivedUpload(scanned: scanned)
        upload.scanned.judgeSending(ofReceived: origin.receivedAt)
        let admission = origin.device.admission
        // While monitoring is paused nothing is kept in any form.
        upload.refusedCount = admission.isPaused ? 0 : scanned.refused.count
        let untracked = upload.scanned.admit(by: admission)
        if origin.device.isOneOfSeveral {
            origin.device.pulse.delivered(upload.scanned.measuredNow(at: origin.receivedAt), at: origin.receivedAt)
        }
        upload.scanned.unstored += ofMissedTypes(untracked, origin)
        for refused in scanned.refused where !admission.isPaused {
            guard upload.refusedText.count + refused.range.count + 64 <= Self.quarantinedBytes else { break }
            upload.refusedText.append(contentsOf: "\(refused.fault.name)\t".utf8)
            upload.refusedText.append(contentsOf: bytes[refused.range])
            upload.refusedText.append(UInt8(ascii: "\n"))
        }
        if origin.idempotencyKey != nil {
            upload.bodyHash = Digest.hmacSHA256(Self.bytes(bytes, without: scanned.sending.ranges), key: digests)
        }
        return upload
    }

    /// - Parameter ranges: in order.
    private static func bytes(_ bytes: UnsafeRawBufferPointer, without ranges: [Range<Int>]) -> [UInt8] {
        var (kept, start) = ([UInt8](), 0)
        kept.reserveCapacity(bytes.count)
        for range in ranges {
            kept.append(contentsOf: bytes[start..<max(start, range.lowerBound)])
            start = max(start, range.upperBound)
        }
        kept.append(contentsOf: bytes[start...])
        return kept
    }

    /// Entries of parameters that are tracked from another device, from which nothing comes: refused and stored nowhere, but published to
    /// supervision, since they may be somebody's heart (decision 0012).
    private func ofMissedTypes(_ untracked: [Sample], _ origin: UploadOrigin) -> [Sample] {
        guard !untracked.isEmpty else { return [] }
        let missed = Set(untracked.map(\.type)).filter {
            registry.isMissed($0, besides: origin.device, undeclared: settings.undeclaredInterval, at: origin.receivedAt)
        }
        return untracked.filter { missed.contains($0.type) }
    }

    // MARK: Storing

    /// Stores what is new and returns what became of every entry.
    /// - Throws: `Problem` for an upload that is one entry and refused, or whose idempotency key was used for another;
    ///   `StoreError` where the store cannot take it; then nothing of it is stored.
    /// - Parameter effect: happens in the same transaction as the upload; where it throws, nothing of either is stored.
    func take(_ upload: ReceivedUpload, _ origin: UploadOrigin, alongside effect: UploadEffect? = nil) async throws -> UploadReply {
        let ready = try prepare(upload, origin, alongside: effect)
        let pending = fastPath.watch(ready)
        let outcome: UploadOutcome
        do {
            outcome = try await store.write(UploadBody(uploadStore, ready))
            taken(outcome, ready, pending)
        } catch {
            arrived(pending, error)
            throw error
        }
        return try reply(outcome, to: upload.scanned, ready, origin)
    }

    /// Takes an upload without suspending its caller: `answer` is called once, on any thread, must not block it, and must see to it that
    /// what it is given is called soon. That gives the reply or throws.
    func take(
        _ upload: ReceivedUpload, _ origin: UploadOrigin, answer: @escaping @Sendable (@escaping @Sendable () throws -> UploadReply) -> Void
    ) throws {
        let ready = try prepare(upload, origin, alongside: nil)
        let scanned = upload.scanned
        let pending = fastPath.watch(ready)
        store.enqueue(UploadBody(uploadStore, ready)) { [self] outcome in
            switch outcome {
            case .success(let outcome):
                // Here and not with the answer: supervision receives it before the event loop answers the device.
                taken(outcome, ready, pending)
            case .failure(let error): arrived(pending, error)
            }
            answer { [self] in try reply(outcome.get(), to: scanned, ready, origin) }
        }
    }

    private func taken(_ outcome: UploadOutcome, _ ready: ReadyUpload, _ pending: FastPath.PendingUpload?) {
        if case .otherBody = outcome {
            // A device that restarts its count of keys is refused for a day, and its entries are still published.
            if let pending { fastPath.refused(pending) }
        } else {
            pending?.settle()
            publish(outcome, ready)
        }
    }

    /// A full or failing disk refuses the device; supervision still receives what came (rescue fails open).
    private func arrived(_ pending: FastPath.PendingUpload?, _ error: any Error) {
        guard let pending else { return }
        if error is StoreError { fastPath.refused(pending) } else { pending.settle() }
    }

    private func reply(
        _ outcome: UploadOutcome, to scanned: ScannedUpload, _ ready: ReadyUpload, _ origin: UploadOrigin
    ) throws -> UploadReply {
        switch outcome {
        case .stored(let stored):
            var answer = Self.answer(scanned, stored.plan.repetitions, accepted: stored.plan.count)
            answer.supervision = alerted.asked(of: ready.device)
            note(answer, origin)
            return try Self.reply(answer, isSingle: scanned.isSingle)
        case .repeated(let status, let sealed):
            let place = Self.place(of: ready.repeatable, origin)
            let answer = try vault.open(text: sealed, at: place, of: origin.device.person, key: ready.key)
            guard status < 400 else { throw try JSONDecoder().decode(Problem.self, from: Data(answer)) }
            return .again(answer)
        case .otherBody:
            return .otherBody
        case .ended: throw Problem.unauthorised
        case .erased: throw KeyDestroyed()
        case .refused(let problem): throw problem
        }
    }

    private func prepare(
        _ upload: ReceivedUpload, _ origin: UploadOrigin, alongside effect: UploadEffect?
    ) throws -> ReadyUpload {
        let person = origin.device.person
        var plan = UploadPlan(samples: upload.scanned.samples, indexes: upload.scanned.indexes)
        plan.dropOwnRepetitions()
        let unstored = upload.scanned.unstored(at: origin.receivedAt, latest: rules(origin.receivedAt).latest)
        let firstTriedAt = upload.scanned.firstTriedAt(ofReceived: origin.receivedAt)
        let sentAt = upload.scanned.sending.time
        let key: SymmetricKey
        do {
            key = try vault.key(of: person)
        } catch let damaged as DamagedKey {
            let arrival = FastPath.Arrival(
                device: origin.device, receivedAt: origin.receivedAt, firstTriedAt: firstTriedAt, sentAt: sentAt, trace: origin.trace)
            fastPath.unstorable(plan, and: unstored, arrival)
            throw damaged
        }
        let chunks = try plan.groups.map {
            try vault.seal($0, of: person, number: origin.device.personNumber, device: origin.device.number, key: key)
        }
        let device = origin.device
        let payload =
            plan.groups.isEmpty || !relay.hasListeners(device.stream)
            ? nil : Self.payload(of: plan, device, receivedAt: origin.receivedAt, firstTriedAt: firstTriedAt, sentAt: sentAt)
        let refused =
            upload.refusedCount == 0
            ? nil
            : RefusedEntries(
                count: upload.refusedCount,
                body: try vault.seal(text: upload.refusedText, at: "quarantine", of: person, key: key))
        return ReadyUpload(
            device: device, receivedAt: origin.receivedAt, firstTriedAt: firstTriedAt, sentAt: sentAt, trace: origin.trace, key: key,
            plan: plan, unstored: unstored, chunks: chunks, payload: payload,
            arrivals: try arrivalEvents.render(plan.groups, of: person), refused: refused,
            repeatable: repeatable(upload, origin, key), alongside: effect)
    }

    /// With the answer, which the writer's thread gives: an effect (`Database.afterCommit`) would be a closure more for each upload.
    private func publish(_ outcome: UploadOutcome, _ ready: ReadyUpload) {
        guard case .stored(let stored) = outcome else { return }
        // After what was stored: of two values of one instant the one that counts is published first.
        defer { fastPath.refused(stored.plan.conflicting, of: ready) }
        guard let sequence = stored.sequence else { return }
        arrivals.notify(ready.device.person)
        arrivalEvents.publish(stored.arrivals)
        let device = ready.device
        let header = StreamHeader(
            stream: device.stream, epoch: epoch, sequence: sequence, head: sequence, type: SamplesRecorded.type, subject: device.subject,
            at: ready.receivedAt, trace: ready.trace)
        let rendered = stored.isWhole ? ready.payload : nil
        relay.committed(
            EventRelay.Committed(header: header) {
                rendered
                    ?? Self.payload(
                        of: stored.plan, device, receivedAt: ready.receivedAt, firstTriedAt: ready.firstTriedAt, sentAt: ready.sentAt)
            })
    }

    private static func payload(
        of plan: UploadPlan, _ device: KnownDevice, receivedAt: Timestamp, firstTriedAt: Timestamp?, sentAt: Timestamp?
    ) -> [UInt8] {
        SamplesRecordedWriter.render(
            device: device.device, receivedAt: receivedAt, firstTriedAt: firstTriedAt, sentAt: sentAt,
            intervalMs: device.publishedIntervalMs, samples: plan.inOrder)
    }

    // MARK: Answering

    private static func answer(_ scanned: ScannedUpload, _ repetitions: Repetitions, accepted: Int) -> UploadAnswer {
        var answer = UploadAnswer(accepted: accepted, duplicates: repetitions.duplicates.map(Int.init))
        answer.ignoresSentAt = scanned.sending.isIgnored
        answer.rejected = scanned.refused.map { .init(index: $0.index, fault: $0.fault) }
        answer.rejected.append(contentsOf: repetitions.conflicts.map { .init(index: Int($0), fault: .conflict) })
        if !repetitions.conflicts.isEmpty { answer.rejected.sort { $0.index < $1.index } }
        if answer.duplicates.count > 1 { answer.duplicates.sort() }
        return answer
    }

    /// An upload that is one entry is answered as one thing: refused with its own problem.
    private static func reply(_ answer: UploadAnswer, isSingle: Bool) throws(Problem) -> UploadReply {
        if isSingle, let rejected = answer.rejected.first { throw rejected.fault.problem }
        return .first(answer)
    }

    /// The device is named, the values are not (ING-04, ING-08).
    private func note(_ answer: UploadAnswer, _ origin: UploadOrigin) {
        meters.count(answer)
        guard !answer.rejected.isEmpty else { return }
        let kinds = Dictionary(answer.rejected.map { ($0.fault.name, 1) }, uniquingKeysWith: +)
        logger.notice(
            "entries were refused",
            metadata: [
                "device": "\(origin.device.device)", "trace": "\(origin.trace)",
                "kinds": .dictionary(kinds.mapValues { "\($0)" }),
            ])
    }

    // MARK: Idempotency keys

    private static func place(of request: RepeatableRequest?, _ origin: UploadOrigin) -> String {
        "idempotency_keys \(origin.device.device) " + Hex.encode(request?.key ?? [])
    }

    private func repeatable(_ upload: ReceivedUpload, _ origin: UploadOrigin, _ key: SymmetricKey) -> RepeatableRequest? {
        guard let word = origin.idempotencyKey else { return nil }
        let digest = Digest.hmacSHA256(Array(word.utf8), key: digests)
        let scanned = upload.scanned
        let place = "idempotency_keys \(origin.device.device) " + Hex.encode(digest)
        return RepeatableRequest(scope: origin.device.device.bytes, key: digest, bodyHash: upload.bodyHash) {
            [vault] repetitions, accepted in
            let answer = Self.answer(scanned, repetitions, accepted: accepted)
            let (status, text): (Int, [UInt8])
            if scanned.isSingle, let problem = answer.rejected.first?.fault.problem {
                (status, text) = (problem.status, Array(try JSONEncoder().encode(problem)))
            } else {
                (status, text) = (200, answer.json)
            }
            return (status, try vault.seal(text: text, at: place, of: origin.device.person, key: key))
        }
    }
}

/// The answer to an upload that was not refused.
enum UploadReply: Sendable {
    case first(UploadAnswer)
    /// The JSON that the same request got the first time.
    case again([UInt8])
    /// Its idempotency key was used with another body.
    case otherBody
}
