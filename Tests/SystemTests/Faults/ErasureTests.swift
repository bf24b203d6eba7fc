// Erasure with real processes: a service is down meanwhile, others are killed in the middle, and the files are searched at the end.

import Contracts
import Foundation
import GRDB
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator

extension SystemTests {
    @Suite("Erasure under faults")
    struct ErasureTests {
        private static let email = "anna.canarina@posta-privata.example"
        private static let surname = "Canarinieri"
        private static let password = "tre lucciole nel bicchiere"
        private static let value = 71.28125

        private func say(
            _ method: String, _ url: String, _ body: [String: any Sendable]? = nil, as bearer: String? = nil
        ) async throws -> HarnessAnswer {
            try await HarnessClient(url).ask(method, "", token: bearer, json: body)
        }

        private static var form: [String: any Sendable] {
            registrationForm(name: "Anna", surname: surname, email: email, password: password, terms: Conditions.version)
                .merging(["address": "Vicolo dei Canarini 73"]) { $1 }
        }

        /// The person's account with a supervised watch that has delivered.
        private func anna(in suite: RealSuite, _ consent: String) async throws -> (token: String, person: PersonID, watch: AddDevice.Reply)
        {
            let (person, token) = try await HarnessClient(consent).join(Self.form)
            let watch = try await eventually("ingest knows the account") {
                try? await suite.ask(AddDevice(person: person, name: "Orologio Canarino", intervalMs: 1000))
            }
            _ = try await suite.ask(SubscribePerson(person: person, clausesAccepted: true, bounds: [:]))
            try await eventually("the watch has delivered") {
                let entry: [String: any Sendable] = ["type": "heart-rate", "at": Timestamp.now.rfc3339, "value": Self.value]
                return try await say("POST", suite.server + "/ingest/v1/entries", entry, as: watch.token).status == 200
            }
            return (token, person, watch)
        }

        /// Pieces of what is sealed of the person, from the files of services that run.
        private func fragments(of person: PersonID, in suite: RealSuite) throws -> [Data] {
            let questions = [
                ("ingest/ingest.db", "SELECT body FROM chunks JOIN people ON people.number = chunks.person WHERE people.person = ?"),
                ("ingest/ingest-keys.db", "SELECT wrapped FROM wrapped_keys WHERE subject = ?"),
                ("consent/consent.db", "SELECT profile FROM accounts WHERE subject = ?"),
                ("consent/consent-keys.db", "SELECT wrapped FROM wrapped_keys WHERE subject = ?"),
                ("sos-dispatcher/sos-dispatcher.db", "SELECT sealed FROM subscribers WHERE person = ?"),
                ("sos-dispatcher/sos-dispatcher-keys.db", "SELECT wrapped FROM wrapped_keys WHERE subject = ?"),
            ]
            return try questions.flatMap { file, sql in
                var configuration = Configuration()
                configuration.readonly = true
                let queue = try DatabaseQueue(path: suite.data.appendingPathComponent(file).path, configuration: configuration)
                let values = try queue.read { db in try Data.fetchAll(db, sql: sql, arguments: [Data(person.bytes)]) }
                try queue.close()
                guard !values.isEmpty else { throw NeverHappened(file) }
                return values.map { $0.suffix(28) }
            }
        }

        private struct NeverHappened: Error {
            let file: String
            init(_ file: String) { self.file = file }
        }

        @Test(
            "ACC-29, ACC-30, NFR-08: an erasure outlives a service that is down and kills of the others; then no file holds a byte of it",
            .timeLimit(.minutes(10)))
        func serviceDown() async throws {
            try await RealSuite.with(SuiteShape(hasAccounts: true)) { suite in
                let consentProcess = try #require(suite.consent)
                let consent = "http://127.0.0.1:\(consentProcess.port)"
                let bruno = try await suite.load(by: 3)
                let (token, person, watch) = try await anna(in: suite, consent)
                let pieces = try await eventually("everything is stored") { try? fragments(of: person, in: suite) }

                // The dispatcher is down when the order is given.
                suite.sos.abandon()
                try await suite.sos.kill()
                let wish = try await say("POST", consent + "/consent/v1/erasures", ["scope": "account"], as: token)
                let confirmation = try #require(wish.json["confirmation"] as? String)
                let order = try await say(
                    "POST", consent + "/consent/v1/erasures/orders",
                    ["confirmation": confirmation, "password": Self.password], as: token)
                #expect(order.status == 202)
                let certificate = try #require(order.json["certificate"] as? String)
                let path = try #require(URL(string: certificate)?.path)
                let address = consent + path
                // Consent and ingest are killed in the middle of it, and again.
                for _ in 0..<3 {
                    try await consentProcess.kill()
                    try await suite.ingest.kill()
                    try await consentProcess.untilReady()
                    try await suite.ingest.untilReady()
                }
                let others = try await eventually("all but the dispatcher have confirmed") {
                    let waiting = try? await say("GET", address).json["waitingFor"] as? [String]
                    return waiting == ["sos-dispatcher"] ? waiting : nil
                }
                #expect(others == ["sos-dispatcher"])
                #expect(try await say("GET", suite.server + "/ingest/v1/entries?type=heart-rate", as: watch.token).status == 401)

                suite.sos.start()
                try await suite.sos.untilReady()
                try await eventually("the dispatcher has confirmed too", within: .seconds(60)) {
                    try await say("GET", address).json["completedAt"] != nil
                }
                try await bruno.untilAcknowledged(20)
                let report = try await suite.judge(bruno)
                #expect(report.violations.isEmpty, "\(report.summary)")
                try await suite.stop()
                let hunt = CanaryHunt(
                    texts: [Self.email, Self.surname, "Orologio Canarino", "\(person)"], numbers: [Self.value], fragments: pieces)
                let findings = hunt.findings(in: suite.data)
                #expect(findings.found.isEmpty, "\(findings.found)")
                print("figure: erasure: none of \(pieces.count) sealed pieces in \(findings.files) files, \(findings.bytes) bytes")
            }
        }
    }
}
