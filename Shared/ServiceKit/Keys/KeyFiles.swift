// The files that hold keys: what lies where, how they are made, what makes a start refuse them.

package import Bus
package import Contracts
package import Foundation
package import Sealing

/// `public/<peer>.json` for everybody; `<peer>/<name>` (0600, its folder 0700) for that peer alone, so that each process can
/// be given only its own folder. Secrets are 32 bytes in hex, bus secrets in Z85.
package struct KeyFiles: Sendable {
    package let folder: URL

    package init(folder: URL) {
        self.folder = folder
    }

    /// A file that is missing, readable by others or not what it should be; says which, and the mend.
    package struct Fault: Error, Hashable, CustomStringConvertible {
        package let description: String

        /// - Parameter description: file, cause and mend.
        package init(_ description: String) {
            self.description = description
        }

        /// A secret that is there is not the one that the data were sealed under, or is gone.
        static func another(_ secret: URL, than keys: URL) -> Fault {
            let state =
                FileManager.default.fileExists(atPath: secret.path) ? "is not the secret that \(keys.path) was made with" : "is missing"
            return Fault("\(secret.path) \(state): restore it from the keys' backup; nothing was written under another one")
        }
    }

    // MARK: Secrets of one peer

    /// Where a secret of that peer lies, whether or not it is there.
    package func file(_ name: String, of peer: Peer) -> URL {
        folder.appendingPathComponent(peer.name).appendingPathComponent(name)
    }

    /// 32 random bytes that live as long as the installation; made durable at the first call.
    package func secret(_ name: String, of peer: Peer) throws -> [UInt8] {
        let file = file(name, of: peer)
        if !FileManager.default.fileExists(atPath: file.path) {
            try write(Hex.encode(Random.bytes(32)), to: file)
        }
        return try key(in: file)
    }

    // MARK: The edge's

    /// Where the secret lies by which services know the edge; each of them reads it, and the edge.
    package var edgeSecretFile: URL { folder.appendingPathComponent("edge").appendingPathComponent("edge.secret") }

    /// As the edge shows it; made where it is missing. Nothing lies under it: a lost one may be made anew while nothing runs.
    package func edgeSecret() throws -> String {
        if !FileManager.default.fileExists(atPath: edgeSecretFile.path) {
            try write(Hex.encode(Random.bytes(32)), to: edgeSecretFile)
        }
        return Hex.encode(try key(in: edgeSecretFile))
    }

    // MARK: Reading

    func key(in file: URL) throws -> [UInt8] {
        let text = try readSecret(file)
        guard let bytes = Hex.decode(text), bytes.count == 32 else {
            throw Fault("\(file.path) must hold 64 hex digits; restore it from the keys' backup")
        }
        return bytes
    }

    /// All secrets of 32 bytes that the peer's data lie under, by the names of their files; without those that it shares with another peer,
    /// which have a copy.
    func secrets(of peer: Peer) throws -> [String: SymmetricKey] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(peer.name).path)) ?? []
        var secrets: [String: SymmetricKey] = [:]
        for name in names where !name.hasPrefix(".") && (name.hasSuffix(".key") || name.hasSuffix(".seed")) {
            if SharedSecret.key(name, of: peer) != nil { continue }
            secrets[name] = try SymmetricKey(bytes: secret(name, of: peer))
        }
        return secrets
    }

    /// The text of a secret file, without white space around it. Refused if others than the owner may read it.
    /// - Parameter isOpen: others may.
    package func readSecret(_ file: URL, evenIfOpen isOpen: Bool = false) throws -> String {
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        } catch {
            throw Fault("\(file.path) cannot be read; `trackme keys init` makes what is missing")
        }
        if !isOpen, let mode = attributes[.posixPermissions] as? Int, mode & 0o077 != 0 {
            throw Fault("\(file.path) can be read by others; mend it with: chmod 600 \(file.path)")
        }
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw Fault("\(file.path) is not the text of a key; restore it from the keys' backup")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What is shared with another party for webhooks.
    package func readWebhookSecret(_ file: URL, evenIfOpen isOpen: Bool = false) throws -> WebhookSecret {
        do {
            return try WebhookSecret(readSecret(file, evenIfOpen: isOpen))
        } catch is SealingError {
            throw Fault(
                "\(file.path) must hold whsec_ and 24 to 64 bytes in Base64; restore it from the keys' backup, or put the one "
                    + "there that was agreed upon")
        }
    }

    // MARK: Bus keys

    /// What everybody may know of a peer. `hear` and `ask` are the rights of a peer that has no place in `Contracts`.
    package struct PublicPeer: Hashable, Codable, Sendable {
        package var peer: Peer
        /// Z85, 40 characters.
        package var key: String
        /// Stream families; only for peers that are not the suite's own, whose rights are in `Contracts`.
        package var hear: [String]?
        /// Methods, likewise.
        package var ask: [String]?

        package init(peer: Peer, key: String, hear: [String]? = nil, ask: [String]? = nil) {
            (self.peer, self.key, self.hear, self.ask) = (peer, key, hear, ask)
        }
    }

    /// Where it lies, whether or not it is there.
    package func publicFile(of peer: Peer) -> URL {
        folder.appendingPathComponent("public").appendingPathComponent("\(peer).json")
    }

    /// The peer's own key pair; made with its public file if there is none yet. All that the public file of a peer of the suite says follows
    /// from its secret: where that file alone is gone or damaged it is made again, since those who hear this peer do not start without it.
    package func busKeys(of peer: Peer) throws -> CurveKeyPair {
        let secretFile = file("bus.secret", of: peer)
        if !FileManager.default.fileExists(atPath: secretFile.path) {
            try makeBusKeys(PublicPeer(peer: peer, key: ""))
        }
        if Peer.suite.contains(peer), (try? publicPeer(peer)) == nil, let pair = try? CurveKeyPair(secretKey: readSecret(secretFile)) {
            // Where this process may not write it, the reading below says what is wrong.
            try? write(PublicPeer(peer: peer, key: pair.publicKey))
        }
        let known = try publicPeer(peer)
        let secret = try readSecret(secretFile)
        do {
            return try CurveKeyPair(publicKey: known.key, secretKey: secret)
        } catch {
            throw Fault(
                "\(secretFile.path) and \(publicFile(of: peer).path) do not belong together (\(error.reason)); restore both "
                    + "from the keys' backup, or make new ones with `trackme keys rotate \(peer)`")
        }
    }

    /// Makes a new key pair for the peer, replacing an old one; `template` brings the name and the rights.
    @discardableResult
    package func makeBusKeys(_ template: PublicPeer) throws -> CurveKeyPair {
        let pair = try CurveKeyPair.generate()
        var known = template
        known.key = pair.publicKey
        try write(pair.secretKey, to: file("bus.secret", of: template.peer))
        try write(known)
        return pair
    }

    private func write(_ known: PublicPeer) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        try write(String(decoding: encoder.encode(known), as: UTF8.self), to: publicFile(of: known.peer), mode: 0o644)
    }

    /// - Throws: `Fault` that names the file, where it is missing or unreadable.
    package func publicPeer(_ peer: Peer) throws -> PublicPeer {
        let file = publicFile(of: peer)
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw Fault("\(file.path) is missing; `trackme keys init` makes it")
        }
        guard let known = try? JSONDecoder().decode(PublicPeer.self, from: data), known.peer == peer, CurveKeyPair.isKey(known.key) else {
            throw Fault(
                "\(file.path) is not a public peer file; restore it from the keys' backup, or make new keys with `trackme keys rotate \(peer)`"
            )
        }
        return known
    }

    /// All peers with a public file, by name. A file that cannot be read is left out: it allows nobody.
    package func publicPeers() -> [PublicPeer] {
        let files = try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("public").path)
        return (files ?? []).sorted().compactMap { name in
            name.hasSuffix(".json") ? try? publicPeer(Peer(String(name.dropLast(5)))) : nil
        }
    }

    /// Changes when a public file is made, replaced or removed.
    package var publicFolderStamp: Date? {
        try? folder.appendingPathComponent("public").resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
    }

    // MARK: Writing

    /// Durable under its name before it returns; a crash leaves the old file or the new one.
    package func write(_ text: String, to file: URL, mode: Int = 0o600) throws {
        let parent = file.deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: parent, withIntermediateDirectories: true,
                attributes: [.posixPermissions: mode == 0o600 ? 0o700 : 0o755])
        } catch {
            throw Fault("\(parent.path) cannot be made; see that the folder above it is there and can be written to by this user")
        }
        let draft = parent.appendingPathComponent(".\(file.lastPathComponent).\(UInt32.random(in: 0 ... .max))")
        guard FileManager.default.createFile(atPath: draft.path, contents: nil, attributes: [.posixPermissions: mode]) else {
            throw Fault("\(parent.path) cannot be written to; see who owns it and whether the disk is full or read-only")
        }
        do {
            let handle = try FileHandle(forWritingTo: draft)
            try handle.write(contentsOf: Data((text + "\n").utf8))
            try handle.synchronize()
            try handle.close()
        } catch {
            throw Fault("\(draft.path) cannot be written; see whether the disk is full or read-only")
        }
        guard rename(draft.path, file.path) == 0 else {
            throw Fault("\(file.path) cannot be replaced")
        }
        let directory = open(parent.path, O_RDONLY)
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
    }
}
