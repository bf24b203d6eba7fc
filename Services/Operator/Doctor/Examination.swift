// Examines the machine and hands what it found to the checks.

import Contracts
import Foundation
import ServiceKit

struct Examination: Sendable {
    let layout: SuiteLayout
    let ports: SuitePorts

    private static let libraries = [
        ("libzmq.so.5", "libzmq5"), ("libsqlite3.so.0", "libsqlite3-0"), ("libcurl.so.4", "libcurl4"), ("libssl.so.3", "libssl3"),
        ("libz.so.1", "zlib1g"),
    ]

    func findings() async -> [Finding] {
        var findings = Examination.libraries.map { name, package in
            Checks.library(name, package: package, isPresent: Examination.canLoad(name))
        }
        findings.append(Checks.caddy(version: await caddyVersion()))
        for (port, part, setting) in ports.all {
            let state = await PortProbe().state(of: port, isEdge: ports.isEdge(port))
            findings.append(Checks.port(port, of: part, state, setting: setting))
            guard case .ours = state, !ports.isEdge(port) else { continue }
            findings += await Readiness().remarks(port: port).map { Checks.remark(of: part, $0) }
        }
        findings += SuiteRefusals.read(layout.refusalsFile).sorted { $0.key < $1.key }.map { Checks.refusal(of: $0.key, $0.value) }
        findings += folders() + keyFiles()
        findings.append(Checks.busFolder(layout.busFolder.path))
        findings.append(Checks.disk(free: Examination.freeBytes(near: layout.data)))
        findings.append(Checks.clock(.now, isSynchronised: Examination.clockIsSynchronised()))
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        findings.append(Checks.openFiles(soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max)))
        let (configured, effective) = await settings()
        return findings + configured + (await availability()) + (await texts(effective))
    }

    /// Whether integrators that are reached by text alone can be.
    private func texts(_ effective: [String: String]) async -> [Finding] {
        let registered = try? await SuiteConnection.with(layout) { connection in
            try await connection.ask(ListIntegrators(), deadline: .milliseconds(300)).integrators.filter { !$0.isRetired }.map(\.settings)
        }
        var byText = (registered ?? []).filter { $0.number != nil }.map { ($0.name, alone: $0.url == nil && $0.peer == nil) }
        if registered == nil, effective["sos.number"] ?? "-" != "-" {
            byText = [(effective["sos.integrator"] ?? "desk", alone: effective["sos.webhook_url"] ?? "-" == "-")]
        }
        let providers = ["notify.kannel_url", "notify.kannel2_url", "notify.gateway_url"].filter { effective[$0] ?? "-" != "-" }
        return Checks.texts(to: byText, canBeSent: !providers.isEmpty)
    }

    /// Of the dispatchers that run; nothing where none does.
    private func availability() async -> [Finding] {
        guard FileManager.default.fileExists(atPath: layout.keysFolder.path) else { return [] }
        let findings = try? await SuiteConnection.with(layout) { connection in
            @Sendable func read(_ hours: Int64, _ peer: Peer) async -> ReadAvailability.Reply? {
                try? await connection.ask(ReadAvailability(hours: hours), at: peer, deadline: .milliseconds(300))
            }
            var findings: [Finding] = []
            for peer in [Peer.sosDispatcher, .sosDeputy] {
                guard let month = await read(24 * 30, peer) else { continue }
                findings.append(Checks.availability(month, lately: await read(2, peer)))
                if let finding = Checks.devices(month) { findings.append(finding) }
            }
            return findings
        }
        return findings ?? []
    }

    // MARK: Programs and settings

    private func caddyVersion() async -> String? {
        guard let caddy = SystemProgram.find("caddy") else { return nil }
        let (status, lines) = await Examination.output(
            of: ChildCommand(executable: caddy, arguments: ["version"], environment: layout.environment))
        return status == .exited(0) ? lines.first ?? "" : nil
    }

    /// What is wrong with settings, and what is in force of all services, by key.
    private func settings() async -> (findings: [Finding], effective: [String: String]) {
        var (findings, effective): ([Finding], [String: String]) = ([], [:])
        var known = OperatorSettings.variables
        for service in ServiceExecutable.all() {
            var facts = ConfigurationFacts(service: service.peer.name, status: nil, complaint: "")
            if service.isThere {
                let command = ChildCommand(
                    executable: service.file.path, arguments: ["--check-config"],
                    environment: layout.environment(of: service.peer, httpPort: service.port))
                let (status, lines) = await Examination.output(of: command)
                let table = lines.map { $0.split(separator: " ") }
                    .filter { $0.count > 1 && $0[0].contains(".") && !$0[0].hasPrefix("TRACKME_") }
                for row in table { effective[String(row[0])] = String(row[1]) }
                known.formUnion(table.map { SettingsReader.variable(for: String($0[0])) })
                facts.status = status
                facts.complaint = lines.filter { $0.hasPrefix("TRACKME_") }.joined(separator: "; ")
            }
            findings.append(Checks.configuration(facts))
        }
        return (findings + Checks.unknownSettings(ProcessInfo.processInfo.environment.keys, known: known), effective)
    }

    /// Runs a program to its end; no program of the suite takes longer than ten seconds for this.
    private static func output(of command: ChildCommand) async -> (ChildStatus, [String]) {
        let (stream, continuation) = AsyncStream<String>.makeStream()
        let child = Task {
            await withCheckedContinuation { (ended: CheckedContinuation<ChildStatus, Never>) in
                let process = ChildProcess(command) {
                    continuation.yield($0)
                } exited: {
                    ended.resume(returning: $0)
                }
                Task {
                    try? await Task.sleep(for: .seconds(10))
                    process.signal(SIGKILL)
                }
            }
        }
        let status = await child.value
        continuation.finish()
        var lines: [String] = []
        for await line in stream { lines.append(line) }
        return (status, lines)
    }

    // MARK: The machine

    private static func canLoad(_ name: String) -> Bool {
        guard let handle = dlopen(name, RTLD_LAZY) else { return false }
        dlclose(handle)
        return true
    }

    private func folders() -> [Finding] {
        [("data", layout.data), ("keys", layout.keysFolder), ("bus", layout.busFolder)].map { name, folder in
            Checks.folder(name, Examination.facts(folder))
        }
    }

    private func keyFiles() -> [Finding] {
        guard FileManager.default.fileExists(atPath: layout.keysFolder.path) else { return [] }
        let found = Peer.suite.flatMap { peer -> [FileFacts] in
            let folder = layout.keysFolder.appendingPathComponent(peer.name)
            let names = Set((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).union(["bus.secret"])
            return names.filter { !$0.hasPrefix(".") }.sorted().map { Examination.facts(folder.appendingPathComponent($0)) }
        }
        let keys = layout.keys
        let shared = SharedSecret.all.compactMap { secret in
            let (original, copy) = keys.places(of: secret)
            return Checks.shared(keys.standing(of: secret), original: original.path, copy: copy.path)
        }
        let faults = found.map(Checks.secret).filter { $0.level != .ok } + shared
        return faults.isEmpty ? [.ok("key files", "\(found.count) files, none readable by others")] : faults
    }

    private static func facts(_ file: URL) -> FileFacts {
        var information = stat()
        guard stat(file.path, &information) == 0 else {
            return FileFacts(path: file.path, exists: false, mode: 0, isWritable: false, isOurs: false)
        }
        return FileFacts(
            path: file.path, exists: true, mode: Int(information.st_mode & 0o777), isWritable: access(file.path, W_OK) == 0,
            isOurs: information.st_uid == geteuid())
    }

    /// Of the file system that holds the folder, or will.
    private static func freeBytes(near folder: URL) -> Int64 {
        var folder = folder
        while !FileManager.default.fileExists(atPath: folder.path), folder.path != "/" { folder.deleteLastPathComponent() }
        var information = statvfs()
        guard statvfs(folder.path, &information) == 0 else { return 0 }
        return Int64(information.f_bavail) * Int64(information.f_frsize)
    }

    /// What time services leave where they run.
    private static let clockServices = [
        "/run/systemd/timesync/synchronized", "/run/chrony/chronyd.pid", "/run/ntpd.pid", "/run/ntpsec.pid",
    ]

    private static func clockIsSynchronised() -> Bool {
        clockServices.contains { FileManager.default.fileExists(atPath: $0) }
    }
}
