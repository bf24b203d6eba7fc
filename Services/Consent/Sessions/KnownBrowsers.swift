// Browsers that somebody has logged in by: what strangers guess elsewhere keeps their owners from nothing.

import Contracts
import Sealing

/// One browser under one name. Who has guessed wrongly there is counted apart.
struct KnownBrowser: Hashable, Sendable {
    static let bytes = 16

    /// Random, so that it says nothing of anybody.
    let id: [UInt8]
}

/// Signs and reads what a browser keeps after a log-in that succeeded. It proves no account: it only says that the same browser has had
/// the right password of this name before, so that it is held up by its own failures alone (CON-09).
struct KnownBrowsers: Sendable {
    /// Names that one browser is known under, as in a family that shares it; the one used last stands first.
    static let most = 4
    /// Browsers keep no cookie longer than 400 days.
    static let life = Duration.seconds(400 * 24 * 3600)
    private static let separator: Character = "."

    /// `runtime.lookupKey(for: "known-browsers")`.
    let key: LookupKey

    /// Nil where the cookie is missing, forged, or of another name.
    /// - Parameters:
    ///   - cookie: as the browser sent it.
    ///   - login: as it was typed: nothing is looked up for it.
    func find(_ cookie: String?, login: String) -> KnownBrowser? {
        entries(cookie).lazy.compactMap { browser($0, login) }.first
    }

    /// What the browser is to keep after a log-in under this name: the same entry where it had one already.
    func keep(_ cookie: String?, login: String) -> String {
        let known = entries(cookie)
        let own = known.first { browser($0, login) != nil } ?? entry(KnownBrowser(id: Random.bytes(KnownBrowser.bytes)), login)
        return ([own] + known.filter { $0 != own }).prefix(Self.most).joined(separator: String(Self.separator))
    }

    private func entries(_ cookie: String?) -> [String] {
        (cookie ?? "").split(separator: Self.separator).prefix(Self.most).map(String.init)
    }

    private func entry(_ browser: KnownBrowser, _ login: String) -> String {
        Base64URL.encode(browser.id + signature(browser.id, login))
    }

    private func browser(_ entry: String, _ login: String) -> KnownBrowser? {
        guard let bytes = Base64URL.decode(entry), bytes.count == KnownBrowser.bytes + LookupKey.length else { return nil }
        let id = Array(bytes.prefix(KnownBrowser.bytes))
        let isOurs = Digest.constantTimeEqual(Array(bytes.dropFirst(KnownBrowser.bytes)), signature(id, login))
        return isOurs ? KnownBrowser(id: id) : nil
    }

    private func signature(_ id: [UInt8], _ login: String) -> [UInt8] {
        key.lookup(id + Array(login.trimmed.lowercased().utf8))
    }
}
