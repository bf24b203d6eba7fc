// What people type in: kept whole or refused whole, with every wrong field named.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct ManualEntryStoryTests {
    private static func entry(_ type: String, _ value: JSONValue, hoursAgo: Double = 0, _ more: [JSONValue.Member] = []) -> JSONValue {
        let at = Timestamp(milliseconds: Timestamp.now.milliseconds - Int64(hoursAgo * 3_600_000))
        return .object([.init("type", .string(type)), .init("at", .string(at.rfc3339)), .init("value", value)] + more)
    }

    private static let path = "/ingest/v1/manual-entries"

    private struct Stored: Decodable {
        let type: String
        let value: Double?
        let source: String?
        let device: String?
    }

    private static func stored(_ harness: IngestHarness, _ metric: String, _ token: String) async throws -> [Stored] {
        let response = try await harness.request("GET", "/ingest/v1/entries?type=\(metric)", token: token)
        return try response.decoded(as: IngestHarness.List<Stored>.self).items
    }

    @Test("ING-01, ING-03, SC-45: a logged-in person's entry is stored, marked as entered by hand, visible at once and heard on the stream")
    func inserting() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let response = try await harness.send("POST", Self.path, Self.entry("glucose", 95), token: account.token)
            #expect(response.status == 200)
            #expect(try response.decoded(as: IngestHarness.Answer.self).accepted == 1)
            let read = try await Self.stored(harness, "glucose", account.token)
            #expect(read.map(\.value) == [95] && read.map(\.source) == ["manual"] && read.map(\.device) == [nil])
            let latest = try await harness.sos.ask(ReadLatest(person: account.person, types: [.glucose]), deadline: .seconds(5))
            #expect(latest.samples.first?.value == 95)
        }
    }

    @Test("a first insertion that was no document of entries had a source made for it; it is refused beside the queue of writes")
    func refusedBesideWrites() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let isBeside = try await isDone(whileWriting: harness.ingest.store) {
                let answer = try await harness.request(
                    "POST", Self.path, token: account.token, body: Data("{\"type\":".utf8), headers: ["Content-Type": "application/json"])
                #expect(answer.status == 400 && answer.problem == "malformed-json")
            }
            #expect(isBeside)
        }
    }

    @Test("ING-08, ING-01: a wrong value names its field and the allowed range; nothing of the insertion is stored")
    func refusing() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let single = try await harness.send("POST", Self.path, Self.entry("heart-rate", 0), token: account.token)
            let problem = try single.decoded(as: Problem.self)
            #expect(single.status == 422 && single.problem == "impossible-value")
            #expect(problem.errors?.map(\.pointer) == ["/value"])
            #expect(problem.errors?[0].detail.contains("greater than 0 and up to 350.0") == true)
            #expect(problem.detail?.contains("Nothing was stored") == true)
            let list: JSONValue = [
                "entries": .array([
                    Self.entry("heart-rate", 72), Self.entry("heart-rat", 72), Self.entry("weight", 72, [.init("unit", "g")]),
                    Self.entry("height", "tall"), .object([.init("value", 3)]), Self.entry("heart-rate", 72, hoursAgo: -1),
                ])
            ]
            let refused = try await harness.send("POST", Self.path, list, token: account.token)
            #expect(refused.status == 422)
            #expect(
                try refused.decoded(as: Problem.self).errors?.map(\.pointer) == [
                    "/entries/1/type", "/entries/2/unit", "/entries/3/value", "/entries/4/type", "/entries/5/at",
                ])
            let array = try await harness.send("POST", Self.path, .array([Self.entry("heart-rate", 900)]), token: account.token)
            #expect(try array.decoded(as: Problem.self).errors?.map(\.pointer) == ["/0/value"])
            #expect(try await Self.stored(harness, "heart-rate", account.token).isEmpty)
            let text = try await harness.request(
                "POST", Self.path, token: account.token, body: Data("{\"type\":".utf8), headers: ["Content-Type": "application/json"])
            #expect(text.status == 400 && text.problem == "malformed-json")
            let quarantined = try await harness.ingest.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM quarantine") }
            #expect(quarantined == 0, "what a person mistyped is not kept")
        }
    }

    @Test("ING-09: what is older than a day is out of date: refused, with the invitation to measure again")
    func outOfDate() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            #expect(try await harness.send("POST", Self.path, Self.entry("weight", 80, hoursAgo: 23.9), token: account.token).status == 200)
            let old = try await harness.send("POST", Self.path, Self.entry("weight", 81, hoursAgo: 24.1), token: account.token)
            #expect(old.status == 422 && old.problem == "out-of-date")
            let problem = try old.decoded(as: Problem.self)
            #expect(problem.errors?.map(\.pointer) == ["/at"] && problem.detail?.contains("Measure again") == true)
            #expect(try await Self.stored(harness, "weight", account.token).count == 1)
        }
    }

    @Test("ING-01, ING-14: a conflict undoes the whole insertion; a repetition, or the same key, adds nothing")
    func repeating() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let first = Self.entry("heart-rate", 72, hoursAgo: 1)
            let body = Data(JSONValue.array([first]).text.utf8)
            let headers = ["Content-Type": "application/json", "Idempotency-Key": "one"]
            let once = try await harness.request("POST", Self.path, token: account.token, body: body, headers: headers)
            let twice = try await harness.request("POST", Self.path, token: account.token, body: body, headers: headers)
            #expect(once.status == 200 && twice.body == once.body && twice.headers["idempotency-replayed"] == "true")
            let again = try await harness.send("POST", Self.path, .array([first]), token: account.token)
            #expect(try again.decoded(as: IngestHarness.Answer.self).duplicates == [0])
            guard case .object(var members) = first else { return }
            members[2].value = 73
            let conflict = try await harness.send(
                "POST", Self.path, .array([Self.entry("weight", 80), .object(members)]), token: account.token)
            #expect(conflict.status == 409 && conflict.problem == "conflicting-value")
            #expect(try conflict.decoded(as: Problem.self).errors?.map(\.pointer) == ["/1/value"])
            #expect(try await Self.stored(harness, "weight", account.token).isEmpty, "nothing of it was stored")
            #expect(try await Self.stored(harness, "heart-rate", account.token).count == 1)
        }
    }

    @Test("MYD-02, ACC-14: a device, another kind of account or nobody does not insert by hand; an inactive account is told why")
    func strangers() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let device = try await harness.addDevice()
            let entry = Self.entry("heart-rate", 72)
            #expect(try await harness.send("POST", Self.path, entry, token: nil).status == 401)
            #expect([401, 403].contains(try await harness.send("POST", Self.path, entry, token: device.token).status))
            let member = try harness.consent.token(of: .random(), kind: .member)
            #expect(try await harness.send("POST", Self.path, entry, token: member).status == 403)
            try await harness.state(of: account, active: false)
            let inactive = try await harness.send("POST", Self.path, entry, token: account.token)
            #expect(inactive.status == 403 && inactive.problem == "account-not-active")
        }
    }

    @Test("ING-01, ACC-01: what a person told consent at registration is stored once, as entered by hand")
    func recording() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let asker = harness.consent
            let now = Timestamp.now
            let request = RecordEntries(
                person: account.person, samples: [.of("weight", now, 80.5), .of("height", now, 181)])
            try await asker.ask(request)
            try await asker.ask(request)
            #expect(try await Self.stored(harness, "weight", account.token).map(\.value) == [80.5])
            #expect(try await Self.stored(harness, "height", account.token).map(\.source) == ["manual"])
            await #expect(throws: Failure.self) {
                try await asker.ask(RecordEntries(person: account.person, samples: [.of("weight", now, 5000)]))
            }
            await #expect(throws: Failure.self) { try await asker.ask(RecordEntries(person: account.person, samples: [])) }
        }
    }
}
