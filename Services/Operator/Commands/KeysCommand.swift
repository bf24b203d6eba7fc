// `trackme keys`: the key files of the suite's peers.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Makes and shows the keys of those who talk on the bus.",
        discussion: """
            Each peer has keys/<peer>/ (only for itself, mode 0600) and keys/public/<peer>.json (for all). `trackme up` makes what is \
            missing; back the folder up apart from the data.
            """,
        subcommands: [InitialiseKeys.self, ListKeys.self, AddPeer.self, RotateKeys.self])
}

struct InitialiseKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Makes the keys that are missing; existing ones stay.",
        discussion: "Example: trackme keys init --data /srv/trackme\n\n\(ExitStatus.documentation)")

    @Flag(help: "Complain of damaged files and end well all the same: each is left to the part that reads it, which refuses to start.")
    var leaveDamaged = false
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let made = leaveDamaged ? SuiteKeys.makeMissingOrComplain(suite.layout) : try SuiteKeys.makeMissing(suite.layout)
            Console.shared.line(made.isEmpty ? "nothing was missing" : "made keys of \(made.map(\.name).joined(separator: ", "))")
        }
    }
}

struct ListKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the peers, their public keys and rights.",
        discussion: "Example: trackme keys list\n\n\(ExitStatus.documentation)")

    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let peers = suite.layout.keys.publicPeers()
            if peers.isEmpty { Console.shared.line("no peers in \(suite.layout.keysFolder.path); `trackme keys init` makes the suite's") }
            for known in peers {
                let rights =
                    Peer.suite.contains(known.peer)
                    ? "of the suite"
                    : "hears \((known.hear ?? []).joined(separator: " ")); asks \((known.ask ?? []).joined(separator: " "))"
                Console.shared.line("\(known.peer.name.padded(to: 16))  \(known.key)  \(rights)")
            }
        }
    }
}

struct AddPeer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-peer", abstract: "Allows one more program on the bus.",
        discussion: """
            It may hear the named families of streams, replay included, and ask the named questions, nothing else. Give it its own \
            folder keys/NAME and the public files of those it talks to. Running services admit the new peer within a second.

            Example: trackme keys add-peer research-reader --hear ingest.samples

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Its name: lower-case letters, digits and hyphens, at most 32.")
    var name: String

    @Option(
        name: .customLong("hear"), parsing: .upToNextOption, help: ArgumentHelp("Families of streams it may follow.", valueName: "family"))
    var families: [String] = []

    @Option(name: .customLong("ask"), parsing: .upToNextOption, help: ArgumentHelp("Questions it may ask.", valueName: "method"))
    var methods: [String] = []

    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard PeerName.isValid(name) else { throw ValidationError("a peer's name has 1 to 32 lower-case letters, digits and hyphens") }
        guard !Peer.suite.contains(Peer(name)) else { throw ValidationError("\(name) belongs to the suite; its rights are fixed") }
        let known = Set(StreamFamily.all.map(\.name))
        if let stranger = families.first(where: { !known.contains($0) && !$0.hasPrefix(StreamFamily.dispatchesName(to: "")) }) {
            throw ValidationError("there is no family \(stranger); there are \(known.sorted().joined(separator: ", "))")
        }
        if families.isEmpty, methods.isEmpty { throw ValidationError("give it at least one right with --hear or --ask") }
    }

    func run() async throws {
        try await reportingErrors {
            let keys = suite.layout.keys
            let peer = Peer(name)
            guard !FileManager.default.fileExists(atPath: keys.publicFile(of: peer).path) else {
                throw OperatorError(.failed, "\(name) is there already", mend: "`trackme keys rotate \(name)` gives it a new key")
            }
            try keys.makeBusKeys(KeyFiles.PublicPeer(peer: peer, key: "", hear: families, ask: methods))
            Console.shared.line("made \(keys.publicFile(of: peer).path) and \(keys.file("bus.secret", of: peer).path)")
            for other in AddPeer.talksTo(families, methods) {
                Console.shared.line("give it also \(keys.publicFile(of: other).path)")
            }
        }
    }

    /// Whose public files the peer needs: who publishes what it consumes and who answers what it requests, and whoever stands in for those.
    static func talksTo(_ families: [String], _ methods: [String]) -> [Peer] {
        let publishers = families.map { name in StreamFamily.all.first { $0.name == name }?.owner ?? .sosDispatcher }
        let servers = Questions.all.filter { methods.contains($0.method) }.map { $0.owner }
        let owners = Set(publishers + servers)
        return owners.union(owners.compactMap(\.deputy)).sorted { $0.name < $1.name }
    }
}

struct RotateKeys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Gives a peer a new key pair; the old one is refused from then on.",
        discussion: """
            Running services refuse the old key within a second; a connection that is open already goes on. Restart the peer afterwards, \
            and, where it is a service, those who connect to it: they read its key at their start.

            Example: trackme keys rotate research-reader

            \(ExitStatus.documentation)
            """)

    @Argument(help: "The peer's name.")
    var name: String

    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let keys = suite.layout.keys
            let known: KeyFiles.PublicPeer
            do {
                known = try keys.publicPeer(Peer(name))
            } catch {
                throw OperatorError(.failed, "\(error)", mend: "`trackme keys list` shows the peers")
            }
            try keys.makeBusKeys(known)
            Console.shared.line("\(name) has a new key; restart it and those who connect to it")
        }
    }
}

/// Which names a peer may have: they become folder names.
enum PeerName {
    static func isValid(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count) && !name.hasPrefix("-")
            && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
    }
}

/// The keys of the suite's own peers.
enum SuiteKeys {
    /// As `makeWhatIsMissing`; refused where a file that is there is damaged. Returns those that were missing.
    static func makeMissing(_ layout: SuiteLayout) throws(OperatorError) -> [Peer] {
        let (made, faults) = makeWhatIsMissing(layout)
        if let fault = faults.first {
            throw OperatorError(.configuration, "\(fault)", mend: "mend the named file, or see `trackme doctor`")
        }
        return made
    }

    /// As `makeMissing`, where a damaged file is only reported: the part that reads it refuses to start, and the others run.
    static func makeMissingOrComplain(_ layout: SuiteLayout) -> [Peer] {
        let (made, faults) = makeWhatIsMissing(layout)
        for fault in faults { Console.shared.complain("\(fault)") }
        return made
    }

    /// Made before any service starts, since each needs the public keys of others. Returns whose bus keys were missing, and what is wrong
    /// with files that are there.
    static func makeWhatIsMissing(_ layout: SuiteLayout) -> (made: [Peer], faults: [any Error]) {
        let keys = layout.keys
        var (made, faults): ([Peer], [any Error]) = ([], [])
        func attempt(_ make: () throws -> Void) {
            do { try make() } catch { faults.append(error) }
        }
        for peer in Peer.suite {
            let isThere = FileManager.default.fileExists(atPath: keys.file("bus.secret", of: peer).path)
            attempt {
                _ = try keys.busKeys(of: peer)
                if !isThere { made.append(peer) }
            }
        }
        attempt { _ = try keys.edgeSecret() }
        // What both SOS dispatchers go by; made here, so that two that start at once do not make two.
        return (made, faults + keys.makeShared())
    }
}
