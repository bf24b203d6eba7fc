// The keys shared with the emergency service, from files; made at the first start where there is none.

import Contracts
import Foundation
import Sealing
import ServiceKit

struct IntegratorSecrets: Sendable {
    /// Shared with the endpoint: signs `v1` in both directions.
    let webhook: WebhookSecret
    /// The suite's own: signs `v1a`; its public half is at `/sos/v1/keys`.
    let signing: SigningKey
    let answerKeys: [VerifyingKey]
    /// The bearer token of the integrator's own calls.
    let token: String

    init(_ settings: Settings, _ runtime: Runtime) throws {
        let files = runtime.keys
        let webhookFile = settings.webhookSecret ?? files.file("webhook.secret", of: .sosDispatcher)
        webhook = try WebhookSecret(
            IntegratorSecrets.text(webhookFile, files, isOwn: settings.webhookSecret == nil) { WebhookSecret.random().text })
        let tokenFile = settings.integratorToken ?? files.file("integrator.token", of: .sosDispatcher)
        token = try IntegratorSecrets.text(tokenFile, files, isOwn: settings.integratorToken == nil) { Base64URL.encode(Random.bytes(32)) }
        signing = try SigningKey(seed: files.secret("signing.seed", of: .sosDispatcher))
        answerKeys = try settings.deskKey.map { [try VerifyingKey(webhookText: files.readSecret($0))] } ?? []
    }

    /// Shared with whoever watches over the heartbeat.
    static func heartbeat(_ settings: WatchSettings, _ files: KeyFiles) throws -> WebhookSecret {
        let file = settings.heartbeatSecret ?? files.file("heartbeat.secret", of: .sosDispatcher)
        return try WebhookSecret(text(file, files, isOwn: settings.heartbeatSecret == nil) { WebhookSecret.random().text })
    }

    private static func text(_ file: URL, _ files: KeyFiles, isOwn: Bool, _ make: () -> String) throws -> String {
        if isOwn, !FileManager.default.fileExists(atPath: file.path) { try files.write(make(), to: file) }
        return try files.readSecret(file)
    }
}
