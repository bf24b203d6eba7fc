// A mail server for tests: takes mail by SMTP, keeps it, and misbehaves as it is told.

import Foundation
import Synchronization

/// Listens on loopback with blocking sockets on threads of its own. Takes every mail unless a turn says otherwise.
package final class MailPeer: Sendable {
    /// What to answer to a verb instead of the usual.
    package enum Turn: Sendable {
        case reply(String)
        /// Ends the connection instead of answering.
        case hangUp
        /// Never answers; the connection stays open until the other side ends it.
        case silence
    }

    /// A mail that was taken.
    package struct Mail: Sendable {
        /// The lines MAIL and RCPT as they came.
        package var from: String
        package var to: [String]
        /// As it came, leading dots still doubled, without the last line.
        package var data: String
    }

    private static let usual: [String: Turn] = [
        "GREETING": .reply("220 test ESMTP"), "EHLO": .reply("250-test\r\n250 8BITMIME"), "MAIL": .reply("250 2.1.0 Ok"),
        "RCPT": .reply("250 2.1.5 Ok"), "DATA": .reply("354 Go on"), "END": .reply("250 2.0.0 Taken"), "QUIT": .reply("221 Bye"),
    ]

    fileprivate struct State: Sendable {
        var turns: [String: Turn]
        var mails: [Mail] = []
        var verbs: [String] = []
        var listener: Int32 = -1
        var open: Set<Int32> = []
    }

    fileprivate let state: Mutex<State>
    /// On loopback, chosen by the kernel; the same after `reopen`.
    package let port: Int

    /// - Parameter turns: by verb: `GREETING`, `EHLO`, `MAIL`, `RCPT`, `DATA`, `END` (of the data), `QUIT`.
    package init(_ turns: [String: Turn] = [:]) {
        let (descriptor, port) = MailPeer.bound(to: 0)
        self.port = port
        state = Mutex(State(turns: MailPeer.usual.merging(turns) { $1 }))
        listen(on: descriptor)
    }

    deinit {
        close()
    }

    package var url: String { "smtp://127.0.0.1:\(port)" }
    /// Those taken so far, oldest first.
    package var mails: [Mail] { state.withLock { $0.mails } }
    /// Of all connections, in order; END is the dot behind the data.
    package var verbs: [String] { state.withLock { $0.verbs } }

    /// From now on.
    package func become(_ turns: [String: Turn]) {
        state.withLock { $0.turns = MailPeer.usual.merging(turns) { $1 } }
    }

    /// As if the process had been killed: nobody listens, and connections are gone.
    package func close() {
        state.withLock { state in
            for descriptor in state.open.union([state.listener]) where descriptor >= 0 { shutdown(descriptor, Int32(SHUT_RDWR)) }
            state.listener = -1
        }
    }

    /// Listens again, where it did before.
    package func reopen() {
        listen(on: MailPeer.bound(to: port).descriptor)
    }

    private func listen(on descriptor: Int32) {
        state.withLock { $0.listener = descriptor }
        Foundation.listen(descriptor, 128)
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0, let self else { break }
                self.state.withLock { _ = $0.open.insert(connection) }
                Thread.detachNewThread {
                    var talk = MailTalk(connection, with: self)
                    talk.hold()
                    self.state.withLock { _ = $0.open.remove(connection) }
                    Foundation.close(connection)
                }
            }
            Foundation.close(descriptor)
        }
    }

    private static func bound(to port: Int) -> (descriptor: Int32, port: Int) {
        guard let bound = try? Loopback.bound(port) else { preconditionFailure("the port is taken") }
        return bound
    }
}

extension MailPeer.Mail {
    /// The header's value, unfolded, encoded words decoded; nil where there is none.
    package func header(_ name: String) -> String? {
        let head = data.components(separatedBy: "\r\n\r\n")[0].replacing("\r\n ", with: " ")
        let line = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
        return line.map { line in
            let value = String(line.dropFirst(name.count + 2)).replacing("?= =?", with: "?==?")
            return value.replacing(/=\?UTF-8\?B\?([^?]*)\?=/) { word in
                Data(base64Encoded: String(word.1)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            }
        }
    }

    /// The text, decoded from quoted-printable, with plain line ends.
    package var text: String {
        let body = data.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
        var rest = Array(body.replacing("=\r\n", with: "").replacing("\r\n", with: "\n").utf8)[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The first address in the text that begins with `prefix`; what a reader would click on.
    package func link(_ prefix: String = "http") -> String? {
        text.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix(prefix) }.map(String.init)
    }
}

/// One connection from its greeting to its end.
private struct MailTalk {
    private let connection: Int32
    private let peer: MailPeer
    private var buffer: [UInt8] = []
    private var mail = MailPeer.Mail(from: "", to: [], data: "")

    init(_ connection: Int32, with peer: MailPeer) {
        (self.connection, self.peer) = (connection, peer)
    }

    mutating func hold() {
        guard say("GREETING") else { return }
        while let line = readLine() {
            let verb = String(line.prefix { $0.isLetter }).uppercased()
            peer.state.withLock { $0.verbs.append(verb) }
            if verb == "MAIL" { mail = MailPeer.Mail(from: line, to: [], data: "") }
            if verb == "RCPT" { mail.to.append(line) }
            guard say(verb), verb != "QUIT" else { return }
            if verb == "DATA", case .reply(let text) = turn("DATA"), text.hasPrefix("354") {
                guard takeData() else { return }
            }
        }
    }

    private func turn(_ verb: String) -> MailPeer.Turn {
        peer.state.withLock { $0.turns[verb] } ?? .reply("502 5.5.1 Unknown")
    }

    private mutating func takeData() -> Bool {
        var lines: [String] = []
        while let line = readLine() {
            guard line != "." else {
                mail.data = lines.map { $0 + "\r\n" }.joined()
                // In one: who sees END among the verbs may change the turns.
                let answer = peer.state.withLock { state in
                    state.verbs.append("END")
                    let turn = state.turns["END"] ?? .hangUp
                    if case .reply(let text) = turn, text.hasPrefix("250") { state.mails.append(mail) }
                    return turn
                }
                return take(answer)
            }
            lines.append(line)
        }
        return false
    }

    private mutating func say(_ verb: String) -> Bool { take(turn(verb)) }

    private mutating func take(_ turn: MailPeer.Turn) -> Bool {
        switch turn {
        case .reply(let text):
            let bytes = Array((text + "\r\n").utf8)
            return send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        case .hangUp: return false
        case .silence:
            while readLine() != nil {}
            return false
        }
    }

    /// Without its CRLF; nil at the end.
    private mutating func readLine() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffer[..<end], as: UTF8.self)
                buffer.removeSubrange(...end)
                return line.hasSuffix("\r") ? String(line.dropLast()) : line
            }
            var piece = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(connection, &piece, piece.count, 0)
            guard count > 0 else { return nil }
            buffer += piece[..<count]
        }
    }
}
