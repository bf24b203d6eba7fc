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
    private static func lostAnswer(_ house: RequestHarness) async throws -> (list: JobID, request: RequestID) {
        house.world.silenceConsent(true)
        let answer = try await house.call("POST", "/requests", house.form())
        guard answer.status == 202, let list = (answer.json["list"] as? String).flatMap({ JobID($0) }),
            let intent = try await house.opened.store.read({ db in try PendingRequestStore().waiting(db, limit: 1) }).first
        else { throw RequestHarness.Missing(answer: answer.text) }
        house.world.silenceConsent(false)
        let reply = try house.world.open(
            Hex.encode(intent.question),
            OpenRequest(
                organisation: house.organisation, organisationName: "Istituto Prova", fiscalCode: RequestHarness.code, types: [.heartRate],
                from: house.world.now - .seconds(30 * 86_400), to: house.world.now - .seconds(86_400), granularity: .minutes,
                purpose: "A study of sleep"))
        return (list, reply.request)
    }

    @Test("ACC-31, PAY-09: an answer that comes after its person was erased keeps nothing of whom it was about, and costs nothing")
    func erasedBeforeTheAnswer() async throws {
        try await RequestHarness.runWithPerson { house in
            let (list, request) = try await Self.lostAnswer(house)
            // Consent names nobody any more when it says that the request is over.
            let declined = try house.world.change(request, to: .declined)
            try await house.hear(declined.state, of: nil)
            #expect(try await house.bill(request) == nil)
            _ = try await house.parts.service.askNow(list)
            let stored = try #require(try await house.stored(request))
            #expect(stored.particulars == nil && stored.request.person == nil && stored.request.status == .declined)
            #expect(try await house.call("GET", "/requests/\(request)").json["fiscalCode"] == nil)
            #expect(try await house.bill(request)?.status == .void, "its price was fixed only now, and is dropped")
        }
    }

    @Test("an answer that comes after the refusal of somebody who is known keeps its target, and costs nothing")
    func declinedBeforeTheAnswer() async throws {
        try await RequestHarness.run { house in
            let person = house.world.add(RequestHarness.code)
            let (list, request) = try await Self.lostAnswer(house)
            let declined = try house.world.change(request, to: .declined)
            try await house.hear(declined.state, of: person)
            _ = try await house.parts.service.askNow(list)
            #expect(try await house.call("GET", "/requests/\(request)").json["fiscalCode"] as? String == RequestHarness.code)
            #expect(try await house.bill(request)?.status == .void)
        }
    }

    @Test("ACC-31: a fact about somebody who is erased here already leaves nothing of whom the request was about")
    func erasedBeforeTheFact() async throws {
        try await RequestHarness.run { house in
            let person = house.world.add(RequestHarness.code)
            let request = try await house.open(house.form())
            #expect(try await house.stored(request)?.particulars != nil)
            _ = try await house.opened.keys.makeKey(for: person)
            try await house.opened.keys.destroyKey(of: person)
            try await house.become(.pending, request)
            #expect(try await house.stored(request)?.particulars == nil)
            #expect(try await house.stored(request)?.request.person == nil)
        }
    }

    @Test("SHR-17: a request that was opened while a snapshot was on its way is not taken for one that is over")
    func openedDuringASnapshot() async throws {
        try await RequestHarness.runWithPerson { house in
            let request = try await house.open(house.form())
            try await house.takeSnapshot([])
            #expect(try await house.stored(request)?.request.status == .pending)
            #expect(try await house.stored(request)?.particulars != nil)
            #expect(try await house.mails().isEmpty)
            house.world.pass(.seconds(301))
            try await house.takeSnapshot([])
            #expect(try await house.stored(request)?.request.status == .declined)
            #expect(try await house.stored(request)?.particulars == nil)
        }
    }

    @Test("ORG-16: nobody is asked any more for an organisation that is gone, and its forms are forgotten")
    func organisationGone() async throws {
        try await RequestHarness.runWithPerson { house in
            house.world.silenceConsent(true)
            let answer = try await house.call("POST", "/requests", house.form())
            let list = try #require((answer.json["list"] as? String).flatMap { JobID($0) })
            let organisation = house.organisation
            try await house.opened.store.write { db in try PendingRequestStore().abandon(db, of: .random(), detail: "gone") }
            #expect(try await house.opened.store.read { db in try PendingRequestStore().waiting(db, limit: 9) }.count == 1)
            try await house.opened.store.write { db in try PendingRequestStore().abandon(db, of: organisation, detail: "gone") }
            house.world.silenceConsent(false)
            let intent = try await house.parts.service.askNow(list)
            #expect(intent?.outcome == .refused && intent?.form == nil && intent?.detail == "gone")
            #expect(house.world.asked.isEmpty)
        }
    }

    @Test("SHR-S: one delivered request that consent does not end keeps no other from ending")
    func endsTheOthers() async throws {
        try await RequestHarness.runWithPerson { house in
            let (gone, other) = (
                try await house.granted(house.form()), try await house.granted(house.form(types: [.glucose]))
            )
            let at = house.world.now - .seconds(5 * 86_400)
            house.world.put([Sample(type: .heartRate, at: at, value: 60), Sample(type: .glucose, at: at, value: 80)])
            for (id, type) in [(gone, "heart-rate"), (other, "glucose")] {
                #expect(try await house.call("GET", "/requests/\(id)/data?type=\(type)").status == 200)
            }
            _ = try house.world.change(gone, to: .revoked)
            house.world.pass(.seconds(721 * 3600))
            #expect(try await house.parts.ending.endDelivered() == 1)
            #expect(try await house.stored(other)?.request.status == .ended)
        }
    }

    // MARK: What leaves

    @Test("PAY-04: a first page whose money has begun to go back while it was read does not leave")
    func givenBackMeanwhile() async throws {
        try await RequestHarness.runWithPerson { house in
            house.world.put([Sample(type: .heartRate, at: house.world.now - .seconds(5 * 86_400), value: 60)])
            let id = try await house.granted(house.form())
            let data = house.parts.data
            let opened = try #require(try await data.open(id, of: house.organisation, type: .heartRate, from: nil, to: nil))
            try await house.contest(id)
            await #expect(throws: DataAccess.Refusal.held(.contested)) { try await data.page(opened, after: nil, limit: 10) }
            #expect(try await house.bill(id)?.isDelivered == false)
            try await house.contest(id, .kept)
            #expect(try await data.page(opened, after: nil, limit: 10).columns.count == 1)
            #expect(try await house.bill(id)?.isDelivered == true)
            let other = try await house.granted(house.form(days: -60 ..< -31))
            house.world.put([Sample(type: .heartRate, at: house.world.now - .seconds(45 * 86_400), value: 60)])
            let again = try #require(try await data.open(other, of: house.organisation, type: .heartRate, from: nil, to: nil))
            try await house.giveBack(other)
            await #expect(throws: DataAccess.Refusal.held(.givenBack)) { try await data.page(again, after: nil, limit: 10) }
            #expect(try await house.bill(other)?.isDelivered == false)
        }
    }

    @Test("SHR-16, INV-04: files do not leave while consent is not heard, and a withdrawal stops one that is on its way")
    func filesStop() async throws {
        try await RequestHarness.runWithPerson { house in
            house.world.put([Sample(type: .heartRate, at: house.world.now - .seconds(5 * 86_400), value: 60)])
            let id = try await house.granted(house.form())
            let begun = try await house.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\"}")
            while try await house.parts.files.workOff() {}
            let file = try #require((begun.json["file"] as? String).flatMap { JobID($0) })
            let path = "/requests/\(id)/files/\(file)/parts/data-0001.csv"
            let job = try #require(try await house.parts.files.find(file, of: id))
            house.world.stopHearingConsent(true)
            let refused = try await house.call("GET", path)
            #expect(refused.problem == "consent-not-heard" && refused.header("retry-after") == "5")
            #expect(try await house.parts.files.mayLeave(job) == false)
            house.world.stopHearingConsent(false)
            #expect(try await house.call("GET", path).status == 200)
            #expect(try await house.parts.files.mayLeave(job))
            try await house.become(.revoked, id)
            #expect(try await house.parts.files.mayLeave(job) == false)
        }
    }
}

extension RequestHarness {
    /// As the follower takes a snapshot.
    func takeSnapshot(_ events: [StreamEvent]) async throws {
        let news = parts.news
        try await opened.store.write { db in
            for event in events { try news.apply(db, event) }
            let named = Set(try events.compactMap { try $0.fact(RequestState.self, type: RequestState.type)?.request })
            for request in try RequestStore().known(db, after: [], limit: .max) where !named.contains(request) {
                try news.isGone(db, request)
            }
        }
    }
}
