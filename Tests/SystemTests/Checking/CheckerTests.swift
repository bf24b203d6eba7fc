// The checker bites: each kind of violation, made by hand in a ledger that is otherwise good, is found, and nothing else.

import Contracts
import Foundation
import TestKit
import Testing

@Suite("The checker")
struct CheckerTests {
    let checker = Checker()

    @Test("finds nothing wrong with a run in which every promise was kept")
    func good() {
        let report = checker.report(HandMade().evidence)
        #expect(report.violations.isEmpty, "\(report.summary)")
        #expect(report.figures.acknowledged == 3)
        #expect(report.figures.breaches == 1)
        #expect(report.figures.repeats == 1)
        #expect(report.figures.delays == [3600])
    }

    @Test("lets an unacknowledged entry be stored or not")
    func unknown() {
        var run = HandMade()
        run.evidence.sent.insert(run.entry(9, 90))
        #expect(checker.report(run.evidence).violations.isEmpty)
        run.evidence.stored.append(run.entry(9, 90))
        #expect(checker.report(run.evidence).violations.isEmpty)
    }

    @Test("gives the desk time again after it was away")
    func outage() {
        var run = HandMade()
        run.evidence.desk = [run.line(taken: 20_000)]
        #expect(checker.report(run.evidence).violations == [.late(run.emergency, milliseconds: 20_000)])
        run.evidence.outages = [run.time(-1000)...run.time(18_000)]
        #expect(checker.report(run.evidence).violations.isEmpty)
        run.evidence.outages = [run.time(-1000)...run.time(12_000)]
        #expect(checker.report(run.evidence).violations == [.late(run.emergency, milliseconds: 8000)])
    }

    @Test("turns red for each kind of violation and names it", arguments: HandMade.faults)
    func bites(_ fault: HandMade.Fault) {
        var run = HandMade()
        let expected = fault.plant(&run)
        #expect(Set(checker.report(run.evidence).violations) == Set(expected), "\(fault.name)")
    }

    @Test("reads the load generator's ledger from its file as it was written")
    func ledger() async throws {
        try await withTemporaryFolder { folder in
            let run = HandMade()
            let ledger = try LoadLedger(folder.appendingPathComponent("load.jsonl"))
            let first = try ledger.sent([run.entry(0, 60).sample, run.entry(1, 600).sample], of: run.person, at: run.time(0))
            _ = try ledger.sent([run.entry(2, 61).sample], of: run.person, at: run.time(1))
            let critical = try ledger.sent([run.entry(3, 30).sample], of: run.person, at: run.time(2))
            try ledger.planted(.heartRate, in: critical)
            try ledger.acknowledged(first, rejected: [1], at: run.time(3))
            try ledger.acknowledged(critical, rejected: [], at: run.time(4))
            for account in [ledger.account, LoadAccount(LoadLedger.read(ledger.file))] {
                #expect(account.sent.count == 4)
                #expect(account.acknowledged == [run.entry(0, 60), run.entry(3, 30)])
                #expect(account.unknownBatches == 1)
                #expect(
                    account.breaches == [PlantedBreach(entry: run.entry(3, 30).key, sentAt: run.time(2), acknowledgedAt: run.time(4))])
            }
        }
    }

    @Test("reads the desk's ledger and passes over a line that a kill tore")
    func deskLedger() async throws {
        try await withTemporaryFolder { folder in
            let run = HandMade()
            let file = folder.appendingPathComponent("desk.jsonl")
            let whole = try JSONEncoder().encode(run.line(taken: 1))
            try (whole + Data("\n".utf8) + whole.dropLast(9)).write(to: file)
            #expect(DeskLine.read(file) == [run.line(taken: 1)])
        }
    }
}
