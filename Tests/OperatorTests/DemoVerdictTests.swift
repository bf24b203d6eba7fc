// The demo is judged by what was written down, and each fault fails it.

import ArgumentParser
import Contracts
import Foundation
import Sealing
import TestKit
import Testing

@testable import Operator

@Suite("DemoVerdict")
struct DemoVerdictTests {
    private static let failing = PersonID.random()
    private static let healthy = PersonID.random()
    private static let emergency = EmergencyID.random()
    private static let t0 = Timestamp(milliseconds: 1_768_005_060_000)

    private static func good() -> DemoEvidence {
        let entry = ListEmergencies.Entry(
            emergency: emergency, person: failing, state: "dispatched", t0: t0, dispatchedAt: t0 + .milliseconds(3500),
            acknowledgedAt: t0 + .milliseconds(3530), closedAt: nil)
        let message = DeskEntry(
            receivedAt: t0 + .milliseconds(3510), messageId: "\(emergency)-0", sha256: "ab", kind: "alert", verified: true, v1: true,
            v1a: true,
            answer: "accepted", repeated: 0)
        return DemoEvidence(
            failing: failing, healthy: healthy, emergencies: [entry], deskLog: [message],
            audit: VerifyAudit.Reply(rows: 7, firstBroken: nil, head: "00"), waiting: 0, refused: 0)
    }

    @Test("SOS-15: a call acknowledged in time, once, verified, holds")
    func holds() {
        let claims = DemoVerdict.judge(Self.good())
        #expect(claims.filter { !$0.holds }.map(\.claim) == [])
    }

    @Test("each planted fault fails the demo", arguments: 0..<11)
    func bites(fault: Int) {
        var evidence = Self.good()
        switch fault {
        case 0: evidence.emergencies[0].acknowledgedAt = Self.t0 + .seconds(5)
        case 1: evidence.emergencies[0].acknowledgedAt = nil
        case 2: evidence.emergencies = []
        case 3: evidence.deskLog = []
        case 4: evidence.deskLog[0].messageId = "\(EmergencyID.random())-0"
        case 5: evidence.deskLog[0].v1a = nil
        case 6:
            var changed = evidence.deskLog[0]
            changed.sha256 = "cd"
            evidence.deskLog.append(changed)
        case 7:
            var second = evidence.emergencies[0]
            second.person = Self.healthy
            evidence.emergencies.append(second)
        case 8: evidence.waiting = 1
        case 9: evidence.audit.firstBroken = 3
        default:
            var second = evidence.deskLog[0]
            second.messageId = "\(Self.emergency)-1"
            evidence.deskLog.append(second)
        }
        #expect(DemoVerdict.judge(evidence).contains { !$0.holds })
    }
}

@Suite("AuditProof")
struct AuditProofTests {
    private func chain(_ count: Int) -> [(sequence: Int64, entry: String, previous: [UInt8], hash: [UInt8])] {
        var previous = [UInt8](repeating: 0, count: 32)
        return (1...count).map { number in
            let entry = #"{"action":"opened","object":"emg_x","sequence":\#(number)}"#
            let length = withUnsafeBytes(of: UInt64(entry.utf8.count).bigEndian, Array.init)
            let hash = Digest.sha256(previous + length + Array(entry.utf8))
            defer { previous = hash }
            return (Int64(number), entry, previous, hash)
        }
    }

    private func proof(_ rows: [(sequence: Int64, entry: String, previous: [UInt8], hash: [UInt8])]) -> AuditProof {
        var proof = AuditProof()
        for row in rows {
            proof.check(sequence: row.sequence, entry: row.entry, previous: row.previous, hash: row.hash, object: "emg_x")
        }
        return proof
    }

    @Test("a whole chain is whole, and its head is the last row's hash")
    func whole() {
        let rows = chain(5)
        #expect(proof(rows).firstBroken == nil && proof(rows).rows == 5 && proof(rows).head == rows[4].hash)
        #expect(proof([]).head == [UInt8](repeating: 0, count: 32))
    }

    @Test("`trackme audit verify --anchors` of a file without any anchor said `audit ok`: it fails and says what to name")
    func noAnchors() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("anchors.jsonl")
            for text in ["", "\n", "no anchor\n{}\n"] {
                try Data(text.utf8).write(to: file)
                let error = #expect(throws: OperatorError.self) { try VerifyAuditCommand.parse(["--anchors", file.path]).kept() }
                #expect(error?.problem.contains("no genuine anchor") == true && error?.mend.contains("sos.audit_anchor_file") == true)
            }
            try Data(#"{"head":"00","number":1,"rows":1}"#.utf8).write(to: file)
            #expect(try VerifyAuditCommand.parse(["--anchors", file.path]).kept().count == 1)
            #expect(try VerifyAuditCommand.parse([]).kept().isEmpty)
            #expect(throws: OperatorError.self) { try VerifyAuditCommand.tell(genuine: 0, of: 1, in: "anchors.jsonl") }
            #expect(try VerifyAuditCommand.tell(genuine: 3, of: 4, in: "a.jsonl") == "3 genuine anchors of 4 lines read from a.jsonl")
        }
    }

    @Test("a changed, removed, repeated or re-hashed row is named")
    func broken() {
        var changed = chain(5)
        changed[2].entry = changed[2].entry.replacing("opened", with: "closed")
        #expect(proof(changed).firstBroken == 3)
        var removed = chain(5)
        removed.remove(at: 1)
        #expect(proof(removed).firstBroken == 2)
        var repeated = chain(5)
        repeated.insert(repeated[1], at: 2)
        #expect(proof(repeated).firstBroken == 3)
        var misnumbered = chain(5)
        misnumbered[4].entry = #"{"action":"opened","object":"emg_x","sequence":9}"#
        let length = withUnsafeBytes(of: UInt64(misnumbered[4].entry.utf8.count).bigEndian, Array.init)
        misnumbered[4].hash = Digest.sha256(misnumbered[4].previous + length + Array(misnumbered[4].entry.utf8))
        #expect(proof(misnumbered).firstBroken == 5)
    }
}

