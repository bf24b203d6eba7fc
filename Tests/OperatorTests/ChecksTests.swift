// The doctor's judgements, and bounds on the command line.

import Contracts
import ServiceKit
import Testing

@testable import Operator

@Suite("Checks")
struct ChecksTests {
    private func file(exists: Bool = true, mode: Int = 0o600, writable: Bool = true, ours: Bool = true) -> FileFacts {
        FileFacts(path: "var/keys/x", exists: exists, mode: mode, isWritable: writable, isOurs: ours)
    }

    @Test("each fault has its level, and each that is not well has a mend")
    func levels() {
        let table: [(Finding, Finding.Level)] = [
            (Checks.library("libzmq", package: "libzmq5", isPresent: true), .ok),
            (Checks.library("libzmq", package: "libzmq5", isPresent: false), .failure),
            (Checks.caddy(version: "2.6.2"), .ok), (Checks.caddy(version: nil), .warning),
            (Checks.port(8101, of: "ingest", .free, setting: "--ingest-port"), .ok),
            (Checks.port(8101, of: "ingest", .ours(by: nil), setting: "--ingest-port"), .ok),
            (Checks.port(8101, of: "ingest", .taken(by: nil), setting: "--ingest-port"), .failure),
            (Checks.port(80, of: "edge", .forbidden, setting: "--edge-http-port"), .failure),
            (Checks.remark(of: "ingest", "1 people's keys are damaged"), .failure),
            (Checks.folder("data", file(mode: 0o700)), .ok), (Checks.folder("data", file(exists: false)), .ok),
            (Checks.folder("data", file(mode: 0o700, writable: false)), .failure),
            (Checks.folder("data", file(mode: 0o777)), .failure), (Checks.folder("data", file(mode: 0o700, ours: false)), .failure),
            (Checks.secret(file()), .ok), (Checks.secret(file(mode: 0o640)), .failure), (Checks.secret(file(exists: false)), .failure),
            (Checks.disk(free: 100 << 20), .failure), (Checks.disk(free: 1 << 30), .warning), (Checks.disk(free: 100 << 30), .ok),
            (Checks.clock(Timestamp(milliseconds: 0), isSynchronised: true), .failure),
            (Checks.clock(Timestamp(milliseconds: 1_800_000_000_000), isSynchronised: false), .warning),
            (Checks.clock(Timestamp(milliseconds: 1_800_000_000_000), isSynchronised: true), .ok),
            (Checks.openFiles(soft: 128, hard: 4096), .failure), (Checks.openFiles(soft: 512, hard: 4096), .warning),
            (Checks.openFiles(soft: 1024, hard: 4096), .ok),
            (Checks.busFolder("/srv/var/bus"), .ok), (Checks.busFolder(String(repeating: "/long", count: 20)), .failure),
            (Checks.configuration(.init(service: "ingest", status: .exited(0), complaint: "")), .ok),
            (Checks.configuration(.init(service: "ingest", status: .exited(78), complaint: "TRACKME_ING_X: no such setting")), .failure),
            (Checks.configuration(.init(service: "ingest", status: nil, complaint: "")), .failure),
            (Checks.refusal(of: "ingest", "keys/ingest/store.kek must hold 64 hex digits"), .failure),
            (Checks.configuration(.init(service: "ingest", status: .exited(127), complaint: "")), .failure),
        ]
        for (finding, level) in table {
            #expect(finding.level == level, "\(finding.line)")
            #expect(finding.mend.isEmpty == (level == .ok), "\(finding.line)")
        }
    }

    @Test("a shared key file that is damaged, differs from its copy or has none is named, with what to do")
    func sharedSecrets() {
        func finding(_ standing: KeyFiles.Standing) -> Finding? { Checks.shared(standing, original: "keys/a", copy: "keys/b.copy") }
        #expect(finding(.whole) == nil)
        let found = [
            .damaged("keys/a is damaged"), .withoutCopy, .differing("keys/a and keys/b.copy are two keys"), .lost("keys/a is damaged"),
        ]
        .map(finding)
        #expect(found.map(\.?.level) == [.failure, .warning, .failure, .failure])
        #expect(found.allSatisfy { $0?.line.contains("keys/a") == true && $0?.mend.isEmpty == false })
        #expect(found[0]?.mend.contains("cp -p keys/b.copy keys/a") == true)
        #expect(finding(.open("keys/a can be read by others"))?.mend.hasPrefix("chmod 600 keys/a") == true)
    }

