// Handing mail to a server by SMTP, for callers that await: who it is given to, what it is, what came of it.

import CCurl
package import Logging
import Synchronization

/// The server that takes all outgoing mail and sees to the rest.
package struct MailServer: Sendable, CustomStringConvertible {
    /// `smtp://host:587` (STARTTLS) or `smtps://host` (TLS from the first byte), without a path.
    package var url: String
    /// How this side calls itself in EHLO: a domain name.
    package var greeting: String
    /// Whether the connection must be encrypted and the certificate trusted; without it only a relay on the same machine makes sense.
    package var isEncrypted: Bool
    /// Only where `isEncrypted`: else the server is not well formed and nothing is sent.
    package var credentials: Credentials?

    /// Never printed.
    package struct Credentials: Sendable, CustomStringConvertible {
        let name: String
        let password: String

        package init(name: String, password: String) {
            (self.name, self.password) = (name, password)
        }

        package var description: String { "Credentials(…)" }
    }

    package init(url: String, greeting: String, isEncrypted: Bool = true, credentials: Credentials? = nil) {
        (self.url, self.greeting, self.isEncrypted, self.credentials) = (url, greeting, isEncrypted, credentials)
    }

    /// Never with credentials: a URL that is well formed holds none.
    package var description: String { url }

    /// Whether libcurl cannot read anything else into it than a host and a port, and no password crosses a line in the clear.
    package var isWellFormed: Bool {
        let rest = url.hasPrefix("smtp://") ? url.dropFirst(7) : url.hasPrefix("smtps://") ? url.dropFirst(8) : ""
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]".utf8)
        return !rest.isEmpty && rest.utf8.allSatisfy(allowed.contains) && !greeting.isEmpty && greeting.utf8.allSatisfy(allowed.contains)
            && (isEncrypted || credentials == nil)
    }
}

/// One mail for one recipient.
package struct OutboundMail: Sendable {
    /// Of the envelope: where failures are reported to.
    package var sender: MailAddress
    /// Of the envelope, whatever the headers say.
    package var recipient: MailAddress
    /// Headers and body with CRLF line ends, as `MailMessage.encoded()` makes them.
    package var data: [UInt8]
    /// From `send` to the server's last word. Servers look into mail before they take it, and that takes its time.
    package var timeout: Duration
    /// For name, TCP and TLS together.
    package var connectTimeout: Duration

    package init(
        sender: MailAddress, recipient: MailAddress, data: [UInt8], timeout: Duration = .seconds(120),
        connectTimeout: Duration = .seconds(10)
    ) {
        (self.sender, self.recipient, self.data) = (sender, recipient, data)
        (self.timeout, self.connectTimeout) = (timeout, connectTimeout)
    }
}

/// Why a mail is not known to have been taken.
package enum MailError: Error, Hashable, Sendable {
    /// Nothing was handed over: the server cannot be reached, is not trusted, or does not know us. The same mail may be sent again.
    case notSent(OutboundError)
    /// The server said: not now (4yz).
    case postponed(code: Int)
    /// The server said: never (5yz), about this recipient or this mail.
    case refused(code: Int)
    /// Everything was handed over and no word came back: it was taken or not.
    case unknown
}

/// Hands mails to one server, each over a connection of its own. Mails that are cancelled are aborted. libcurl holds its whole thread
/// while it waits for a mail server's last word, so each mail that is under way has a thread, which is kept for the next: whoever
/// calls decides how many.
package final class MailSender: Sendable {
    private let server: MailServer
    private let settings: OutboundSettings
    private let logger: Logger
    private let idle = Mutex<[TransferLoop]>([])

    /// - Parameter settings: its policy must permit the server; the numbers of transfers and connections do not matter.
    package init(_ server: MailServer, _ settings: OutboundSettings, logger: Logger) {
        self.server = server
        var settings = settings
        (settings.parallel, settings.warmConnections) = (1, 1)
        (self.settings, self.logger) = (settings, logger)
    }

    deinit {
        idle.withLock { loops in
            for loop in loops { loop.stop() }
        }
    }

    /// Returns once the server has taken the responsibility (250 after the data).
    package func send(_ mail: OutboundMail) async throws(MailError) {
        guard server.isWellFormed else { throw .notSent(.malformed) }
        let transfer = Transfer(.mail(mail, to: server))
        let loop = idle.withLock { $0.popLast() } ?? TransferLoop(settings, logger: logger)
        let outcome = await loop.carry(transfer)
        idle.withLock { $0.append(loop) }
        if case .failure(let error) = outcome {
            throw MailError(error, lastReply: transfer.status, wasHandedOver: transfer.wasHandedOver)
        }
    }
}

extension MailError {
    /// Replies that are about this side's log-in and not about the mail (RFC 4954).
    private static let logIn: Set<Int> = [530, 534, 535, 538]
    /// libcurl's words for a reply that MAIL, RCPT or DATA did not want, and for one that did not fit where it came.
    private static let unwanted: Set<OutboundError> = [
        .other(Int(CURLE_SEND_ERROR.rawValue)), .other(Int(CURLE_WEIRD_SERVER_REPLY.rawValue)), .other(Int(CURLE_RECV_ERROR.rawValue)),
    ]
    private static let sendError = OutboundError.other(Int(CURLE_SEND_ERROR.rawValue))

    init(_ error: OutboundError, lastReply: Int, wasHandedOver: Bool) {
        let isUnwanted = MailError.unwanted.contains(error)
        let isVerdict = isUnwanted && lastReply >= 400 && !MailError.logIn.contains(lastReply)
        switch lastReply {
        case _ where isUnwanted && !wasHandedOver && MailError.logIn.contains(lastReply): self = .notSent(.logInRefused)
        case 400..<500 where isVerdict: self = .postponed(code: lastReply)
        // Before the data only an unwanted reply to MAIL, RCPT or DATA is about the mail; a refused greeting is not.
        case 500..<600 where isVerdict && (wasHandedOver || error == MailError.sendError): self = .refused(code: lastReply)
        default: self = wasHandedOver ? .unknown : .notSent(error)
        }
    }
}
