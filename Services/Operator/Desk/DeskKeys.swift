// What the desk and the suite know of each other: a shared secret, and the suite's public key.

import Contracts
import Foundation
import Sealing
import ServiceKit

struct DeskKeys: Sendable {
    /// Verifies `v1` and signs the desk's own answers.
    var secret: WebhookSecret
    /// Verifies `v1a`; nil where the desk was not given it.
    var suiteKey: VerifyingKey?

    /// Verifies both signatures by themselves, so that a wrong one is seen beside a right one.
    func verification(of signature: WebhookSignature, body: [UInt8], now: Timestamp) -> DeskVerification {
        let versions = Set(signature.signatures.split(separator: " ").compactMap { $0.split(separator: ",").first })
        var verification = DeskVerification()
        if versions.contains("v1") {
            verification.v1 = (try? signature.verify(body: body, secrets: [secret], now: now)) != nil
        }
        if versions.contains("v1a"), let suiteKey {
            verification.v1a = (try? signature.verify(body: body, keys: [suiteKey], now: now)) != nil
        }
        return verification
    }

    /// The keys that the suite's own SOS dispatcher made for the reference desk; `secretFile` names another secret.
    static func load(_ layout: SuiteLayout, secretFile: String?, publicKey: String?) throws(OperatorError) -> DeskKeys {
        let keys = layout.keys
        let file = secretFile.map { URL(fileURLWithPath: $0) } ?? keys.file("webhook.secret", of: .sosDispatcher)
        do {
            let secret = try keys.readWebhookSecret(file)
            if let publicKey { return DeskKeys(secret: secret, suiteKey: try VerifyingKey(webhookText: publicKey)) }
            let seedFile = keys.file("signing.seed", of: .sosDispatcher)
            guard secretFile == nil, FileManager.default.fileExists(atPath: seedFile.path),
                let seed = Hex.decode(try keys.readSecret(seedFile))
            else { return DeskKeys(secret: secret, suiteKey: nil) }
            return DeskKeys(secret: secret, suiteKey: try SigningKey(seed: seed).publicKey)
        } catch let fault as KeyFiles.Fault {
            throw OperatorError(
                .configuration, "\(fault)", mend: "start the suite once (`trackme up` makes the secret), or give --secret-file")
        } catch {
            throw OperatorError(
                .configuration, "the desk's keys cannot be read: \(error)",
                mend: "a secret file holds whsec_ and base64, --public-key is whpk_ and base64")
        }
    }
}
