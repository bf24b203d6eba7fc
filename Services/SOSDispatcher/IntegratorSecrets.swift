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
        webhook = try IntegratorSecrets.webhookSecret(webhookFile, files, isOwn: settings.webhookSecret == nil)
        let tokenFile = settings.integratorToken ?? files.file("integrator.token", of: .sosDispatcher)
        if settings.integratorToken == nil { try IntegratorSecrets.make(tokenFile, files) { Base64URL.encode(Random.bytes(32)) } }
        token = try files.readSecret(tokenFile)
        signing = try SigningKey(seed: runtime.secret("signing.seed", of: .sosDispatcher))
        answerKeys = try settings.deskKey.map { [try IntegratorSecrets.answerKey($0, files)] } ?? []
    }

    /// Shared with whoever watches over the heartbeat.
    static func heartbeat(_ settings: WatchSettings, _ files: KeyFiles) throws -> WebhookSecret {
        let file = settings.heartbeatSecret ?? files.file("heartbeat.secret", of: .sosDispatcher)
        return try webhookSecret(file, files, isOwn: settings.heartbeatSecret == nil)
    }

    private static func webhookSecret(_ file: URL, _ files: KeyFiles, isOwn: Bool) throws -> WebhookSecret {
        if isOwn { try make(file, files) { WebhookSecret.random().text } }
        return try files.readWebhookSecret(file)
    }

    private static func make(_ file: URL, _ files: KeyFiles, _ text: () -> String) throws {
        if !FileManager.default.fileExists(atPath: file.path) { try files.write(text(), to: file) }
    }

    private static func answerKey(_ file: URL, _ files: KeyFiles) throws -> VerifyingKey {
        do {
            return try VerifyingKey(webhookText: files.readSecret(file))
        } catch is SealingError {
            throw KeyFiles.Fault("\(file.path) must hold whpk_ and 32 bytes in Base64; put the public key there that the desk has given")
        }
    }
}
