// What is shared with providers, from files; made at the first start where it is ours to choose.

import Contracts
import Foundation
import Outbound
import Sealing
import ServiceKit

struct NotifierSecrets: Sendable {
    let smtp: MailServer.Credentials?
    /// By the provider's name.
    let kannels: [String: String]
    let gateway: WebhookSecret
    /// What Kannel shows when it hands over a text that came in: 64 hex digits.
    let inbound: String

    init(_ settings: Settings, _ runtime: Runtime) throws {
        let files = runtime.keys
        smtp = try settings.smtpPassword.map {
            MailServer.Credentials(name: settings.smtpUser, password: try files.readSecret($0))
        }
        kannels = try Dictionary(
            uniqueKeysWithValues: settings.kannels.map { kannel in
                (kannel.name, try kannel.password.map { try files.readSecret($0) } ?? "")
            })
        let file = settings.gatewaySecret ?? files.file("gateway.secret", of: .notifier)
        if settings.gatewaySecret == nil, !FileManager.default.fileExists(atPath: file.path) {
            try files.write(WebhookSecret.random().text, to: file)
        }
        gateway = try files.readWebhookSecret(file)
        inbound = Hex.encode(try files.secret("inbound.secret", of: .notifier))
    }
}
