// What comes in another order than usual: facts before answers, erasures before facts, withdrawals before the last byte.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("What overtakes a request")
struct OvertakenTests {
    /// Sent while consent is silent; consent opens it, and the answer is lost.
    private static func lostAnswer(_ harness: RequestHarness) async throws -> (list: JobID, request: RequestID) {
        harness.world.silenceConsent(true)
        let answer = try await harness.call("POST", "/requests", harness.form())
        guard answer.status == 202, let list = (answer.json["list"] as? String).flatMap({ JobID($0) }),
            let intent = try await harness.opened.store.read({ db in try PendingRequestStore().waiting(db, limit: 1) }).first
        else { throw RequestHarness.Missing(answer: answer.text) }
        harness.world.silenceConsent(false)
        let reply = try harness.world.open(
            Hex.encode(intent.question),
            OpenRequest(
                organisation: harness.organisation, organisationName: "Istituto Prova", fiscalCode: RequestHarness.code,
                types: [.heartRate],
                from: harness.world.now - .seconds(30 * 86_400), to: harness.world.now - .seconds(86_400), granularity: .minutes,
                purpose: "A study of sleep"))
        return (list, reply.request)
    }

    @Test("ACC-31, PAY-09: an answer that comes after its person was erased keeps nothing of whom it was about, and costs nothing")
    func erasedBeforeTheAnswer() async throws {
        try await RequestHarness.runWithPerson { harness in
            let (list, request) = try await Self.lostAnswer(harness)
            // Consent names nobody any more when it says that the request is over.
            let declined = try harness.world.change(request, to: .declined)
            try await harness.hear(declined.state, of: nil)
            #expect(try await harness.bill(request) == nil)
            _ = try await harness.parts.service.askNow(list)
            let stored = try #require(try await harness.stored(request))
            #expect(stored.particulars == nil && stored.request.person == nil && stored.request.status == .declined)
            #expect(try await harness.call("GET", "/requests/\(request)").json["fiscalCode"] == nil)
            #expect(try await harness.bill(request)?.status == .void, "its price was fixed only now, and is dropped")
        }
    }

    @Test("an answer that comes after the refusal of somebody who is known keeps its target, and costs nothing")
    func declinedBeforeTheAnswer() async throws {
        try await RequestHarness.run { harness in
            let person = harness.world.add(RequestHarness.code)
            let (list, request) = try await Self.lostAnswer(harness)
            let declined = try harness.world.change(request, to: .declined)
            try await harness.hear(declined.state, of: person)
            _ = try await harness.parts.service.askNow(list)
            #expect(try await harness.call("GET", "/requests/\(request)").json["fiscalCode"] as? String == RequestHarness.code)
            #expect(try await harness.bill(request)?.status == .void)
        }
    }

    @Test("ACC-31: a fact about somebody who is erased here already leaves nothing of whom the request was about")
    func erasedBeforeTheFact() async throws {
        try await RequestHarness.run { harness in
            let person = harness.world.add(RequestHarness.code)
            let request = try await harness.open(harness.form())
            #expect(try await harness.stored(request)?.particulars != nil)
            _ = try await harness.opened.keys.makeKey(for: person)
            try await harness.opened.keys.destroyKey(of: person)
            try await harness.become(.pending, request)
            #expect(try await harness.stored(request)?.particulars == nil)
            #expect(try await harness.stored(request)?.request.person == nil)
        }
    }

    @Test("SHR-17: a request that was opened while a snapshot was on its way is not taken for one that is over")
    func openedDuringASnapshot() async throws {
        try await RequestHarness.runWithPerson { harness in
            let request = try await harness.open(harness.form())
            try await harness.takeSnapshot([])
            #expect(try await harness.stored(request)?.request.status == .pending)
            #expect(try await harness.stored(request)?.particulars != nil)
            #expect(try await harness.mails().isEmpty)
            harness.world.pass(.seconds(301))
            try await harness.takeSnapshot([])
            #expect(try await harness.stored(request)?.request.status == .declined)
            #expect(try await harness.stored(request)?.particulars == nil)
        }
    }

    @Test("ORG-16: nobody is asked any more for an organisation that is gone, and its forms are forgotten")
    func organisationGone() async throws {
        try await RequestHarness.runWithPerson { harness in
            harness.world.silenceConsent(true)
            let answer = try await harness.call("POST", "/requests", harness.form())
            let list = try #require((answer.json["list"] as? String).flatMap { JobID($0) })
            let organisation = harness.organisation
            try await harness.opened.store.write { db in try PendingRequestStore().abandon(db, of: .random(), detail: "gone") }
            #expect(try await harness.opened.store.read { db in try PendingRequestStore().waiting(db, limit: 9) }.count == 1)
            try await harness.opened.store.write { db in try PendingRequestStore().abandon(db, of: organisation, detail: "gone") }
            harness.world.silenceConsent(false)
            let intent = try await harness.parts.service.askNow(list)
            #expect(intent?.outcome == .refused && intent?.form == nil && intent?.detail == "gone")
            #expect(harness.world.asked.isEmpty)
        }
    }

