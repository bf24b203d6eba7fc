// An integrator as it is kept, and how the parts that talk to it are made of that.

import Contracts
import Outbound
import Sealing
import ServiceKit

/// With all secrets: stored sealed, and shown to nobody.
struct IntegratorRecord: Codable, Sendable {
    /// Secrets that sign at the same time: the newest and the one before.
    static let mostSecrets = 2

    var settings: IntegratorSettings
    /// `whsec_…`, the newest first.
    var secrets: [String]
    var token: String

    /// With secrets of its own.
    init(_ settings: IntegratorSettings) {
        (self.settings, secrets, token) = (settings, [WebhookSecret.random().text], IntegratorRecord.makeToken())
    }

    init(_ settings: IntegratorSettings, secret: WebhookSecret, token: String) {
        (self.settings, secrets, self.token) = (settings, [secret.text], token)
    }

    mutating func rotate(_ part: RotateIntegrator.Part) -> String {
        switch part {
        case .secret:
            secrets = Array(([WebhookSecret.random().text] + secrets).prefix(IntegratorRecord.mostSecrets))
            return secrets[0]
        case .token:
            token = IntegratorRecord.makeToken()
            return token
        }
    }

    private static func makeToken() -> String { Base64URL.encode(Random.bytes(32)) }
}

/// Makes integrators that can be talked to.
struct IntegratorMaker: Sendable {
    let signingKey: SigningKey
    /// PEM file; nil: the system's.
    let authorities: String?
    let runtime: Runtime

    func make(
        _ record: IntegratorRecord, id: String? = nil, answerKeys: [VerifyingKey] = [], retired: Bool = false, streamPort: Int? = nil
    ) throws -> Integrator {
        let settings = record.settings
        return Integrator(
            id: id ?? settings.name, settings: settings, secrets: try record.secrets.map { try WebhookSecret($0) },
            signingKey: signingKey,
            answerKeys: try answerKeys + (settings.answerKey.map { [try VerifyingKey(webhookText: $0)] } ?? []),
            token: record.token,
            endpoints: [settings.url, settings.secondURL].compactMap { $0 }.map { Integrator.Endpoint(url: $0, sender: sender()) },
            isRetired: retired, streamPort: streamPort)
    }

    private func sender() -> HTTPSender {
        var outbound = OutboundSettings()
        // The operator names the emergency service's address; it may well be on this machine or network.
        outbound.policy = .anywhere
        outbound.authorities = authorities
        return runtime.sender(outbound)
    }
}
