// What becomes of requests: who is told what, how they end, and what an erasure leaves (table SHR-S, ACC-31).

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("States of requests")
struct RequestStateTests {
    private static func mails(_ harness: RequestHarness) async throws -> [MessageTemplate] {
        try await harness.mails().map(\.template)
    }

    @Test("SHR-08, SHR-09: acceptance is mailed with the amount due, refusal and expiry without a reason; no mail names the person")
    func mails() async throws {
        try await RequestHarness.runWithPerson { harness in
            let accepted = try await harness.open(harness.form())
            let declined = try await harness.open(harness.form(types: [.glucose]))
            let expired = try await harness.open(harness.form(types: [.distance]))
            try await harness.become(.approved, accepted)
            try await harness.become(.declined, declined)
            try await harness.become(.expired, expired)
            // Heard again, as after a restart: nobody is told twice.
            try await harness.become(.approved, accepted)
            try await harness.become(.declined, declined)
            let mails = try await harness.mails()
            #expect(mails.map(\.template) == [.requestAccepted, .requestDeclined, .requestUnanswered])
            let first = try #require(mails.first)
            #expect(first.values["organisation"] == "\(harness.organisation)")
            #expect(first.values["amount"] == "12.00 EUR")
            #expect(first.values["link"]?.hasSuffix("/thirdparty/v1/requests/\(accepted)") == true)
            for mail in mails {
                #expect(!mail.values.values.contains { $0.contains(RequestHarness.code) })
                #expect(Set(mail.values.keys) == mail.template.values, "\(mail.template)")
            }
            #expect(try await harness.bill(accepted)?.status == .due)
            for over in [declined, expired] { #expect(try await harness.bill(over)?.status == .void) }
        }
    }

    @Test("SHR-15, SHR-16: withdrawal of types and of everything, and the end, are mailed once, and the other subjects hear of it")
    func tellsEnds() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.granted(harness.form(types: [.heartRate, .glucose]))
            try await harness.become(.approved, id, types: [.glucose])
            #expect(try await harness.call("GET", "/requests/\(id)").json["sharedTypes"] as? [String] == ["glucose"])
            try await harness.become(.revoked, id)
            try await harness.become(.revoked, id)
            #expect(try await Self.mails(harness) == [.requestAccepted, .accessNarrowed, .accessWithdrawn])
            #expect(try await harness.bill(id)?.status == .refunding)
            let item = try await harness.call("GET", "/requests/\(id)").json
            #expect(item["delivery"] as? String == "closed")
            #expect((item["sharedTypes"] as? [String])?.isEmpty == true)
        }
    }

    @Test("SHR-25: the organisation stops an approved request, again is the same as once; what is not approved cannot be stopped (SHR-17)")
    func stops() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form(days: -1..<30))
            #expect(try await harness.call("POST", "/requests/\(id)/end").problem == "request-not-approved")
            try await harness.become(.approved, id)
            harness.world.silenceConsent(true)
            #expect(try await harness.call("POST", "/requests/\(id)/end").status == 503)
            #expect(try await harness.stored(id)?.request.status == .approved, "SHR-22: nothing is changed")
            harness.world.silenceConsent(false)
            let ended = try await harness.call("POST", "/requests/\(id)/end")
            #expect(ended.json["status"] as? String == "ENDED", "\(ended.text)")
            #expect(try await harness.call("POST", "/requests/\(id)/end").json["status"] as? String == "ENDED")
            #expect(try await harness.bill(id)?.status == .due, "what it has stopped itself stays due")
            #expect(try await Self.mails(harness) == [.requestAccepted, .accessEnded])
        }
    }

    @Test("SHR-S: after everything of a past period was handed out, the request ends by itself once its time is over")
    func endsDelivered() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.granted(harness.form(types: [.heartRate, .glucose]))
            let at = harness.world.now - .seconds(5 * 86_400)
            harness.world.put([Sample(type: .heartRate, at: at, value: 60), Sample(type: .glucose, at: at, value: 80)])
            _ = try await harness.call("GET", "/requests/\(id)/data?type=heart-rate")
            #expect(try await harness.stored(id)?.request.deliveredAt == nil, "half of it")
            _ = try await harness.call("GET", "/requests/\(id)/data?type=glucose")
            #expect(try await harness.stored(id)?.request.deliveredAt != nil)
            #expect(try await harness.bill(id)?.isDelivered == true)
            #expect(try await harness.parts.ending.endDelivered() == 0)
            harness.world.pass(.seconds(721 * 3600))
            #expect(try await harness.parts.ending.endDelivered() == 1)
            #expect(try await harness.stored(id)?.request.status == .ended)
        }
    }

    @Test("PAY-09: where everything was read and there was nothing, that is told, so that nothing is kept for it")
    func tellsNothing() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.granted(harness.form())
            #expect(try await harness.call("GET", "/requests/\(id)/data?type=heart-rate").items.isEmpty)
            #expect(try await harness.bill(id)?.status == .refunding)
            #expect(try await harness.bill(id)?.isDelivered == false)
        }
    }

    @Test("INV-06: consent's word is taken over wherever table SHR-S leads on, nothing leads back, and each change is told at most once")
    func table() throws {
        for before in RequestStatus.allCases {
            for after in RequestStatus.allCases {
                var made = Self.made(before)
                let state = RequestState(
                    request: made.id, organisation: made.organisation, status: after, types: made.types, from: made.from, to: made.to,
                    granularity: made.granularity, grant: after == .approved ? GrantID(bits: 9) : nil,
                    changedAt: Timestamp(milliseconds: 5), answerBy: made.answerBy, receipt: nil)
                let first = made.receive(state, person: nil)
                let isTold = (before == .pending && after != .pending) || (before == .approved && (after == .revoked || after == .ended))
                #expect(made.status == (isTold ? after : before), "\(before) → \(after)")
                #expect(made.receive(state, person: nil) == .none)
                #expect((first != .none) == isTold, "\(before) → \(after)")
            }
        }
    }

    private static func made(_ status: RequestStatus) -> MadeRequest {
        MadeRequest(
            id: RequestID(bits: 1), organisation: OrganisationID(bits: 2), person: PersonID(bits: 3), asked: [.heartRate],
            types: [.heartRate], from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 10), granularity: .hours,
            isSubscription: false, status: status, grant: status == .approved ? GrantID(bits: 9) : nil,
            answerBy: Timestamp(milliseconds: 4), createdAt: Timestamp(milliseconds: 1), changedAt: Timestamp(milliseconds: 1),
            paidAt: nil, deliveredAt: nil)
    }

    // MARK: Erasure

    private static func erasing(_ harness: RequestHarness) -> (follower: ErasureFollower, confirmed: @Sendable () -> Int) {
        let count = Mutex(0)
        let box = Box(count)
        let follower = ErasureFollower(
            of: .thirdPartyGateway, store: harness.opened.store, keys: harness.opened.keys, steps: harness.parts.erasure,
            logger: Running.quiet
        ) { _ in box.add() }
        return (follower, { box.value })
    }

    private final class Box: Sendable {
        private let count: Mutex<Int>
        init(_ count: consuming Mutex<Int>) { self.count = count }
        func add() { count.withLock { $0 += 1 } }
        var value: Int { count.withLock { $0 } }
    }

    private static func erase(_ harness: RequestHarness, _ person: PersonID, _ scope: ErasureScope) async throws {
        let (follower, confirmed) = erasing(harness)
        let order = PersonErased(erasure: .random(), person: person, scope: scope, orderedAt: harness.world.now)
        try await harness.opened.store.write { db in try follower.add(db, order) }
        let running = Task { try await follower.run() }
        defer { running.cancel() }
        try await eventually("the erasure is confirmed") { confirmed() == 1 }
    }

    @Test("ACC-31: erasing the account closes its requests, tells the requester by mail, and leaves nothing that tells who it was")
    func erasesAccounts() async throws {
        try await RequestHarness.run { harness in
            let person = harness.world.add(RequestHarness.code)
            let pending = try await harness.open(harness.form(types: [.glucose]))
            try await harness.become(.pending, pending)
            let approved = try await harness.granted(harness.form())
            harness.world.put([Sample(type: .heartRate, at: harness.world.now - .seconds(5 * 86_400), value: 61)])
            let begun = try await harness.call("POST", "/requests/\(approved)/files", "{\"format\":\"json\"}")
            #expect(begun.status == 202, "\(begun.text)")
            #expect(try await harness.parts.files.workOff())
            #expect(try await harness.call("GET", "/requests/\(approved)/data?type=heart-rate").status == 200)
            #expect(try await harness.parts.data.find(approved, of: harness.organisation)?.stored.request.person == person)
            #expect(harness.parts.data.memory.count > 0)
            // Consent says what is over without naming anybody.
            let (declined, revoked) = (try harness.world.change(pending, to: .declined), try harness.world.change(approved, to: .revoked))
            try await Self.erase(harness, person, .account)
            #expect(harness.parts.data.memory.count == 0, "nothing of the person is left in memory either")
            try await harness.hear(declined.state, of: nil)
            try await harness.hear(revoked.state, of: nil)
            #expect(try await Self.mails(harness).suffix(2) == [.requestDeclined, .accessWithdrawn])
            for id in [pending, approved] {
                let item = try await harness.call("GET", "/requests/\(id)")
                #expect(item.status == 200 && item.json["fiscalCode"] == nil && item.json["purpose"] == nil)
                #expect(try await harness.stored(id)?.request.person == nil)
            }
            #expect(try await harness.call("GET", "/requests/\(approved)/files").items.isEmpty)
            #expect(
                !FileManager.default.fileExists(
                    atPath: harness.parts.files.files.folder.appendingPathComponent(begun.json["file"] as? String ?? "x").path))
        }
    }

    @Test("ACC-31: erasing what was collected takes files, and leaves the requests of an account that stays, with their target")
    func erasesData() async throws {
        try await RequestHarness.run { harness in
            let person = harness.world.add(RequestHarness.code)
            let waiting = try await harness.open(harness.form(types: [.glucose]))
            try await harness.become(.pending, waiting)
            #expect(try await harness.stored(waiting)?.particulars?.isPersons == true)
            try await Self.erase(harness, person, .data)
            #expect(try await harness.call("GET", "/requests/\(waiting)").json["fiscalCode"] as? String == RequestHarness.code)
            try await harness.parts.sealer.takeAll()
            #expect(try await harness.stored(waiting)?.particulars?.isPersons == true, "under the new key")
            #expect(try await harness.call("GET", "/requests/\(waiting)").json["fiscalCode"] as? String == RequestHarness.code)
        }
    }

    @Test("ACC-31: a snapshot that no longer holds an open request closes it and forgets whom it was about")
    func snapshotsClose() async throws {
        try await RequestHarness.runWithPerson { harness in
            let gone = try await harness.granted(harness.form())
            let stays = try await harness.open(harness.form(types: [.glucose]))
            let known = try harness.world.current(stays)
            let header = StreamHeader(
                stream: "consent.requests", epoch: "e", sequence: 7, head: 7, type: RequestState.type, subject: known.person.description,
                at: harness.world.now, trace: "")
            let event = StreamEvent(header: header, payload: Array(try JSONEncoder().encode(known.state)))
            try await harness.takeSnapshot([event])
            #expect(try await harness.stored(gone)?.request.status == .revoked)
            #expect(try await harness.stored(gone)?.request.person == nil)
            #expect(try await harness.stored(stays)?.request.status == .pending)
            #expect(try await Self.mails(harness).last == .accessWithdrawn)
        }
    }

    @Test("NFR-11: neither fiscal code nor purpose stands readable in any file, while they wait, are kept and are handed out as files")
    func keepsSecrets() async throws {
        try await RequestHarness.runWithPerson { harness in
            harness.world.silenceConsent(true)
            _ = try await harness.call("POST", "/requests", harness.form(types: [.distance]))
            harness.world.silenceConsent(false)
            let id = try await harness.granted(harness.form())
            harness.world.put([Sample(type: .heartRate, at: harness.world.now - .seconds(5 * 86_400), value: 61.25)])
            _ = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\"}")
            #expect(try await harness.parts.files.workOff())
            let bytes = try harness.everyByte()
            for secret in [RequestHarness.code, "study of sleep", "61.25"] {
                #expect(bytes.firstRange(of: Array(secret.utf8)) == nil, "\(secret)")
            }
        }
    }
}
