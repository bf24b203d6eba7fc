// What is well and what is not, as pure functions of what was found on the machine.

import Contracts
import ServiceKit

/// Whether a port can be listened on, and else who listens, where this user may see that.
enum PortState: Hashable, Sendable {
    case free
    /// The suite itself answers there.
    case ours(by: PortHolder?)
    case taken(by: PortHolder?)
    case forbidden
}

/// A file or folder, as the file system describes it.
struct FileFacts: Hashable, Sendable {
    var path: String
    var exists: Bool
    /// Permission bits, such as 0o600.
    var mode: Int
    var isWritable: Bool
    var isOurs: Bool
}

/// How a service answered `--check-config`.
struct ConfigurationFacts: Hashable, Sendable {
    var service: String
    /// Nil where the executable is not there.
    var status: ChildStatus?
    /// The last lines it wrote.
    var complaint: String
}

enum Checks {
    static func library(_ name: String, package: String, isPresent: Bool) -> Finding {
        isPresent
            ? .ok("library \(name)", "found") : .failure("library \(name)", "not found", mend: "apt-get install \(package)")
    }

    /// `version` is nil where caddy is not there.
    static func caddy(version: String?) -> Finding {
        guard let version else {
            return .warning(
                "caddy", "not found: no TLS and no common address, services answer on loopback",
                mend: "apt-get install caddy")
        }
        return .ok("caddy", version)
    }

    static func port(_ port: Int, of part: String, _ state: PortState, setting: String) -> Finding {
        let subject = "port \(port) (\(part))"
        return switch state {
        case .free: .ok(subject, "free")
        case .ours(let holder): .ok(subject, "in use by the running suite" + (holder.map { ", \($0)" } ?? ""))
        case .taken(let holder?):
            .failure(subject, "\(holder) listens there", mend: "stop process \(holder.process), or choose another port with \(setting)")
        case .taken(.none):
            .failure(
                subject, "another process listens there",
                mend: "stop it (as root, `ss -ltnp` names it), or choose another port with \(setting)")
        case .forbidden: .failure(subject, "may not be opened by this user", mend: "choose a port above 1023 with \(setting)")
        }
    }

    /// - Parameter reason: what the part itself wrote when `trackme up` tried it last.
    static func refusal(of part: String, _ reason: String) -> Finding {
        .failure(
            "start of \(part)", "refused: \(reason)",
            mend:
                "mend what it names: a file is looked at again every half minute while the suite runs; a changed setting needs a restart of `trackme up`"
        )
    }

    /// - Parameter remark: what the part, which runs, reports with its readiness.
    static func remark(of part: String, _ remark: String) -> Finding {
        .failure("state of \(part)", remark, mend: "see its log, and docs/operating.md, \"What to do when\"")
    }

    static func folder(_ name: String, _ facts: FileFacts) -> Finding {
        let subject = "folder \(name)"
        guard facts.exists else { return .ok(subject, "\(facts.path) will be made at the first start") }
        guard facts.isOurs else {
            return .failure(subject, "\(facts.path) belongs to another user", mend: "chown -R $(id -u) \(facts.path)")
        }
        guard facts.isWritable else {
            return .failure(subject, "\(facts.path) cannot be written to", mend: "chmod u+rwx \(facts.path)")
        }
        guard facts.mode & 0o022 == 0 else {
            return .failure(subject, "\(facts.path) can be changed by others", mend: "chmod go-w \(facts.path)")
        }
        return .ok(subject, facts.path)
    }

    static func secret(_ facts: FileFacts) -> Finding {
        let subject = "key file"
        guard facts.exists else { return .failure(subject, "\(facts.path) is missing", mend: "trackme keys init") }
        guard facts.mode & 0o077 == 0 else {
            return .failure(subject, "\(facts.path) can be read by others", mend: "chmod 600 \(facts.path)")
        }
        return .ok(subject, facts.path)
    }

    /// A secret that both dispatchers go by; nil where both places hold it.
    static func shared(_ standing: KeyFiles.Standing, original: String, copy: String) -> Finding? {
        let subject = "shared key file"
        return switch standing {
        case .whole: nil
        case .damaged(let fault):
            .failure(
                subject, "\(fault). The dispatchers go by its copy: the next damage stops both",
                mend: "cp -p \(copy) \(original); the dispatchers say so until their next start")
        case .open(let fault): .failure(subject, fault, mend: "chmod 600 \(original), then trackme keys init, which renews the copy")
        case .withoutCopy: .warning(subject, "\(original) has no copy that is whole and the same", mend: "trackme keys init")
        case .differing(let fault):
            .failure(
                subject, fault,
                mend: "where the dispatchers' readiness and log name \(original), cp -p \(copy) \(original); else the reverse")
        case .lost(let fault):
            .failure(subject, "\(fault); its copy \(copy) holds none either", mend: "restore both from the keys' backup")
        }
    }

    /// NFR-05: 99.99 % of the test emergencies of 30 days, in time.
    /// - Parameter lately: of the running hour and the one before; nil where it was not told.
    static func availability(_ reply: ReadAvailability.Reply, lately: ReadAvailability.Reply? = nil) -> Finding {
        let subject = "calls of \(reply.dispatcher)"
        let total = reply.ok + reply.late + reply.missed
        guard total > 0 else { return .ok(subject, "no test emergency yet") }
        let detail = "\(AvailabilityText.percent(reply.ok, of: total)) % of \(total) test emergencies in time"
        if reply.last == "missed" {
            return .failure(subject, "\(detail); the last did not get through", mend: "its log names what is missing: ingest, disk, bus")
        }
        if let uncounted = reply.uncounted, uncounted > 0 {
            return .failure(
                subject, "\(detail); \(uncounted) of them could not be stored", mend: "its disk is full or fails: make room, see its log")
        }
        if let lately, lately.late + lately.missed > 0 {
            return .warning(
                subject, "\(detail); within two hours \(lately.missed) did not get through and \(lately.late) were late",
                mend: "its log says when; what it was down for counts as missed")
        }
        guard (total - reply.ok) * 10_000 > total else { return .ok(subject, detail) }
        return .warning(
            subject, "\(detail), fewer than 99.99 %", mend: "see `trackme sos availability`; what it was down for counts as missed")
    }

