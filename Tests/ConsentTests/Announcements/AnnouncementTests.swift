// Announcements: operators write them, everybody reads them (ACC-35).

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct AnnouncementTests {
    private static func form(_ changes: [String: Any] = [:]) -> [String: Any] {
        let right: [String: Any] = [
            "from": (Timestamp.now + .seconds(3600)).rfc3339, "to": (Timestamp.now + .seconds(7200)).rfc3339, "maintenance": true,
            "italianTitle": "Manutenzione", "italianText": "Dalle 3 alle 4.", "englishTitle": "Maintenance", "englishText": "From 3 to 4.",
        ]
        return right.merging(changes) { $1 }
    }

    @Test(
        "ACC-35, NFR-06: maintenance that an operator announces is visible to everybody before it begins, in both languages, until it is over or withdrawn"
    )
    func announces() async throws {
        try await AccountHarness.run { harness in
            let anOperator = OperatorID.random().description
            let made = try await harness.request("POST", "/consent/v1/announcements", token: anOperator, json: Self.form())
            #expect(made.status == 201)
            let id = try made.decoded(as: AnnouncementItem.self).id
            let seen = try await harness.request("GET", "/consent/v1/announcements").decoded(as: Page<AnnouncementItem>.self).items
            #expect(seen.map(\.id) == [id] && seen[0].maintenance)
            #expect(seen[0].texts["it"]?.title == "Manutenzione" && seen[0].texts["en"]?.text == "From 3 to 4.")
            #expect(try await harness.parts.announcements.current(now: .now + .seconds(7201)).isEmpty)
            #expect(try await harness.request("DELETE", "/consent/v1/announcements/\(id)", token: anOperator).status == 204)
            #expect(try await harness.request("DELETE", "/consent/v1/announcements/\(id)", token: anOperator).status == 404)
            #expect(try await harness.request("GET", "/consent/v1/announcements").decoded(as: Page<AnnouncementItem>.self).items.isEmpty)
        }
    }

    @Test("ACC-14, ACC-35: nobody but an operator announces")
    func closed() async throws {
        try await AccountHarness.run { harness in
            #expect(try await harness.request("POST", "/consent/v1/announcements", json: Self.form()).status == 401)
            let person = PersonID.random().description
            let refused = try await harness.request("POST", "/consent/v1/announcements", token: person, json: Self.form())
            #expect(refused.status == 403 && refused.problem == "not-for-this-account")
            #expect(try await harness.count("announcements") == 0)
        }
    }

    @Test(
        "UI-14: every wrong field of an announcement is named",
        arguments: [
            ("from", "tomorrow"), ("to", "2020-01-01T00:00:00Z"), ("italianTitle", ""),
            ("englishText", String(repeating: "a", count: 2001)),
            ("italianText", NSNull()), ("maintenance", "yes"), ("note", "x"),
        ] as [(String, any Sendable)])
    func refused(_ name: String, _ value: any Sendable) async throws {
        try await AccountHarness.run { harness in
            let answer = try await harness.request(
                "POST", "/consent/v1/announcements", token: OperatorID.random().description, json: Self.form([name: value]))
            #expect(answer.status == 422 && answer.problem == "invalid-announcement" && Set(answer.pointers) == ["/\(name)"])
            #expect(try await harness.count("announcements") == 0)
        }
    }

    @Test("An announcement that is sent again under its key is made once")
    func idempotency() async throws {
        try await AccountHarness.run { harness in
            let (anOperator, form) = (OperatorID.random().description, Self.form())
            for _ in 0..<2 {
                let answer = try await harness.request(
                    "POST", "/consent/v1/announcements", token: anOperator, json: form, headers: ["Idempotency-Key": "one"])
                #expect(answer.status == 201)
            }
            #expect(try await harness.count("announcements") == 1)
        }
    }

    @Test(
        "NFR-14: an operator who announces a breach writes to every person, once, in their language, by mail and inbox, through a restart; members and operators read it"
    )
    func breach() async throws {
        try await withTemporaryFolder { folder in
            let letters = ["b", "c", "d", "f", "g"]
            let names = letters.flatMap { one in letters.map { "A\(one)a\($0)a" } }
            try #require(names.count > AnnouncementService.atOnce)
            try await AccountHarness.run(in: folder, background: false) { harness in
                for (number, name) in names.enumerated() {
                    let answer = try await harness.register(
                        Applicant.form(email: "\(name)@example.org", name: name), from: "203.0.113.\(number)")
                    #expect(answer.status == 201, "\(answer.text)")
                }
                let anOperator = OperatorID.random().description
                let form = Self.form(["maintenance": false, "breach": true, "from": Timestamp.now.rfc3339])
                let made = try await harness.request("POST", "/consent/v1/announcements", token: anOperator, json: form)
                #expect(made.status == 201)
                #expect(try made.decoded(as: AnnouncementItem.self).breach)
                #expect(harness.mail.messages(to: nil, .dataBreach).isEmpty, "nobody has begun to write")
            }
            try await AccountHarness.run(in: folder) { harness in
                try await eventually("everybody was written to") { harness.mail.messages(to: nil, .dataBreach).count >= names.count }
                let written = harness.mail.messages(to: nil, .dataBreach)
                #expect(Set(written.compactMap(\.recipient.mail)) == Set(names.map { "\($0)@example.org" }))
                #expect(written.count == names.count && Set(written.compactMap(\.recipient.person)).count == names.count)
                #expect(written.allSatisfy { Set($0.channels) == [.mail, .inbox] && $0.values["title"] == "Manutenzione" })
            }
            try await AccountHarness.run(in: folder) { harness in
                #expect(try await harness.parts.announcements.current(now: .now).map(\.isBreach) == [true])
                let isOver = try await harness.opened.store.read { db in try AnnouncementStore().unwritten(db) == nil }
                #expect(isOver, "nobody is written to again")
            }
        }
    }
}
