// Requests from their opening to their end, through the service and a real store.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Sharing")
struct SharingServiceTests {
    private static let code = "RSSMRA80A01H501U"

    @Test(
        "SHR-03, INV-07: a valid form adds exactly one request, PENDING, and no grant; its person is told at once by push, list and mail (SHR-04)"
    )
    func opening() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let reply = try await harness.parts.service.open(harness.form(Self.code, by: .random()), harness.context())
            #expect(reply.status == .pending && reply.isSubscription && reply.answerBy == harness.world.now + .seconds(86_400))
            let rows = try await harness.all()
            #expect(rows.count == 1 && rows[0].request.status == .pending && rows[0].request.person == person.person)
            #expect(try await harness.grantFacts().isEmpty)
            #expect(try await harness.requestFacts().map(\.status) == [.pending])
            try await harness.handOver()
            let message = try #require(harness.world.messages.first)
            #expect(harness.world.messages.count == 1 && message.template == .requestReceived && message.language == .italian)
            #expect(message.channels == [.push, .inbox, .mail] && message.recipient.person == person.person)
            #expect(message.values == ["name": "Ada", "organisation": "Istituto Prova", "purpose": "A study of sleep", "hours": "24"])
            #expect(message.notAfter == reply.answerBy && Set(message.values.keys) == message.template.values)
        }
    }

    @Test("SHR-03: an unknown code, a reversed period and a form without types are told apart, and nobody is notified")
    func refusals() async throws {
        try await SharingHarness.run { harness in
            try await harness.addPerson(Self.code)
            let organisation = OrganisationID.random()
            var cases: [(OpenRequest, Failure.Code, String)] = [
                // Well formed enough to be looked for, and nobody's.
                (harness.form("XXXXXX80A01H501X", by: organisation), .notFound, "no such person"),
                (harness.form(Self.code, by: organisation, types: []), .invalid, "types"),
                (harness.form(Self.code, by: organisation, purpose: ""), .invalid, "purpose"),
            ]
            var reversed = harness.form(Self.code, by: organisation)
            (reversed.from, reversed.to) = (reversed.to, reversed.from)
            cases.append((reversed, .invalid, "to"))
            for (form, code, word) in cases {
                let told = await failure { _ = try await harness.open(form) }
                #expect(told?.code == code && told?.reason.contains(word) == true)
            }
            #expect(try await harness.all().isEmpty)
            #expect(try await harness.opened.store.read { db in try harness.outbox.waiting(db) } == 0)
        }
    }

    @Test(
        "CON-15: an organisation may ask for at most shr.unknown_per_day different codes of nobody; then even known ones wait until tomorrow"
    )
    func unknownLimit() async throws {
        try await SharingHarness.run(environment: ["TRACKME_SHR_UNKNOWN_PER_DAY": "3"]) { harness in
            try await harness.addPerson(Self.code)
            let organisation = OrganisationID.random()
            for code in ["A", "A", "B", "B", "A", "C"] {
                let told = await failure { _ = try await harness.open(harness.form(code, by: organisation)) }
                #expect(told?.code == .notFound)
            }
            let limited = await failure { _ = try await harness.open(harness.form("D", by: organisation)) }
            #expect(limited?.code == .forbidden && limited?.reason.contains("tomorrow") == true)
            let known = await failure { _ = try await harness.open(harness.form(Self.code, by: organisation)) }
            #expect(known?.code == .forbidden)
            _ = try await harness.open(harness.form(Self.code, by: .random()))
            harness.world.pass(.seconds(86_400))
            _ = try await harness.open(harness.form(Self.code, by: organisation))
            _ = await failure { _ = try await harness.open(harness.form("E", by: organisation)) }
            let codes = try await harness.opened.store.read { db in
                try Data.fetchAll(db, sql: "SELECT code_lookup FROM sharing_unknown_codes")
            }
            #expect(codes.count == 1 && codes.allSatisfy { $0.count == LookupKey.length }, "yesterday's are forgotten")
        }
    }

    @Test(
        "SHR-18: an open request that overlaps in type and time is refused with the id of the one that covers it; other types, times and organisations are free"
    )
    func overlap() async throws {
        try await SharingHarness.run { harness in
            try await harness.addPerson(Self.code)
            let organisation = OrganisationID.random()
            let first = try await harness.open(harness.form(Self.code, by: organisation, types: [.heartRate, .position], days: 0..<10))
            let told = await failure {
                _ = try await harness.open(harness.form(Self.code, by: organisation, types: [.position], days: 9..<20))
            }
            #expect(told?.code == .conflict && told?.reason.hasSuffix("\(first)") == true)
            for form in [
                harness.form(Self.code, by: organisation, types: [.position], days: 10..<20),
                harness.form(Self.code, by: organisation, types: [.bodyTemperature], days: 0..<10),
                harness.form(Self.code, by: .random(), types: [.heartRate], days: 0..<10),
            ] { _ = try await harness.open(form) }
            #expect(try await harness.all().count == 4)
        }
    }

    @Test("CON-22: after a denial the same may be asked again at once, or after shr.retry_wait_h where that is set")
    func retry() async throws {
        try await SharingHarness.run(environment: ["TRACKME_SHR_RETRY_WAIT_H": "2"]) { harness in
            let person = try await harness.addPerson(Self.code)
            let organisation = OrganisationID.random()
            let form = harness.form(Self.code, by: organisation)
            let first = try await harness.open(form)
            _ = try await harness.answer(first, of: person.person, accept: false)
            let told = await failure { _ = try await harness.open(form) }
            #expect(told?.code == .conflict && told?.reason.contains("ask again after") == true)
            harness.world.pass(.seconds(7200))
            _ = try await harness.open(form)
        }
    }

    @Test("a question that is asked again by the same id gets the first answer, and there is one request")
    func idempotence() async throws {
        try await SharingHarness.run { harness in
            try await harness.addPerson(Self.code)
            let gateway = try await harness.peer(.thirdPartyGateway).client(of: .consent)
            let body = try JSONEncoder().encode(harness.form(Self.code, by: .random()))
            let first = try await gateway.ask(id: "abc", method: OpenRequest.method, body: Array(body), deadline: .seconds(5))
            let second = try await gateway.ask(id: "abc", method: OpenRequest.method, body: Array(body), deadline: .seconds(5))
            #expect(first == second)
            #expect(try await harness.all().count == 1)
        }
    }

    @Test("SHR-06: the first answer stands; the same answer again changes nothing, the other one is told so")
    func answeringTwice() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let id = try await harness.open(harness.form(Self.code, by: .random()))
            guard case .done = try await harness.answer(id, of: person.person, accept: true),
                case .unchanged = try await harness.answer(id, of: person.person, accept: true),
                case .refused(.alreadyAnswered(accepted: true, _)) = try await harness.answer(id, of: person.person, accept: false)
            else {
                Issue.record("the answers were taken otherwise")
                return
            }
            #expect(try await harness.request(id).status == .approved)
            #expect(try await harness.grantFacts().count == 1)
            guard case .notFound = try await harness.answer(id, of: .random(), accept: true) else {
                Issue.record("somebody else answered")
                return
            }
        }
    }

    @Test("X4, SHR-06: a stolen access token accepted a request, and the person heard nothing: it is told once, by mail too")
    func acceptanceIsTold() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let given = try await harness.open(harness.form(Self.code, by: .random()))
            let refused = try await harness.open(harness.form(Self.code, by: .random()))
            for _ in 0..<2 { _ = try await harness.answer(given, of: person.person, accept: true) }
            _ = try await harness.answer(refused, of: person.person, accept: false)
            try await harness.handOver()
            let told = harness.world.messages.filter { $0.template != .requestReceived }
            let message = try #require(told.first)
            #expect(told.count == 1 && message.template == .accessGiven && message.recipient.person == person.person)
            #expect(message.channels == [.push, .inbox, .mail])
            #expect(message.values == ["name": "Ada", "organisation": "Istituto Prova"])
        }
    }

    @Test("SHR-16, SHR-21, INV-03: acceptance grants exactly what was asked, partial withdrawal shortens it, the last type revokes it")
    func withdrawal() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let form = harness.form(Self.code, by: .random(), types: [.position, .heartRate], granularity: .hours)
            #expect(try await harness.grantFacts().isEmpty)
            let granted = try await harness.grant(form, to: person.person)
            let grant = try #require(granted.grant)
            let fact = try #require(try await harness.grantFacts().last)
            #expect(fact.active && fact.version == 1 && fact.types == [.heartRate, .position] && fact.granularity == .hours)
            #expect(fact.from == form.from && fact.to == form.to && fact.person == person.person && fact.organisation == form.organisation)
            _ = try await harness.parts.service.withdraw(grant.id, of: person.person, types: [.position], trace: "")
            _ = try await harness.parts.service.withdraw(grant.id, of: person.person, types: [.heartRate], trace: "")
            let facts = try await harness.grantFacts()
            #expect(facts.map(\.active) == [true, true, false] && facts.map(\.version) == [1, 2, 3])
            #expect(facts[1].types == [.heartRate])
            #expect(try await harness.request(granted.id).status == .revoked)
            guard case .unchanged = try await harness.parts.service.withdraw(grant.id, of: person.person, trace: ""),
                case .notFound = try await harness.parts.service.withdraw(grant.id, of: .random(), trace: "")
            else {
                Issue.record("a second or a stranger's withdrawal did something")
                return
            }
        }
    }

    @Test(
        "SHR-15, SHR-25: the organisation ends an approved request once; pending, revoked and other organisations' requests it cannot end")
    func ending() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let form = harness.form(Self.code, by: .random())
            let id = try await harness.open(form)
            let service = harness.parts.service
            let early = await failure {
                _ = try await service.end(EndRequest(organisation: form.organisation, request: id), harness.context())
            }
            #expect(early?.code == .conflict)
            _ = try await harness.answer(id, of: person.person, accept: true)
            let stranger = await failure { _ = try await service.end(EndRequest(organisation: .random(), request: id), harness.context()) }
            #expect(stranger?.code == .notFound)
            let ended = try await service.end(EndRequest(organisation: form.organisation, request: id), harness.context())
            let again = try await service.end(EndRequest(organisation: form.organisation, request: id), harness.context())
            #expect(ended.status == .ended && again.status == .ended)
            #expect(try await harness.grantFacts().map(\.active) == [true, false])
            try await harness.handOver()
            #expect(harness.world.messages.map(\.template).filter { $0 == .grantEnded }.count == 1)
            let read = try await service.read(ReadRequest(organisation: form.organisation, request: id))
            #expect(read.status == .ended)
            let foreign = await failure { _ = try await service.read(ReadRequest(organisation: .random(), request: id)) }
            #expect(foreign?.code == .notFound)
        }
    }

    @Test("SHR-19: requests to different people are decided each on its own")
    func manyPeople() async throws {
        try await SharingHarness.run { harness in
            let organisation = OrganisationID.random()
            for number in 0..<5 {
                let person = try await harness.addPerson("P\(number)")
                let id = try await harness.open(harness.form("P\(number)", by: organisation))
                if number != 2 { _ = try await harness.answer(id, of: person.person, accept: number.isMultiple(of: 2)) }
            }
            #expect(try await harness.all().map(\.request.status) == [.approved, .declined, .pending, .declined, .approved])
        }
    }

    @Test("ACC-36: a child may refuse but not accept; the guardian is asked and accepts instead, and the receipt says who did")
    func guardian() async throws {
        try await SharingHarness.run { harness in
            let child = try await harness.addPerson(Self.code, isChild: true)
            let id = try await harness.open(harness.form(Self.code, by: .random()))
            #expect(harness.world.guardiansAsked == [id])
            guard case .guardianMustAnswer = try await harness.answer(id, of: child.person, accept: true) else {
                Issue.record("the child accepted")
                return
            }
            #expect(try await harness.request(id).status == .pending)
            guard case .done = try await harness.parts.service.answer(id, of: child.person, accept: true, by: .guardian, trace: "") else {
                Issue.record("the guardian could not accept")
                return
            }
            let receipt = try #require(try await harness.requestFacts().last?.receipt)
            #expect(try ReceiptReading(receipt, harness).event["entity_id"] as? String == "guardian of \(id)")
            let other = try await harness.open(harness.form(Self.code, by: .random()))
            guard case .done = try await harness.answer(other, of: child.person, accept: false) else {
                Issue.record("the child could not refuse")
                return
            }
            guard case .guardianMustAnswer = try await harness.parts.policy.choose(.heartRate, shared: true, of: child.person),
                case .chosen = try await harness.parts.policy.choose(.heartRate, shared: false, of: child.person),
                case .chosen = try await harness.parts.policy.choose(.heartRate, shared: true, of: child.person, by: .guardian)
            else {
                Issue.record("a child's anonymous sharing is the guardian's")
                return
            }
        }
    }

    @Test("SHR-22: a transaction that breaks leaves no trace of the request, the answer, the grant or the receipt")
    func brokenTransactions() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            harness.world.breakNext()
            await #expect(throws: (any Error).self) { _ = try await harness.open(harness.form(Self.code, by: .random())) }
            harness.world.mend()
            #expect(try await harness.all().isEmpty)
            let id = try await harness.open(harness.form(Self.code, by: .random()))
            harness.world.breakNext()
            await #expect(throws: (any Error).self) { _ = try await harness.answer(id, of: person.person, accept: true) }
            harness.world.mend()
            #expect(try await harness.request(id).status == .pending)
            #expect(try await harness.grantFacts().isEmpty)
            #expect(try await harness.requestFacts().count == 1)
        }
    }

    @Test(
        "table SHR-S: deleting the data revokes every grant and leaves waiting requests; deleting the account closes both and names nobody")
    func closing() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let granted = try await harness.grant(harness.form(Self.code, by: .random()), to: person.person)
            let waiting = try await harness.open(harness.form(Self.code, by: .random()))
            let closing = harness.parts.closing
            let now = harness.world.now
            try await harness.opened.store.write { db in
                try closing.ordered(db, person.person, scope: .data, at: now, trace: "")
            }
            #expect(try await harness.request(granted.id).status == .revoked)
            #expect(try await harness.request(waiting).status == .pending)
            let second = try await harness.grant(harness.form(Self.code, by: .random()), to: person.person)
            try await harness.opened.store.write { db in
                try closing.ordered(db, person.person, scope: .account, at: now, trace: "")
            }
            #expect(try await harness.request(second.id).status == .revoked)
            #expect(try await harness.request(waiting).status == .declined)
            try await harness.opened.keys.destroyKey(of: person.person)
            _ = try await StreamLog().erase(
                person.person, in: [SharingEventStore.grantsStream, SharingEventStore.requestsStream], of: harness.opened.store)
            let left = try await harness.requestFacts()
            #expect(Set(left.map(\.request)) == [second.id, waiting] && left.allSatisfy { $0.receipt == nil })
            #expect(try await harness.grantFacts().isEmpty)
            let removed = try await harness.opened.store.write { db in try closing.erase(db, person.person, scope: .account) }
            #expect(removed > 3)
            #expect(try await harness.all().isEmpty)
        }
    }

    @Test("who asks and what for is readable in no file of the store")
    func sealedAtRest() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            try await SharingHarness.run(in: folder, world: world) { harness in
                let person = try await harness.addPerson(Self.code)
                let form = harness.form(
                    Self.code, by: .random(), purpose: "canary-of-the-purpose", name: "canary-of-the-name")
                _ = try await harness.grant(form, to: person.person)
            }
            let files = try #require(
                FileManager.default.enumerator(at: folder.appendingPathComponent("store"), includingPropertiesForKeys: nil))
            var looked = 0
            for case let file as URL in files {
                let bytes = try Data(contentsOf: file)
                looked += 1
                for canary in ["canary-of-the-purpose", "canary-of-the-name", Self.code, "rssmra80a01h501u@example.org"] {
                    #expect(bytes.range(of: Data(canary.utf8)) == nil, "\(file.lastPathComponent)")
                    let coded = Data(canary.utf8).base64EncodedData().dropLast(4)
                    #expect(bytes.range(of: coded) == nil, "\(file.lastPathComponent)")
                }
            }
            #expect(looked >= 2)
        }
    }
}