    /// Whom nothing can be heard of; nil where there is nobody. It may be their own wish, and they have been told.
    static func devices(_ reply: ReadAvailability.Reply) -> Finding? {
        guard let count = reply.withoutDevice, count > 0 else { return nil }
        return .warning(
            "devices for \(reply.dispatcher)", "people who are supervised and have no device that may deliver: \(count)",
            mend: "after a restore of ingest they must pair their devices anew; `trackme device add --person` for those without an account")
    }

    /// - Parameter integrators: those that have a number, and whether nothing else leads to them.
    static func texts(to integrators: [(name: String, alone: Bool)], canBeSent: Bool) -> [Finding] {
        guard !canBeSent else { return integrators.isEmpty ? [] : [.ok("texts", "a provider of SMS is set")] }
        let mend = "set TRACKME_NOTIFY_KANNEL_URL or TRACKME_NOTIFY_GATEWAY_URL for the notifier"
        return integrators.map { name, alone in
            let subject = "texts to \(name)"
            return alone
                ? .failure(subject, "it is reached by text alone, and no provider of SMS is set: no call will get there", mend: mend)
                : .warning(subject, "no provider of SMS is set: the second channel is missing (SOS-18)", mend: mend)
        }
    }

    private static let mebibyte: Int64 = 1 << 20

    static func disk(free bytes: Int64) -> Finding {
        let detail = "\(bytes / mebibyte) MiB free"
        if bytes < 256 * mebibyte {
            return .failure("disk", detail, mend: "make room: below this, uploads will soon be refused")
        }
        if bytes < 2048 * mebibyte {
            return .warning("disk", detail, mend: "make room: a thousand wearables write some gigabytes a day")
        }
        return .ok("disk", detail)
    }

    /// When this was written: no honest clock is earlier.
    private static let earliest = Timestamp(milliseconds: 1_767_225_600_000)

    static func clock(_ now: Timestamp, isSynchronised: Bool) -> Finding {
        guard now >= earliest else {
            return .failure(
                "clock", "says \(now.rfc3339), which is past", mend: "set it: entries of real devices would be refused as future")
        }
        return isSynchronised
            ? .ok("clock", now.rfc3339)
            : .warning(
                "clock", "\(now.rfc3339), not known to be synchronised",
                mend: "run a time service (apt-get install chrony), unless the host does it for this machine")
    }

    static func openFiles(soft: UInt64, hard: UInt64) -> Finding {
        if soft < 256 {
            return .failure("open files", "limit \(soft)", mend: "ulimit -n 4096 before the start")
        }
        if soft < 1024 {
            return .warning("open files", "limit \(soft) of \(hard)", mend: "ulimit -n 4096: each connected device takes one")
        }
        return .ok("open files", "limit \(soft)")
    }

    /// A UNIX socket's path has at most 107 bytes, of which the longest socket name (`consent.emergency-cards.stream`) takes 31.
    static let busFolderBytes = 76

    static func busFolder(_ path: String) -> Finding {
        path.utf8.count <= busFolderBytes
            ? .ok("bus sockets", path)
            : .failure(
                "bus sockets", "\(path) has \(path.utf8.count) bytes, more than \(busFolderBytes)",
                mend: "set TRACKME_BUS_DIRECTORY to a shorter folder, such as /run/trackme")
    }

    static func configuration(_ facts: ConfigurationFacts) -> Finding {
        let subject = "settings of \(facts.service)"
        switch facts.status {
        case nil:
            return .failure(subject, "its executable is not beside trackme", mend: "swift build, or install all executables in one folder")
        case .exited(0): return .ok(subject, "understood")
        case .exited(127):
            return .failure(subject, "it cannot load a library", mend: "apt-get install libzmq5 libsqlite3-0 libcurl4 libssl3")
        case .some(let status):
            let complaint = facts.complaint.isEmpty ? "\(status)" : facts.complaint
            return .failure(subject, complaint, mend: "correct the setting; `\(facts.service) --check-config` lists all")
        }
    }

    /// Settings in the environment that no part of the suite reads.
    static func unknownSettings(_ environment: some Sequence<String>, known: Set<String>) -> [Finding] {
        let strangers = environment.filter { $0.hasPrefix("TRACKME_") && !known.contains($0) }.sorted()
        guard !strangers.isEmpty else { return [.ok("unknown settings", "none")] }
        return strangers.map { stranger in
            let nearest = known.min { (distance(stranger, $0), $0) < (distance(stranger, $1), $1) }
            let mend = nearest.flatMap { distance(stranger, $0) <= 4 ? "did you mean \($0)? Else unset it" : nil } ?? "unset it"
            return .failure("setting", "\(stranger) is read by nobody", mend: mend)
        }
    }

    /// Levenshtein's edit distance.
    private static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        var row = Array(0...other.count)
        for (i, a) in one.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in other.enumerated() {
                let changed = a == b ? diagonal : diagonal + 1
                diagonal = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[other.count]
    }
}
