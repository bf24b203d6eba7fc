// The secrets that both SOS dispatchers go by, each in two files: one damaged file must not stop both (0040).

import Contracts
package import Foundation
import Sealing

/// A secret whose file lies in the first dispatcher's folder, with a copy in the second's.
package struct SharedSecret: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// 32 bytes that live as long as the installation: each dispatcher's own keys database knows the right ones.
        case key
        /// Agreed upon with another party; whoever replaces one replaces the file in the first dispatcher's folder.
        case webhook, token
    }

    /// Of its file.
    package let name: String
    package let kind: Kind

    package static let webhook = SharedSecret(name: "webhook.secret", kind: .webhook)
    package static let heartbeat = SharedSecret(name: "heartbeat.secret", kind: .webhook)
    package static let token = SharedSecret(name: "integrator.token", kind: .token)
    package static let all =
        ["emergency-identity.key", "signing.seed", "capabilities.key"].map { SharedSecret(name: $0, kind: .key) }
        + [webhook, heartbeat, token]

    static let owner = Peer.sosDispatcher
    private static let keeper = Peer.sosDeputy

    /// The key of that name; nil for what one peer goes by alone.
    static func key(_ name: String, of owner: Peer) -> SharedSecret? {
        owner == Self.owner ? all.first { $0.kind == .key && $0.name == name } : nil
    }

    /// A new one at random.
    package func make() -> String {
        switch kind {
        case .key: Hex.encode(Random.bytes(32))
        case .webhook: WebhookSecret.random().text
        case .token: Base64URL.encode(Random.bytes(32))
        }
    }

    fileprivate func original(in keys: KeyFiles) -> URL { keys.file(name, of: Self.owner) }
    /// Its name is not that of a key of the second dispatcher's own.
    fileprivate func copy(in keys: KeyFiles) -> URL { keys.file(name + ".copy", of: Self.keeper) }
}

extension KeyFiles {
    /// Where a shared secret lies, whether or not it is there.
    package func places(of secret: SharedSecret) -> (original: URL, copy: URL) {
        (secret.original(in: self), secret.copy(in: self))
    }

    /// The text of a file that holds what such a secret must be.
    /// - Throws: `Fault`.
    package func whole(_ secret: SharedSecret, in file: URL) throws -> String {
        try whole(secret, in: file, evenIfOpen: false)
    }

    private func whole(_ secret: SharedSecret, in file: URL, evenIfOpen isOpen: Bool) throws -> String {
        switch secret.kind {
        case .key: return Hex.encode(try key(in: file))
        case .webhook:
            _ = try readWebhookSecret(file, evenIfOpen: isOpen)
            return try readSecret(file, evenIfOpen: isOpen)
        case .token:
            let text = try readSecret(file, evenIfOpen: isOpen)
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Fault(
                    "\(file.path) must hold a token of visible characters; restore it from the keys' backup, or put the one there that was "
                        + "agreed upon")
            }
            return text
        }
    }

    /// A secret that was agreed upon with another party; made where it is in neither place. The original decides wherever it is whole, so
    /// that both dispatchers go by the same one; one that is the beginning of its copy was cut off. One that others may read, as whoever has
    /// just replaced a secret leaves it, is gone by all the same: its copy is an older one, which may be what was given up.
    /// - Returns: `fault` says what is wrong with the original, whether or not the copy stands in.
    /// - Throws: `Fault` where neither holds one.
    package func text(of secret: SharedSecret) throws -> (text: String, fault: Fault?) {
        let (original, copy) = places(of: secret)
        if !isThere(original), !isThere(copy) { try write(secret.make(), to: original) }
        do {
            let text = try whole(secret, in: original)
            if isCutOff(text, of: secret) { throw Fault.cutOff(original) }
            return (text, nil)
        } catch let fault as Fault {
            if let open = openText(of: secret) { return (open, fault) }
            guard let kept = try? whole(secret, in: copy) else { throw fault }
            return (kept, fault.covered(by: copy))
        }
    }

    /// Of an original whose only fault is that others may read it; never of a key, whose copy is the same.
    private func openText(of secret: SharedSecret) -> String? {
        guard secret.kind != .key, let text = try? whole(secret, in: places(of: secret).original, evenIfOpen: true) else { return nil }
        return isCutOff(text, of: secret) ? nil : text
    }

    private func isCutOff(_ text: String, of secret: SharedSecret) -> Bool {
        guard secret.kind != .key, let kept = try? whole(secret, in: places(of: secret).copy) else { return false }
        return kept != text && kept.hasPrefix(text)
    }

    private func isThere(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }

    // MARK: For the operator

    /// Makes each secret that is in neither place, restores an original that is gone, and makes copies that are gone or damaged or older
    /// than what was agreed upon since. A key is never replaced by another: which is the right one only the dispatchers know.
    /// - Returns: what is wrong with files that are there.
    package func makeShared() -> [any Error] {
        SharedSecret.all.compactMap { secret in
            let (original, copy) = places(of: secret)
            do {
                if !isThere(original) { try write(isThere(copy) ? whole(secret, in: copy) : secret.make(), to: original) }
                let text = try whole(secret, in: original)
                let kept = try? whole(secret, in: copy)
                if kept == text { return nil }
                if isCutOff(text, of: secret) { throw Fault.cutOff(original) }
                if kept != nil, secret.kind == .key { throw Fault.differing(original, copy) }
                try write(text, to: copy)
                return nil
            } catch {
                return error
            }
        }
    }

    /// How a shared secret stands, for `trackme doctor`.
    package enum Standing: Hashable, Sendable {
        case whole
        /// The copy stands in; with what is wrong.
        case damaged(String)
        /// Others may read it, and it is gone by; with what is wrong, and the mend.
        case open(String)
        /// The next damage would be the last.
        case withoutCopy
        /// Both are keys, and not the same.
        case differing(String)
        /// Neither place holds one; with what is wrong.
        case lost(String)
    }

    package func standing(of secret: SharedSecret) -> Standing {
        let (original, copy) = places(of: secret)
        let kept = try? whole(secret, in: copy)
        do {
            let text = try whole(secret, in: original)
            if isCutOff(text, of: secret) { throw Fault.cutOff(original) }
            if kept == text { return .whole }
            return kept != nil && secret.kind == .key ? .differing(Fault.differing(original, copy).description) : .withoutCopy
        } catch {
            if openText(of: secret) != nil { return .open("\(error)") }
            return kept == nil ? .lost("\(error)") : .damaged("\(error)")
        }
    }
}

extension KeyFiles.Fault {
    fileprivate static func cutOff(_ file: URL) -> Self {
        Self("\(file.path) ends too early; restore it from the keys' backup")
    }

    fileprivate static func differing(_ original: URL, _ copy: URL) -> Self {
        Self("\(original.path) and its copy \(copy.path) are two keys; restore the wrong one of them from the keys' backup")
    }

    /// With what stands in meanwhile.
    func covered(by copy: URL) -> Self {
        Self("\(description); until then its copy \(copy.path) is used")
    }
}
