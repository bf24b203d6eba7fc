// Every parameter of the notifier, read once.

import Contracts
import Foundation
import Outbound
import ServiceKit

/// Under the prefix `notify`.
struct Settings: Sendable {
    /// One of the two Kannels.
    struct Kannel: Sendable {
        var name: String
        var url: URL
        var userName: String
        var password: URL?
    }

    static let providers = ["kannel", "kannel2", GatewayProvider.name]

    /// nil: mail waits. The password, if there is a user, is in `smtpPassword`.
    var smtp: MailServer?
    var smtpUser: String
    var smtpPassword: URL?
    var smtpAuthorities: URL?
    var mailTimeout: Duration
    var from: MailAddress?
    var fromName: String
    var kannels: [Kannel]
    var gateway: URL?
    /// nil: the file in the key folder, made at the first start.
    var gatewaySecret: URL?
    var smsOrder: [String]
    var smsSender: String
    var receiptOrigin: URL?
    var pushAnywhere: Bool
    var pace: Pace
    var parallel: Int
    var perHour: Int
    var keep: Duration
    var keepInbox: Duration

    init(_ reader: inout SettingsReader) {
        let url = reader.read(
            .text("notify.smtp_url", default: "", "Mail server, smtp://host:587 (STARTTLS) or smtps://host; none: mail waits."))
        let isEncrypted = reader.read(
            .flag("notify.smtp_tls", default: true, "Whether the mail server must encrypt; false only for a relay on this machine."))
        smtpUser = reader.read(.text("notify.smtp_user", default: "", "Log-in name at the mail server; none: no log-in."))
        smtpPassword = reader.read(.optionalPath("notify.smtp_password", "File with the password of that log-in."))
        smtpAuthorities = reader.read(
            .optionalPath("notify.smtp_authorities", "PEM file of the authorities that the mail server's certificate is checked against."))
        mailTimeout = reader.read(
            .seconds("notify.mail_timeout_s", default: 120, in: 1...600, "How long the mail server may take for one mail."))
        let sender = reader.read(.text("notify.from", default: "trackme@localhost", "Sender's address of mails."))
        from = MailAddress(sender)
        fromName = reader.read(.text("notify.from_name", default: "TrackMe", "Sender's name of mails."))
        kannels = Settings.kannels(&reader)
        gateway = reader.read(
            .address("notify.gateway_url", "Where signed requests for SMS and calls are posted; none: calls wait."))
        gatewaySecret = reader.read(
            .optionalPath("notify.gateway_secret", "File with the whsec_ secret shared with it; made in the key folder if not named."))
        let order = reader.read(
            .text("notify.sms_order", default: "kannel,kannel2,gateway", "Providers of SMS, the preferred one first."))
        smsOrder = order.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        smsSender = reader.read(.text("notify.sms_sender", default: "TrackMe", "What recipients of SMS see as the sender."))
        receiptOrigin = reader.read(
            .address("notify.receipt_origin", "Where providers reach this service for receipts; none: its own port on this machine."))
        pushAnywhere = reader.read(
            .flag("notify.push_anywhere", default: false, "Whether push endpoints may lie inside the network; people choose them."))
        (pace, parallel, perHour, keep, keepInbox) = Settings.bounds(&reader)
        if from == nil { reader.refuse("notify.from", "must be a plain address like trackme@example.org") }
        if let stranger = smsOrder.first(where: { !Settings.providers.contains($0) }) {
            reader.refuse("notify.sms_order", "'\(stranger)' is none of \(Settings.providers.joined(separator: ", "))")
        }
        if Set(smsOrder).count != smsOrder.count { reader.refuse("notify.sms_order", "names a provider twice") }
        if smtpUser.isEmpty != (smtpPassword == nil) {
            reader.refuse("notify.smtp_user", "user name and password file belong together")
        }
        if !isEncrypted, !smtpUser.isEmpty { reader.refuse("notify.smtp_tls", "must be true where there is a log-in") }
        guard !url.isEmpty else { return }
        let server = MailServer(url: url, greeting: String(from?.domain ?? "localhost"), isEncrypted: isEncrypted)
        if !server.isWellFormed { reader.refuse("notify.smtp_url", "must be smtp://host, smtps://host or with a port, and no more") }
        smtp = server
    }

    private static func kannels(_ reader: inout SettingsReader) -> [Kannel] {
        let first = (
            reader.read(
                .address("notify.kannel_url", "Kannel's sendsms address, http://host:13013/cgi-bin/sendsms; none: not used.")),
            reader.read(.text("notify.kannel_user", default: "trackme", "User name of the sendsms user there.")),
            reader.read(.optionalPath("notify.kannel_password", "File with that user's password."))
        )
        let second = (
            reader.read(.address("notify.kannel2_url", "Sendsms address of a second, independent Kannel; none: not used.")),
            reader.read(.text("notify.kannel2_user", default: "trackme", "User name of the sendsms user at the second Kannel.")),
            reader.read(.optionalPath("notify.kannel2_password", "File with the password at the second Kannel."))
        )
        return [("kannel", first), ("kannel2", second)].compactMap { name, kannel in
            guard let url = kannel.0 else { return nil }
            if kannel.2 == nil { reader.refuse("notify.\(name)_password", "must be named where there is notify.\(name)_url") }
            return Kannel(name: name, url: url, userName: kannel.1, password: kannel.2)
        }
    }

    private static func bounds(_ reader: inout SettingsReader) -> (Pace, Int, Int, Duration, Duration) {
        let pace = Pace(
            backoff: Backoff(
                reader.read(.seconds("notify.retry_s", default: 2, in: 0.05...60, "Pause after the first failed round of attempts.")),
                upTo: reader.read(.seconds("notify.retry_most_s", default: 120, in: 0.05...3600, "Longest pause between rounds."))),
            unknown: reader.read(
                .seconds("notify.unknown_s", default: 30, in: 0.05...600, "Pause after an attempt of which nobody knows what came of it.")),
            receipt: reader.read(.hours("notify.receipt_hours", default: 24, in: 0.001...168, "How long receipts are waited for.")))
        if pace.backoff.last < pace.backoff.first { reader.refuse("notify.retry_most_s", "must not be below notify.retry_s") }
        let parallel = reader.read(.integer("notify.parallel", default: 8, in: 1...256, "Attempts at the same time on each channel."))
        let perHour = reader.read(
            .integer("notify.per_recipient_hour", default: 20, in: 1...10_000, "Messages an hour to one address on one channel; more wait.")
        )
        let keep = reader.read(
            .hours("notify.keep_hours", default: 720, in: 24...8760, "How long settled messages are known, without what they said."))
        let keepInbox = reader.read(.hours("notify.inbox_hours", default: 8760, in: 24...87_600, "How long messages stay in inboxes."))
        return (pace, parallel, perHour, keep, keepInbox)
    }
}
