// What people type in themselves (ING-01): stored entirely or not at all, and only while it is current.

import Bus
import Contracts
import ServiceKit
import Storage

struct ManualEntries: Sendable {
    let uploads: Uploads
    let people: People
    let registry: DeviceRegistry
    let answers: StoredAnswers
    let oldest: Duration
    /// Whose entries the dispatchers make up.
    let synthetic = SyntheticPeople()

    /// - Parameter settings: `ing.manual_max_age_h` bounds how old a manual entry may be.
    init(uploads: Uploads, people: People, registry: DeviceRegistry, answers: StoredAnswers, settings: IngestSettings) {
        (self.uploads, self.people, self.registry, self.answers) = (uploads, people, registry, answers)
        oldest = settings.manualMaximumAge
    }

    // MARK: By hand

    /// Takes a JSON document of one or more entries.
    /// - Throws: `Problem` naming each wrong field; then nothing is stored. `StoreError`, `KeyDestroyed`.
    func insert(
        _ document: [UInt8], of person: PersonID, receivedAt: Timestamp, trace: String, idempotencyKey: String?
    ) async throws -> UploadReply {
        if let bar = registry.bar(of: person) { throw bar.problem }
        let scanned: ScannedUpload
        do {
            scanned = try document.withUnsafeBytes { try uploads.scan(document: $0, at: receivedAt) }
        } catch let fault as UploadFault {
            throw fault.problem
        }
        // Made where there is none yet, so not for what is no document of entries.
        let source = try await people.ownSource(of: person, .manual)
        let origin = UploadOrigin(device: source, receivedAt: receivedAt, trace: trace, idempotencyKey: idempotencyKey)
        let received = document.withUnsafeBytes { uploads.received(scanned, $0, origin) }
        let places = EntryPlaces(document, isSingle: received.scanned.isSingle)
        let faults = faults(of: received.scanned, places, now: receivedAt)
        guard faults.isEmpty else { throw Self.problem(faults) }
        let effect = UploadEffect(refusal: { repetitions in
            repetitions.conflicts.isEmpty ? nil : Self.problem(repetitions.conflicts.map { places.fault(.conflict, at: Int($0)) })
        })
        return try await uploads.take(received, origin, alongside: effect)
    }

    private func faults(of scanned: ScannedUpload, _ places: EntryPlaces, now: Timestamp) -> [ManualFault] {
        var faults = scanned.refused.map { places.fault($0.fault, at: $0.index) }
        for (sample, index) in zip(scanned.samples, scanned.indexes) where sample.at < now - oldest {
            faults.append(places.outOfDate(at: Int(index), oldest: oldest))
        }
        return faults.sorted { $0.index < $1.index }
    }

    private static func problem(_ faults: [ManualFault]) -> Problem {
        let kind = faults.first.flatMap { Problem.ofEntry(named: $0.name) } ?? .malformedEntry
        let (detail, italian) =
            faults.count == 1
            ? (faults[0].fault.english, faults[0].fault.italian)
            : ("\(faults.count) entries are not as they should be.", "\(faults.count) misure non sono corrette.")
        return kind.saying(
            "\(detail) Nothing was stored: correct what is named and confirm again.",
            italian: "\(italian) Nulla è stato salvato: corregga quanto indicato e confermi di nuovo.",
            errors: faults.prefix(UploadLimits.namedInAnswer).map { .init(pointer: $0.pointer, $0.fault) })
    }

    // MARK: For another service

    /// Entries that a person gave to consent, at registration, and those of the dispatchers' synthetic subscribers. What is stored
    /// already, or contradicts it, changes nothing.
    func record(_ request: RecordEntries, _ asked: RequestContext) async throws -> Nothing {
        let now = Timestamp.now
        guard (1...Self.mostRecorded).contains(request.samples.count) else {
            throw Failure(.invalid, "1 to \(Self.mostRecorded) samples")
        }
        let rules = EntryRules(now: now, clockSkew: uploads.settings.clockSkew)
        for sample in request.samples {
            if let fault = rules.fault(of: sample) { throw Failure(.invalid, fault.detail) }
        }
        var scanned = ScannedUpload()
        scanned.samples = request.samples
        scanned.indexes = request.samples.indices.map(Int32.init)
        scanned.count = request.samples.count
        do {
            let source = try await people.ownSource(of: request.person, .manual)
            let isAccount = registry.household(of: request.person).map { !$0.isEnrolled } ?? true
            if (asked.peer.deputyOf ?? asked.peer) == .sosDispatcher, !isAccount { synthetic.note(request.person) }
            let origin = UploadOrigin(device: source, receivedAt: now, trace: asked.trace, idempotencyKey: nil)
            _ = try await uploads.take(
                ReceivedUpload(scanned: scanned), origin,
                alongside: UploadEffect(run: { [answers] db, _, _ in try answers.remember(Nothing(), to: asked, in: db) }))
        } catch is KeyDestroyed {
            throw Failure(.notFound, "there is no such person")
        } catch let damaged as DamagedKey {
            throw damaged.failure
        } catch let error as StoreError {
            throw Failure(.unavailable, "the store cannot take it now: \(error)")
        }
        return Nothing()
    }

    private static let mostRecorded = 100
}

/// One wrong entry of an insertion.
struct ManualFault: Hashable, Sendable {
    let index: Int
    let name: String
    /// JSON Pointer into the body.
    let pointer: String
    let fault: FieldFault
}

/// Where entries stand in a document, for pointers.
struct EntryPlaces: Sendable {
    private let prefix: String
    private let isSingle: Bool

    init(_ document: [UInt8], isSingle: Bool) {
        self.isSingle = isSingle
        prefix = document.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "[") ? "" : "/entries"
    }

    private func pointer(_ index: Int, _ field: EntryField?) -> String {
        (isSingle ? "" : "\(prefix)/\(index)") + (field.map { "/\($0.rawValue)" } ?? "")
    }

    func fault(_ fault: EntryFault, at index: Int) -> ManualFault {
        ManualFault(index: index, name: fault.name, pointer: pointer(index, fault.field), fault: fault.fieldFault)
    }

    /// ING-09.
    func outOfDate(at index: Int, oldest: Duration) -> ManualFault {
        ManualFault(
            index: index, name: Problem.outOfDate.name, pointer: pointer(index, .at),
            fault: .outOfDate(hours: oldest.wholeMilliseconds / 3_600_000))
    }
}
