// The public halves of the signing keys, for whoever checks our tokens without being on the bus.

import Contracts
import HTTPKit
import HTTPTypes

struct KeyRoutes: Sendable {
    let keys: SigningKeys

    var all: [Route] { [keySet] }

    private var keySet: Route {
        Route(
            .get, "/consent/v1/keys", access: .anyone, summary: "The keys that prove access tokens",
            description: "A JWK set (RFC 7517). A key appears here a day before it signs and stays until nothing signed by it is valid.",
            answers: [.json(200, "The keys", JSONWebKeySet.self)]
        ) { _ in
            try HTTPAnswer.json(JSONWebKeySet(keys: keys.published.map(JSONWebKeySet.Key.init))).with(.cacheControl, "public, max-age=300")
        }
    }
}

/// RFC 7517 and RFC 8037, in their own spelling.
struct JSONWebKeySet: Codable, Sendable, Documented {
    struct Key: Codable, Sendable {
        var kty: String
        var crv: String
        var x: String
        var kid: String
        var use: String
        var alg: String

        init(_ state: SigningKeyState) {
            (kty, crv, x, kid, use, alg) = ("OKP", "Ed25519", state.publicKey, state.keyID, "sig", "EdDSA")
        }
    }

    var keys: [Key]

    static let schema = JSONSchema.object(
        .required(
            "keys",
            .array(
                of: .object(
                    .required("kty", .oneOf(["OKP"])), .required("crv", .oneOf(["Ed25519"])),
                    .required("x", .string(), "The public key, 32 bytes as base64url."), .required("kid", .string()),
                    .required("use", .oneOf(["sig"])), .required("alg", .oneOf(["EdDSA"])))))
    ).named("JSONWebKeySet")
}
