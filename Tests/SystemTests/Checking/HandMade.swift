// A small run in which every promise was kept, written by hand, and the ways to spoil it.

import Contracts
import Testing

struct HandMade: Sendable {
    let person = PersonID(bits: 7)
    let emergency = EmergencyID(bits: 70)
    var evidence = Evidence()

    init() {
        let entries: Set = [entry(0, 60), entry(1, 61.5), entry(2, 30)]
        evidence.sent = entries
        evidence.acknowledged = entries
        evidence.stored = Array(entries)
        evidence.breaches = [PlantedBreach(entry: entry(2, 30).key, sentAt: time(-10), acknowledgedAt: time(10))]
        evidence.emergencies = [call(emergency, of: person)]
        evidence.desk = [line(taken: 3600), line(taken: 4600, answer: "duplicate")]
        evidence.streams = [StreamAccount(stream: "s", first: 1, applied: [1, 2, 3], head: 3)]
        evidence.consumers = [ConsumerProgress(consumer: "c", stream: "s", next: 4, head: 3)]
        evidence.audit = VerifyAudit.Reply(rows: 9, firstBroken: nil, head: "")
        evidence.stores = [StoreExamination(file: "a.db", verdict: "ok")]
    }

    /// Milliseconds from `t0`.
    func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_767_225_600_000 + milliseconds) }

    func entry(_ second: Int64, _ value: Double) -> Entry {
        Entry(person, Sample(type: .heartRate, at: time(second * 1000), value: value))
    }

    func call(_ emergency: EmergencyID, of person: PersonID, acknowledged: Bool = true) -> ListEmergencies.Entry {
        ListEmergencies.Entry(
            emergency: emergency, person: person, state: "dispatched", t0: time(0), dispatchedAt: time(3500),
            acknowledgedAt: acknowledged ? time(3610) : nil, closedAt: nil)
    }

    func line(
        taken milliseconds: Int64, of emergency: EmergencyID? = nil, sequence: Int = 0, bytes: String = "aa", verified: Bool = true,
        answer: String = "accepted"
    ) -> DeskLine {
        DeskLine(
            receivedAt: time(milliseconds), messageId: "\(emergency ?? self.emergency)-\(sequence)", sha256: bytes, verified: verified,
            answer: answer)
    }

    // MARK: Faults

    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        /// Spoils the run and says what must be found.
        let plant: @Sendable (inout HandMade) -> [Violation]
        var testDescription: String { name }
    }

    static let faults = entryFaults + emergencyFaults + deskFaults + streamFaults

    private static let entryFaults = [
        Fault(name: "an acknowledged entry is not there") { run in
            run.evidence.stored = [run.entry(0, 60), run.entry(2, 30)]
            return [.lost(run.entry(1, 61.5).key)]
        },
        Fault(name: "an acknowledged entry has another value") { run in
            run.evidence.stored = [run.entry(0, 60), run.entry(2, 30)]
            run.evidence.stored.append(run.entry(1, 61.4))
            return [.altered(run.entry(1, 61.5).key)]
        },
        Fault(name: "an entry is there that nobody sent") { run in
            run.evidence.stored.append(run.entry(5, 77))
            return [.invented(run.entry(5, 77).key)]
        },
        Fault(name: "an entry is there twice") { run in
            run.evidence.stored.append(run.entry(1, 61.5))
            return [.storedTwice(run.entry(1, 61.5).key)]
        },
    ]

    private static let emergencyFaults = [
        Fault(name: "a breach made no emergency") { run in
            (run.evidence.emergencies, run.evidence.desk) = ([], [])
            return [.missed(run.person)]
        },
        Fault(name: "a breach made two emergencies") { run in
            let second = EmergencyID(bits: 71)
            run.evidence.emergencies.append(run.call(second, of: run.person))
            run.evidence.desk.append(run.line(taken: 3700, of: second))
            return [.calledTwice(run.person)]
        },
        Fault(name: "an ambulance went to somebody who was well") { run in
            let well = PersonID(bits: 8)
            let second = EmergencyID(bits: 71)
            run.evidence.emergencies.append(run.call(second, of: well))
            run.evidence.desk.append(run.line(taken: 3700, of: second))
            return [.calledWithoutBreach(well)]
        },
        Fault(name: "t0 is later than the acknowledgement of the first critical entry") { run in
            run.evidence.breaches[0].acknowledgedAt = run.time(-1)
            run.evidence.breaches[0].later = [
                UploadTimes(sentAt: run.time(-1), acknowledgedAt: run.time(-1)),
                UploadTimes(sentAt: run.time(0), acknowledgedAt: run.time(4)),
            ]
            return [.wrongStart(run.emergency, milliseconds: 1, upload: 3)]
        },
        Fault(name: "t0 is earlier than the first attempt of the first critical entry") { run in
            run.evidence.breaches[0].sentAt = run.time(2)
            return [.wrongStart(run.emergency, milliseconds: -2, upload: nil)]
        },
        Fault(name: "the desk saw no first alert") { run in
            run.evidence.desk = [run.line(taken: 3600, sequence: 1)]
            return [.neverArrived(run.emergency)]
        },
        Fault(name: "the desk never acknowledged") { run in
            run.evidence.desk = [run.line(taken: 3600, answer: "503")]
            return [.unacknowledged(run.emergency)]
        },
        Fault(name: "the suite did not keep the acknowledgement") { run in
            run.evidence.emergencies = [run.call(run.emergency, of: run.person, acknowledged: false)]
            return [.unacknowledged(run.emergency)]
        },
        Fault(name: "the acknowledgement came after 5 s") { run in
            run.evidence.desk = [run.line(taken: 5000)]
            return [.late(run.emergency, milliseconds: 5000)]
        },
    ]

    private static let deskFaults = [
        Fault(name: "a message could not be verified") { run in
            run.evidence.desk.append(run.line(taken: 3700, sequence: 1, verified: false, answer: "401"))
            return [.unverified(message: "\(run.emergency)-1")]
        },
        Fault(name: "a repeat has other bytes") { run in
            var repetition = run.line(taken: 4600, bytes: "bb", answer: "duplicate")
            repetition.differs = ["vitals", "parameters"]
            run.evidence.desk.append(repetition)
            return [.differingBytes(message: "\(run.emergency)-0", members: ["parameters", "vitals"])]
        },
        Fault(name: "a message belongs to no emergency") { run in
            run.evidence.desk.append(run.line(taken: 3700, of: EmergencyID(bits: 99)))
            return [.unknownMessage(message: "\(EmergencyID(bits: 99))-0")]
        },
    ]

    private static let streamFaults = [
        Fault(name: "a follower passed over facts") { run in
            run.evidence.streams[0].applied = [1, 3]
            return [.gap(stream: "s", missing: 1)]
        },
        Fault(name: "a follower applied facts twice") { run in
            run.evidence.streams[0].applied = [1, 2, 2, 3]
            return [.appliedTwice(stream: "s", facts: 1)]
        },
        Fault(name: "a follower applied facts out of order") { run in
            run.evidence.streams[0].applied = [1, 3, 2]
            return [.outOfOrder(stream: "s")]
        },
        Fault(name: "a consumer is not at the head") { run in
            run.evidence.consumers[0].next = 2
            return [.behind(consumer: "c", stream: "s", by: 2)]
        },
        Fault(name: "the audit chain is broken") { run in
            run.evidence.audit = VerifyAudit.Reply(rows: 9, firstBroken: 4, head: "")
            return [.auditBroken(row: 4)]
        },
        Fault(name: "a store is corrupt") { run in
            run.evidence.stores[0].verdict = "row 3 missing from index"
            return [.corrupt(file: "a.db", verdict: "row 3 missing from index")]
        },
    ]
}