@Suite("Commands")
struct CommandTests {
    @Test(
        "what cannot be meant is refused with the reason",
        arguments: [
            (["simulate", "--people", "0"], "--people"), (["simulate", "--rate", "1", "--interval", "1s"], "either"),
            (["simulate", "--failing", "9"], "--failing"), (["sos", "subscribe", "per_00000000000000000000000000"], "clauses"),
            (["replay", "x.csv", "--speed", "0"], "--speed"), (["replay", "x.csv", "--url", "ftp://x"], "--url"),
            (["consumers", "forget", "x", "--of", "nobody"], "--of"), (["jobs", "--service", "nobody"], "--service"),
            (["jobs", "resend", "--service", "consent"], "--all"), (["keys", "add-peer", "X"], "lower-case"),
            (["keys", "add-peer", "ingest", "--hear", "ingest.samples"], "belongs to the suite"),
            (["keys", "add-peer", "x"], "at least one right"),
            (["up", "--only", "postgres"], "no part postgres"), (["desk", "--mode", "nice"], "mode"),
            (["device", "add", "--name", ""], "--name"),
        ])
    func refuses(arguments: [String], reason: String) {
        #expect {
            try TrackMe.parseAsRoot(arguments)
        } throws: { error in
            TrackMe.exitCode(for: error).rawValue == ExitStatus.usage.rawValue && TrackMe.fullMessage(for: error).contains(reason)
        }
    }

    @Test("R19: a place in the south or west may follow --circle and --polygon like any other")
    func southAndWest() throws {
        for area in [["--circle", "-60,-45.5,30"], ["--circle=-60,-45.5,30"], ["--polygon", "-47,6 -47,14 -36,19"]] {
            let parsed = try TrackMe.parseAsRoot(["integrator", "add", "south", "--url", "https://south.example.org/sos"] + area)
            let command = try #require(parsed as? AddIntegratorCommand)
            #expect(command.circle?.circle?.centre.latitude ?? command.polygon?.polygon?.first?.latitude ?? 0 < -40)
        }
    }

    @Test(
        "`integrator add --circle 45,9,nan` said `the request cannot be written as JSON`: the option is named, and what is right",
        arguments: [
            (["--circle", "45,9,nan"], "--circle", "latitude,longitude,kilometres"),
            (["--circle", "inf,9,30"], "--circle", "45.4642,9.19,30"),
            (["--polygon", "47,6 47,nan 36,19"], "--polygon", "latitude,longitude"), (["--drill-every", "nan"], "--drill-every", "8760"),
        ])
    func noNumbers(arguments: [String], option: String, right: String) {
        let command = ["integrator", "add", "south", "--url", "https://south.example.org/sos"] + arguments
        let error = #expect(throws: (any Error).self) { try TrackMe.parseAsRoot(command) }
        let message = error.map { TrackMe.fullMessage(for: $0) } ?? ""
        #expect(message.contains(option) && message.contains(right), "\(message)")
    }

    @Test("R17: `timeline` printed `+-1 ms` where a step was noted before the first one: no time is negative")
    func timeline() {
        let at = Timestamp(milliseconds: 1_800_000_000_000)
        let lines = TimelineText.lines(
            [0, -1, 5].map { ReadTimeline.Step(at: at + .milliseconds($0), actor: "dispatcher", event: "confirmed", detail: "") })
        #expect(lines.allSatisfy { !$0.contains("+-") } && lines[1].contains("+0 ms") && lines[2].contains("+5 ms"))
    }

    @Test("R19: `doctor` looks at the ports that the suite of a folder was started with, unless others are asked for")
    func portsOfAFolder() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("ports.json")
            let usual = try SuitePorts.parse([])
            #expect(usual.orThose(in: file).ingestPort == ServiceExecutable.ingestPort)
            try SuitePorts.parse(["--ingest-port", "9101", "--edge-http-port", "9080"]).write(to: file)
            #expect(usual.orThose(in: file).ingestPort == 9101 && usual.orThose(in: file).edgeHTTPPort == 9080)
            #expect(try SuitePorts.parse(["--ingest-port", "9901"]).orThose(in: file).ingestPort == 9901)
            try Data("rubbish".utf8).write(to: file)
            #expect(usual.orThose(in: file).ingestPort == ServiceExecutable.ingestPort)
        }
    }

    @Test("every command explains itself with an example")
    func help() {
        for command in Self.leaves(TrackMe.self) where !command.configuration.abstract.isEmpty {
            #expect(command.configuration.discussion.contains(/Examples?:/), "\(command)")
            #expect(command.configuration.discussion.contains("Exit codes:"), "\(command)")
        }
    }

    private static func leaves(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        let below = command.configuration.subcommands
        return below.isEmpty ? [command] : below.flatMap(leaves)
    }
}
