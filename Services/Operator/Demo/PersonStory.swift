// The demo's other course: one person's life with the suite, from registration to erasure, through the routes that apps use.

import Contracts
import Foundation
import Sealing
import ServiceKit

/// Registers, pairs a wearable, uploads, reads, pauses, resumes, and orders everything erased. Each step must answer as promised.
struct PersonStory: Sendable {
    let client: PeopleClient
    /// How long the services may take to receive events of each other.
    private static let bound = Duration.seconds(20)

    func run() async throws {
        let somebody = DemoPerson.random()
        let token = try await register(somebody)
        let watch = try await pair(token)
        try await upload(72, by: watch, accepted: 1, "the wearable uploads: accepted")
        try await see(72, token)
        try await pause(token, watch)
        try await upload(74, by: watch, accepted: 1, "resumed: the next entry is recorded again")
        try await erase(somebody, token, watch)
    }

    // MARK: Steps

    private func register(_ somebody: DemoPerson) async throws -> String {
        let terms = try await client.call("GET", .consent, "/consent/v1/terms").expecting(200, "reading the conditions")
        let form = somebody.form(acceptedTerms: terms.text("version") ?? "")
        let made = try await client.call("POST", .consent, "/consent/v1/accounts", body: form).expecting(201, "registering")
        try Self.requireOpen(made)
        DemoPlay.say("registered: \(made.text("person") ?? "")")
        let login = ["login": somebody.email, "password": somebody.password, "device": "demo"]
        let session = try await client.call("POST", .consent, "/consent/v1/sessions", body: login).expecting(200, "logging in")
        DemoPlay.say("logged in for ten minutes at a time")
        return session.text("accessToken") ?? ""
    }

    /// - Throws: where the account opens by a mail that nobody reads.
    static func requireOpen(_ registration: PeopleReply) throws(OperatorError) {
        guard registration.text("state") == "unconfirmed" else { return }
        throw OperatorError(
            .configuration, "this suite opens an account by a mailed link, and nobody reads the mail of a made-up person",
            mend: "leave out --running, or start the suite with TRACKME_ACC_CONFIRM_REQUIRED=false")
    }

    /// Both ends of pairing: the wearable that shows six digits, and the person who types them.
    private func pair(_ token: String) async throws -> String {
        let offered: [String: Any] = ["model": "demo watch", "kind": "wearable", "measures": ["heart-rate"], "intervalMs": 1000]
        let offer = try await client.call("POST", .ingest, "/ingest/v1/pairings", body: offered).expecting(201, "offering the wearable")
        let pairing = "/ingest/v1/pairings/\(offer.text("pairing") ?? "")"
        let typed = ["number": offer.text("number") ?? ""]
        // Ingest may receive the new account a moment after it was made.
        _ = try await DemoPlay.waiting("the wearable was not paired", within: Self.bound) {
            let reply = try await client.call("POST", .ingest, "\(pairing)/confirmation", token: token, body: typed)
            return reply.status == 401 || reply.status == 403 ? nil : try reply.expecting(200, "pairing")
        }
        let polled = try await client.call("POST", .ingest, "\(pairing)/poll", body: ["secret": offer.text("secret") ?? ""])
            .expecting(200, "fetching the wearable's token")
        DemoPlay.say("paired: the six digits were typed, the wearable has a token of its own")
        return polled.text("token") ?? ""
    }

    private func upload(_ rate: Double, by watch: String, accepted: Double, _ progress: String) async throws {
        let entries: [[String: Any]] = [["type": "heart-rate", "at": Timestamp.now.rfc3339, "value": rate]]
        let reply = try await DemoPlay.waiting("an upload was not taken as it should", within: Self.bound) {
            let body: [String: Any] = ["sentAt": Timestamp.now.rfc3339, "entries": entries]
            let reply = try await client.call("POST", .ingest, "/ingest/v1/entries", token: watch, body: body)
            return reply.status == 200 && reply.number("accepted") == accepted ? reply : nil
        }
        _ = try reply.expecting(200, "uploading")
        DemoPlay.say(progress)
    }

    private func see(_ rate: Double, _ token: String) async throws {
        let latest = try await client.call("GET", .ingest, "/ingest/v1/latest", token: token).expecting(200, "looking at one's own data")
        let seen = latest.list("items").first { $0["type"] as? String == "heart-rate" }
        guard (seen?["value"] as? NSNumber)?.doubleValue == rate else {
            throw OperatorError(.failed, "the person does not see the heart rate that was uploaded", mend: "see ingest's log lines")
        }
        DemoPlay.say("the person sees the heart rate")
    }

    private func pause(_ token: String, _ watch: String) async throws {
        for paused in [true, false] {
            let choice = ["paused": paused]
            _ = try await client.call("PUT", .ingest, "/ingest/v1/monitoring", token: token, body: choice).expecting(200, "pausing")
            if paused { try await upload(73, by: watch, accepted: 0, "paused: the upload is answered, nothing is recorded") }
        }
    }

    private func erase(_ somebody: DemoPerson, _ token: String, _ watch: String) async throws {
        let request = ["scope": "account"]
        let requested = try await client.call("POST", .consent, "/consent/v1/erasures", token: token, body: request)
            .expecting(200, "asking for erasure")
        let order = ["confirmation": requested.text("confirmation") ?? "", "password": somebody.password]
        let ordered = try await client.call("POST", .consent, "/consent/v1/erasures/orders", token: token, body: order)
            .expecting(202, "ordering the erasure")
        let address = ordered.text("certificate") ?? ""
        guard let path = address.range(of: "/consent/").map({ String(address[$0.lowerBound...]) }) else {
            throw OperatorError(.failed, "the erasure's answer names no certificate", mend: "see consent's log lines")
        }
        let done = try await DemoPlay.waiting("the erasure was not confirmed by every service", within: Self.bound) {
            let reply = try await client.call("GET", .consent, path)
            return reply.text("completedAt") == nil ? nil : reply
        }
        DemoPlay.say("erased; the certificate names \(try Self.stores(in: done.text("certificate") ?? "").joined(separator: ", "))")
        let login = ["login": somebody.email, "password": somebody.password]
        _ = try await client.call("POST", .consent, "/consent/v1/sessions", body: login).expecting(401, "logging in after the erasure")
        let entries: [Any] = []
        _ = try await client.call("POST", .ingest, "/ingest/v1/entries", token: watch, body: entries)
            .expecting(401, "uploading after the erasure")
        DemoPlay.say("neither the password nor the wearable opens anything any more")
    }

    /// The stores that a certificate's payload lists; its signature is for whoever keeps it.
    private static func stores(in certificate: String) throws -> [String] {
        let parts = certificate.split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else {
            throw OperatorError(.failed, "the certificate is not a signed document", mend: "see consent's log lines")
        }
        let services = PeopleReply(status: 200, body: Data(payload)).list("services")
        let stores = services.flatMap { $0["stores"] as? [[String: Any]] ?? [] }.compactMap { $0["store"] as? String }
        guard !stores.isEmpty else { throw OperatorError(.failed, "the certificate names no store", mend: "see consent's log lines") }
        return stores
    }
}
