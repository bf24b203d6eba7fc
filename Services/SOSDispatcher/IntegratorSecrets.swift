// The keys shared with the emergency service, from files; made at the first start where there is none. None of them is worth a call: where
// one cannot be had, the service starts all the same (0040).

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
        webhook = try WebhookSecret(IntegratorSecrets.text(.webhook, settings.webhookSecret, runtime))
        token = IntegratorSecrets.text(.token, settings.integratorToken, runtime)
        signing = try SigningKey(seed: runtime.secret("signing.seed", of: .sosDispatcher))
        answerKeys =
            settings.deskKey.flatMap { file in
                do {
                    return [try IntegratorSecrets.answerKey(file, runtime.keys)]
                } catch {
                    runtime.faults.note("\(error); until then answers that are signed with it are not believed")
                    return nil
                }
            } ?? []
    }

    /// Shared with whoever watches over the heartbeat.
    static func heartbeat(_ settings: WatchSettings, _ runtime: Runtime) throws -> WebhookSecret {
        try WebhookSecret(text(.heartbeat, settings.heartbeatSecret, runtime))
    }

    /// From the file that the operator has named, else from the one that both dispatchers share. Where neither it nor its copy holds one,
    /// another one that nobody knows: calls go out with it, and are still signed with the suite's own key; no answer by it is believed.
    private static func text(_ secret: SharedSecret, _ named: URL?, _ runtime: Runtime) -> String {
        do {
            if let named { return try runtime.keys.whole(secret, in: named) }
            let (text, fault) = try runtime.keys.text(of: secret)
            if let fault { runtime.faults.note("\(fault)") }
            return text
        } catch {
            runtime.faults.note("\(error); until then nobody believes what is signed with it, and no answer by it is believed")
            return secret.make()
        }
    }

    private static func answerKey(_ file: URL, _ files: KeyFiles) throws -> VerifyingKey {
        do {
            return try VerifyingKey(webhookText: files.readSecret(file))
        } catch is SealingError {
            throw KeyFiles.Fault("\(file.path) must hold whpk_ and 32 bytes in Base64; put the public key there that the desk has given")
        }
    }
}
