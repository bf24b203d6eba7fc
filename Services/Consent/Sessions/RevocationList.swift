// Sessions that were ended, in a file beside the store: a copy that is restored does not know what was ended after it was made.

import Contracts
import Foundation
import Glibc
import Logging
import Storage
import Synchronization

/// `consent.revoked`. An end is in it, durably, before it is committed; so it may name a session whose end was undone, and never lacks one.
/// It is in no backup, and one that cannot be trusted any more is removed: a restore without it ends every session.
final class RevocationList: Sendable {
    struct Entry: Hashable, Sendable {
        let session: SessionID
        let at: Timestamp
    }

    struct Contents: Hashable, Sendable {
        /// Random, made with the file; the store knows it too. A copy of the store that knows it was made when the file was there.
        let name: String
        var entries: [Entry]
    }

    private enum State {
        case closed
        case open(Int32)
        /// A write failed, and the file could not be removed.
        case incomplete
    }

    private static let heading = "revoked-sessions 1 "

    private let file: URL
    private let logger: Logger
    private let state = Mutex(State.closed)

    /// - Parameter store: the store's own file.
    init(beside store: URL, logger: Logger) {
        file = store.deletingPathExtension().appendingPathExtension("revoked")
        self.logger = logger
    }

    deinit {
        state.withLock { state in
            if case .open(let descriptor) = state { _ = close(descriptor) }
        }
    }

    /// Nil where there is none, or not all of it can be read. A last line that is cut was not followed by a commit.
    func contents() -> Contents? {
        guard let data = try? Data(contentsOf: file) else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        guard let end = text.lastIndex(of: "\n") else { return nil }
        let lines = text[..<end].split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, first.hasPrefix(Self.heading) else { return nil }
        var entries: [Entry] = []
        for line in lines.dropFirst() {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let session = SessionID(String(parts[0])), let at = Int64(parts[1]) else { return nil }
            entries.append(Entry(session: session, at: Timestamp(milliseconds: at)))
        }
        return Contents(name: String(first.dropFirst(Self.heading.count)), entries: entries)
    }

    /// Writes the file anew and opens it. Where it cannot be written the service runs without one.
    /// - Parameters:
    ///   - known: the name that the store knows.
    ///   - life: the longest that a session has: what ended so long ago could not be alive in any copy any more. Judged by `now` or, where
    ///     that is earlier, by the newest entry, so that a clock that is ahead at one start forgets nothing.
    /// - Returns: the name of what is kept from now on, for the store; what was ended before may not be in it where it is another one.
    func begin(knownAs known: String, keepingFor life: Duration, at now: Timestamp) -> String {
        var contents = Contents(name: String(UInt128.random(in: .min ... .max), radix: 16), entries: [])
        if let found = self.contents(), found.name == known {
            let oldest = min(now, found.entries.map(\.at).max() ?? now) - life
            contents = Contents(name: known, entries: found.entries.filter { $0.at >= oldest })
        }
        return state.withLock { state in
            if case .open(let descriptor) = state { _ = close(descriptor) }
            state = .closed
            do {
                state = .open(try replace(with: contents))
            } catch {
                logger.error("the list of revoked sessions cannot be written", metadata: ["error": "\(error)"])
                // Only what is whole may be believed.
                state = remove() ? .closed : .incomplete
            }
            return contents.name
        }
    }

    /// Durable when it returns; to be called before the commit. Waits for the disk as the commit does.
    /// - Throws: where it could neither be written nor removed: then nothing may be ended, since a restore would undo it.
    func add(_ sessions: [SessionID], at now: Timestamp) throws {
        guard !sessions.isEmpty else { return }
        try state.withLock { state in
            switch state {
            case .closed: return
            case .open(let descriptor):
                let lines = sessions.map { Self.line($0, now) }.joined()
                if Self.write(Array(lines.utf8), to: descriptor) { return }
                let code = errno
                _ = close(descriptor)
                logger.error("the list of revoked sessions cannot be written", metadata: ["errno": "\(code)"])
                state = .incomplete
            case .incomplete: break
            }
            guard remove() else { throw StoreError.unreachable(errno: errno) }
            state = .closed
        }
    }

    // MARK: The file

    private static func line(_ session: SessionID, _ at: Timestamp) -> String {
        "\(session) \(at.milliseconds)\n"
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return false }
            rest = rest.dropFirst(written)
        }
        return fdatasync(descriptor) == 0
    }

    /// - Returns: open for what is to be added.
    private func replace(with contents: Contents) throws(StoreError) -> Int32 {
        let draft = file.appendingPathExtension("draft").path
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unreachable(errno: errno) }
        let text = Self.heading + contents.name + "\n" + contents.entries.map { Self.line($0.session, $0.at) }.joined()
        guard Self.write(Array(text.utf8), to: descriptor), rename(draft, file.path) == 0, syncFolder() else {
            let code = errno
            _ = close(descriptor)
            unlink(draft)
            throw .unreachable(errno: code)
        }
        return descriptor
    }

    /// Whether the file is gone for good.
    private func remove() -> Bool {
        (unlink(file.path) == 0 || errno == ENOENT) && syncFolder()
    }

    private func syncFolder() -> Bool {
        let descriptor = open(file.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { _ = close(descriptor) }
        return fsync(descriptor) == 0
    }
}