    @Test("SHR-S: one delivered request that consent does not end keeps no other from ending")
    func endsTheOthers() async throws {
        try await RequestHarness.runWithPerson { harness in
            let (gone, other) = (
                try await harness.granted(harness.form()), try await harness.granted(harness.form(types: [.glucose]))
            )
            let at = harness.world.now - .seconds(5 * 86_400)
            harness.world.put([Sample(type: .heartRate, at: at, value: 60), Sample(type: .glucose, at: at, value: 80)])
            for (id, type) in [(gone, "heart-rate"), (other, "glucose")] {
                #expect(try await harness.call("GET", "/requests/\(id)/data?type=\(type)").status == 200)
            }
            _ = try harness.world.change(gone, to: .revoked)
            harness.world.pass(.seconds(721 * 3600))
            #expect(try await harness.parts.ending.endDelivered() == 1)
            #expect(try await harness.stored(other)?.request.status == .ended)
        }
    }

    // MARK: What leaves

    @Test("PAY-04: a first page whose money has begun to go back while it was read does not leave")
    func givenBackMeanwhile() async throws {
        try await RequestHarness.runWithPerson { harness in
            harness.world.put([Sample(type: .heartRate, at: harness.world.now - .seconds(5 * 86_400), value: 60)])
            let id = try await harness.granted(harness.form())
            let data = harness.parts.data
            let opened = try #require(try await data.open(id, of: harness.organisation, type: .heartRate, from: nil, to: nil))
            try await harness.contest(id)
            await #expect(throws: DataAccess.Refusal.held(.contested)) { try await data.page(opened, after: nil, limit: 10) }
            #expect(try await harness.bill(id)?.isDelivered == false)
            try await harness.contest(id, .kept)
            #expect(try await data.page(opened, after: nil, limit: 10).columns.count == 1)
            #expect(try await harness.bill(id)?.isDelivered == true)
            let other = try await harness.granted(harness.form(days: -60 ..< -31))
            harness.world.put([Sample(type: .heartRate, at: harness.world.now - .seconds(45 * 86_400), value: 60)])
            let again = try #require(try await data.open(other, of: harness.organisation, type: .heartRate, from: nil, to: nil))
            try await harness.giveBack(other)
            await #expect(throws: DataAccess.Refusal.held(.givenBack)) { try await data.page(again, after: nil, limit: 10) }
            #expect(try await harness.bill(other)?.isDelivered == false)
        }
    }

    @Test("SHR-16, INV-04: files do not leave while consent is not heard, and a withdrawal stops one that is on its way")
    func filesStop() async throws {
        try await RequestHarness.runWithPerson { harness in
            harness.world.put([Sample(type: .heartRate, at: harness.world.now - .seconds(5 * 86_400), value: 60)])
            let id = try await harness.granted(harness.form())
            let begun = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\"}")
            while try await harness.parts.files.workOff() {}
            let file = try #require((begun.json["file"] as? String).flatMap { JobID($0) })
            let path = "/requests/\(id)/files/\(file)/parts/data-0001.csv"
            let job = try #require(try await harness.parts.files.find(file, of: id))
            harness.world.stopHearingConsent(true)
            let refused = try await harness.call("GET", path)
            #expect(refused.problem == "consent-not-heard" && refused.header("retry-after") == "5")
            #expect(try await harness.parts.files.mayLeave(job) == false)
            harness.world.stopHearingConsent(false)
            #expect(try await harness.call("GET", path).status == 200)
            #expect(try await harness.parts.files.mayLeave(job))
            try await harness.become(.revoked, id)
            #expect(try await harness.parts.files.mayLeave(job) == false)
        }
    }
}

extension RequestHarness {
    /// As the follower takes a snapshot.
    func takeSnapshot(_ events: [StreamEvent]) async throws {
        let store = parts.events
        try await opened.store.write { db in
            for event in events { try store.apply(db, event) }
            let named = Set(try events.compactMap { try $0.fact(RequestState.self, type: RequestState.type)?.request })
            for request in try RequestStore().known(db, after: [], limit: .max) where !named.contains(request) {
                try store.isGone(db, request)
            }
        }
    }
}
