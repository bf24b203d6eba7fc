// Mail by SMTP.

import Contracts
import Logging
import Outbound

struct MailCarrier: Carrier {
    static let provider = "smtp"
    /// Replies about the recipient (RFC 5321 §4.2.3); other refusals are about the mail or us.
    private static let aboutRecipient = 550...553

    /// nil: no mail server is configured.
    let sender: MailSender?
    let from: MailAddress
    let fromName: String
    let timeout: Duration
    let logger: Logger

    var providers: [String] { sender == nil ? [] : [MailCarrier.provider] }

    /// The same message is the same mail, byte for byte, on every attempt: its `Message-ID` shows a repetition for what it is.
    func carry(_ letter: Letter, by provider: String) async -> Delivery.Outcome {
        guard let sender else { return .unreachable }
        guard let to = MailAddress(letter.address) else { return .refused("address-refused") }
        var message = MailMessage(
            id: "\(letter.message)", at: letter.createdAt, from: from, fromName: fromName, to: to, subject: letter.text.subject,
            text: letter.text.mail, language: letter.language.rawValue)
        message.list = letter.list
        do {
            try await sender.send(OutboundMail(sender: from, recipient: to, data: message.encoded(), timeout: timeout))
            return .taken(receipts: false)
        } catch {
            switch error {
            case .notSent(let reason):
                if reason == .logInRefused {
                    logger.error("the mail server refuses the log-in: mail is not sent until notify.smtp_user and its password are right")
                }
                return .unreachable
            case .postponed: return .postponed
            case .refused(let code): return .refused(MailCarrier.aboutRecipient.contains(code) ? "address-refused" : "refused")
            case .unknown: return .unknown
            }
        }
    }
}