    @Test("R19: an integrator that is reached by text alone, without a provider of SMS, is a failure; with another way to it a warning")
    func textsWithoutProvider() {
        let both = [(name: "milan", alone: true), (name: "rome", alone: false)]
        let findings = Checks.texts(to: both, canBeSent: false)

        #expect(findings.map(\.level) == [.failure, .warning])
        #expect(findings.allSatisfy { $0.mend.contains("TRACKME_NOTIFY_KANNEL_URL") })
        #expect(Checks.texts(to: both, canBeSent: true).map(\.level) == [.ok])
        #expect(Checks.texts(to: [], canBeSent: false).isEmpty)
    }

    @Test("NFR-05: doctor said 100 % in time while test emergencies did not get through, or could not be stored")
    func availability() {
        func reply(ok: Int = 200_000, late: Int = 0, missed: Int = 0, last: String = "ok", uncounted: Int? = 0) -> ReadAvailability.Reply {
            ReadAvailability.Reply(
                dispatcher: .sosDispatcher, since: .now, ok: ok, late: late, missed: missed, lastAt: .now, last: last, uncounted: uncounted)
        }
        #expect(Checks.availability(reply(), lately: reply()).level == .ok)
        #expect(Checks.availability(reply(uncounted: nil)).level == .ok, "a dispatcher of an earlier release")
        #expect(Checks.availability(reply(missed: 2, last: "missed")).level == .failure)
        let unstored = Checks.availability(reply(missed: 2, uncounted: 2))
        #expect(unstored.level == .failure && unstored.detail.contains("2 of them could not be stored"))
        #expect(Checks.availability(reply(missed: 1), lately: reply(ok: 700, missed: 1)).level == .warning)
        #expect(Checks.availability(reply(missed: 1), lately: reply(ok: 700)).level == .ok, "long ago, and within what is promised")
    }

    @Test("doctor said nothing of supervised people whose devices a restore of ingest had forgotten: it warns of how many there are")
    func peopleWithoutDevice() {
        func finding(_ count: Int?) -> Finding? {
            Checks.devices(
                ReadAvailability.Reply(
                    dispatcher: .sosDispatcher, since: nil, ok: 0, late: 0, missed: 0, lastAt: nil, last: nil, withoutDevice: count))
        }
        #expect(finding(nil) == nil && finding(0) == nil)
        #expect(finding(3)?.level == .warning && finding(3)?.detail.hasSuffix(": 3") == true)
    }

    @Test("a mistyped setting is found, and the right one is guessed")
    func strangers() {
        let known: Set<String> = ["TRACKME_SOS_DISPATCH_AT_S", "TRACKME_HTTP_PORT"]

        let found = Checks.unknownSettings(
            ["PATH", "TRACKME_HTTP_PORT", "TRACKME_SOS_DISPATCH_AT", "TRACKME_COLOUR_OF_THE_SKY"], known: known)

        #expect(found.map(\.level) == [.failure, .failure])
        #expect(found[0].mend == "unset it")
        #expect(found[1].mend.contains("TRACKME_SOS_DISPATCH_AT_S"))
        #expect(Checks.unknownSettings(["HOME"], known: known).map(\.level) == [.ok])
    }
}

@Suite("BoundArgument")
struct BoundArgumentTests {
    @Test(
        "SOS-08: bounds are read as they are written, one end may be open",
        arguments: [
            ("heart-rate=50:110", Bounds(low: 50, high: 110)), ("glucose=:250", Bounds(low: nil, high: 250)),
            ("oxygen-saturation=90:", Bounds(low: 90, high: nil)), ("body-temperature=35.5:38.5", Bounds(low: 35.5, high: 38.5)),
        ])
    func reads(text: String, expected: Bounds) throws {
        #expect(try BoundArgument(parsing: text).bounds == expected)
    }

    @Test(
        "SOS-08: what is no bound is refused with the reason",
        arguments: [
            ("heart-rate", "METRIC=LOW:HIGH"), ("heart-rate=50", "METRIC=LOW:HIGH"), ("mood=1:2", "no metric"),
            ("heart-rate=110:50", "below"),
            ("heart-rate=0:110", "greater than 0 and up to 350.0"), ("heart-rate=50:nan", "up to 350.0"), ("heart-rate=:", "neither"),
            ("position=1:2", "METRIC=LOW:HIGH"),
            ("heart-rate=50:110:120", "METRIC=LOW:HIGH"), ("", "METRIC=LOW:HIGH"),
        ])
    func refuses(text: String, reason: String) {
        #expect { try BoundArgument(parsing: text) } throws: { "\($0)".contains(reason) }
    }
}
