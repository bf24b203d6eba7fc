// Connections that break in the middle of a registration, an edit or a log-in: nothing of it is kept (ACC-09).

import Contracts
import Foundation
import GRDB
import Storage
import TestKit
import Testing

@testable import Consent

struct BrokenConnectionStories {
    private func json(_ object: [String: Any]) throws -> Data {
        try JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
    }

    @Test("ACC-09, ACC-01: a registration whose connection breaks leaves nothing, wherever it does; sent again it is the first")
    func registration() async throws {
        try await AccountHarness.run { harness in
            let before = try await harness.countAll()
            let request = RawConnection.request(
                "POST", "/consent/v1/accounts", headers: ["Idempotency-Key": "one"], json: try json(Applicant.form()))
            try await RawConnection.breakOff(request, port: harness.port)
            #expect(try await harness.countAll() == before)
            let answer = try await harness.register(Applicant.form(), key: "one", from: "203.0.113.9")
            #expect(answer.status == 201 && answer.headers["idempotency-replayed"] == nil)
            _ = try await harness.mail.arrived(to: "anna@example.org", .accountCreated)
            #expect(try await harness.count("accounts") == 1)
            #expect(harness.mail.messages().count == 1)
            #expect(try await harness.facts().count == 1)
        }
    }

    @Test("ACC-09, ACC-01: a registration whose answer is lost is whole or not there, and sent again under its key it is one")
    func lostAnswer() async throws {
        try await AccountHarness.run { harness in
            let names = ["Anna", "Bianca", "Carla", "Dora", "Elisa", "Flora"]
            func form(_ name: String) -> [String: Any] { Applicant.form(email: "\(name.lowercased())@example.org", name: name) }
            for (number, name) in names.enumerated() {
                let headers = AccountHarness.forwarded("203.0.113.\(number)").merging(["Idempotency-Key": name]) { $1 }
                let request = RawConnection.request("POST", "/consent/v1/accounts", headers: headers, json: try json(form(name)))
                try await RawConnection.sendAndVanish(request, port: harness.port)
            }
            for (number, name) in names.enumerated() {
                #expect(try await harness.register(form(name), key: name, from: "203.0.113.\(number)").status == 201)
                _ = try await harness.mail.arrived(to: "\(name.lowercased())@example.org", .accountCreated)
            }
            try await eventually("what follows the registrations is done") { try await harness.isQuiet() }
            let counts = try await harness.countAll()
            #expect(counts["accounts"] == names.count && counts["credentials"] == names.count)
            #expect(harness.mail.messages().count == names.count)
            #expect(try await harness.facts().count == names.count)
        }
    }

    @Test("ACC-09, ACC-19: an edit whose connection breaks changes nothing of the profile")
    func edit() async throws {
        try await AccountHarness.run { harness in
            let person = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            func profile() async throws -> Data {
                let answer = try await harness.request("GET", "/consent/v1/profile", token: person.description)
                return try json(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any] ?? [:])
            }
            let before = try await profile()
            let change = try json(["occupation": "employed", "address": "Via Nuova 2", "weight": 63])
            let request = RawConnection.request(
                "PATCH", "/consent/v1/profile", headers: ["Authorization": "Bearer \(person)"], json: change)
            try await RawConnection.breakOff(request, port: harness.port)
            let after = try await profile()
            #expect(after == before)
        }
    }

    @Test("ACC-09, ACC-12: a log-in whose connection breaks opens no session and does not count as a wrong one")
    func logIn() async throws {
        try await LogInHarness.runWithPerson { harness in
            for password in [LogInHarness.password, "not the password"] {
                let body = try json(["login": "anna@example.org", "password": password])
                try await RawConnection.breakOff(RawConnection.request("POST", "/consent/v1/sessions", json: body), port: harness.port)
            }
            for table in ["sessions", "log_in_runs"] {
                let rows = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
                #expect(rows == 0, "\(table)")
            }
            #expect(try await harness.logIn().kind == .person)
        }
    }
}
