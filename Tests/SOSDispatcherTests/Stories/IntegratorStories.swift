// Several emergency services, each reached in its own way: by endpoint, by text, over the bus, by an operator's telephone.

import Bus
import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Integrators, whole service")
struct IntegratorStories {
    private static let milan = Position(latitude: 45.4642, longitude: 9.19, accuracy: 10)
    private static let around = ServiceArea(circle: .init(centre: .init(latitude: 45.4642, longitude: 9.19), radiusKm: 30))
    private static let wider = ServiceArea(circle: .init(centre: .init(latitude: 45.4642, longitude: 9.19), radiusKm: 300))

    /// A notifier that takes messages to be sent and keeps them.
    private final class Texts: Sendable {
        private let runtime: Runtime
        private let taken = Mutex<[SendMessage]>([])

        init(_ folder: URL) async throws {
            runtime = try Harness(folder).runtime(.notifier, under: [:])
            var methods = Methods()
            methods.on(SendMessage.self) { [self] request, _ in
                taken.withLock { $0.append(request) }
                return Nothing()
            }
            try await runtime.answer(methods)
        }

        /// Those to emergency services; the person and the contacts get others.
        var all: [SendMessage] { taken.withLock { $0.filter { $0.template == .sosDispatch } } }

        func reply(_ text: String, from number: String) async throws -> String? {
            let dispatcher = try await runtime.client(of: .sosDispatcher)
            return try await dispatcher.ask(AcknowledgeByCode(number: number, text: text), deadline: .seconds(5)).result
        }

        func close() async { await runtime.bus.shutdown() }
    }

    /// What a peer has heard of its stream, and how far it is.
    private final class Heard: Sendable {
        private let state = Mutex<(events: [StreamEvent], next: [StreamPosition])>(([], []))

        var events: [StreamEvent] { state.withLock { $0.events } }
        var next: [StreamPosition] { state.withLock { $0.next } }

        func apply(_ events: [StreamEvent], _ next: [StreamPosition]) {
            state.withLock { $0 = ($0.events + events, next.isEmpty ? $0.next : next) }
        }

        /// Goes on where it was; a newcomer begins at the head.
        func follow(_ peer: Runtime, _ family: StreamFamily) async throws -> Task<Void, any Error> {
            let consumer = try await peer.consumer(of: family)
            return Task { [self] in
                try await consumer.run(from: next, apply: { self.apply($0, $1) })
            }
        }
    }

    private func call(_ stage: Stage, _ person: PersonID, at place: Position? = milan) async throws -> EmergencyID {
        try await stage.subscribe(person)
        try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: place)])
        return try await stage.askForHelp(person)
    }

    @discardableResult
    private func register(_ stage: Stage, _ settings: IntegratorSettings, _ desk: Desk? = nil) async throws -> AddIntegrator.Reply {
        let reply = try await stage.question(AddIntegrator(settings: settings, replaces: false))
        try desk?.share(WebhookSecret(reply.webhookSecret))
        return reply
    }

    @Test("SOS-17: the call goes to the one in whose area the person is, and to the one of the settings where there is no place")
    func byPlace() async throws {
        let (everywhere, local) = (Desk(.acknowledges(.accepted)), Desk(.acknowledges(.accepted)))
        try await Stage.playStarted(everywhere, and: local) { stage, _ in
            try await register(stage, IntegratorSettings(name: "milan", area: Self.around, url: local.address), local)
            let here = try await call(stage, .random())
            try await eventually("the acknowledgement of Milan") { try await stage.state(here) == "dispatched" }
            #expect(local.receipts.map(\.message?.emergencyId) == ["\(here)"] && everywhere.receipts.isEmpty)
            let nowhere = try await call(stage, .random(), at: nil)
            try await eventually("the other acknowledgement") { try await stage.state(nowhere) == "dispatched" }
            #expect(everywhere.receipts.map(\.message?.emergencyId) == ["\(nowhere)"] && local.receipts.count == 1)
        }
    }

    @Test("A refusal passes the call on at once, across a restart too; a cancel goes to whoever has it, even if it was removed meanwhile")
    func refusal() async throws {
        let (refusing, next, everywhere) = (Desk(.acknowledges(.rejected)), Desk(.silent), Desk(.silent))
        try await Stage.play(everywhere, and: refusing, next) { stage in
            var dispatcher = try await stage.start()
            try await register(stage, IntegratorSettings(name: "milan", area: Self.around, url: refusing.address), refusing)
            try await register(stage, IntegratorSettings(name: "north", area: Self.wider, url: next.address), next)
            let person = PersonID.random()
            let emergency = try await call(stage, person)
            try await eventually("the next one's call") { !next.receipts.isEmpty }
            #expect(next.receipts[0].body == refusing.receipts[0].body)
            try await eventually("it is noted") { try await stage.timeline(emergency).contains("passed-on") }
            await dispatcher.stop()
            let (asked, called) = (refusing.receipts.count, next.receipts.count)
            dispatcher = try await stage.start()
            try await eventually("it goes on with the next one") { next.receipts.count > called }
            next.become(.acknowledges(.accepted))
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            _ = try await stage.question(RemoveIntegrator(name: "north"))
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            try await eventually("the cancel") { next.receipts.contains { $0.message?.msgType == .cancel } }
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("cancel-acknowledged") }
            #expect(refusing.receipts.count == asked, "who has refused is not asked again")
            #expect(everywhere.receipts.isEmpty)
            let list = try await stage.question(ListIntegrators()).integrators
            #expect(list.first { $0.settings.name == "north" }?.isRetired == true)
        }
    }

    @Test("SOS-18: a dead endpoint delays neither the second endpoint nor the text; texts have one reference and end with the code")
    func twoChannels() async throws {
        let (dead, second) = (Desk(.silent), Desk(.silent))
        let number = "+39021234567"
        try await Stage.play(and: second) { stage in
            let texts = try await Texts(stage.folder)
            let dispatcher = try await stage.start()
            let settings = IntegratorSettings(
                name: "milan", area: Self.around, url: dead.address, secondURL: second.address, number: number)
            try await register(stage, settings, second)
            let emergency = try await call(stage, .random())
            let text = try await eventually("the text") { texts.all.first }
            #expect(text.recipient.phone == number && text.channels == [.sms] && text.template == .sosDispatch)
            let said = try #require(text.values["text"])
            #expect(said.hasPrefix("SOS1;i=\(emergency.description.dropFirst(4));") && said.utf8.count <= 160)
            try await eventually("the second endpoint") { !second.receipts.isEmpty }
            #expect(second.receipts[0].message?.emergencyId == "\(emergency)")
            let code = try #require(second.receipts[0].message?.ack.code)
            #expect(said.contains(";a=\(code);"))
            #expect(try await texts.reply("ok \(code.lowercased())", from: "+390299999999") == nil, "a number that nobody registered")
            #expect(try await texts.reply("ok 000000", from: number) == nil)
            #expect(try await stage.state(emergency) == "dispatching")
            #expect(try await texts.reply("Perhaps \(code), in an hour", from: number) == "not-understood")
            #expect(try await stage.state(emergency) == "dispatching", "in doubt nothing is accepted")
            #expect(try await texts.reply("Ok \(code.lowercased()), arriving", from: number) == "accepted")
            #expect(try await texts.reply("Ok \(code)", from: number) == "accepted", "the same again changes nothing")
            #expect(try await stage.state(emergency) == "dispatched")
            #expect(try await stage.timeline(emergency).count { $0 == "acknowledged" } == 1)
            #expect(Set(texts.all.map(\.message)).count == texts.all.count)
            await dispatcher.stop()
            await texts.close()
        }
    }

    @Test("An operator ends the repetition with a second person; one person alone, or a call that is over, is refused")
    func byHand() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, _ in
            let emergency = try await stage.callForHelp(.random())
            try await eventually("the call") { !desk.receipts.isEmpty }
            await #expect(throws: Failure.self) {
                try await stage.question(AcknowledgeByHand(emergency: emergency, by: "Ada", second: "ada ", reason: "by telephone"))
            }
            _ = try await stage.question(AcknowledgeByHand(emergency: emergency, by: "Ada", second: "Luca", reason: "by telephone"))
            #expect(try await stage.state(emergency) == "dispatched")
            let steps = try await stage.question(ReadTimeline(emergency: emergency)).steps
            #expect(steps.contains { $0.actor == "operator" && $0.detail == "by hand: Ada, seconded by Luca: by telephone" })
            await #expect(throws: Failure.self) {
                try await stage.question(AcknowledgeByHand(emergency: emergency, by: "Ada", second: "Luca", reason: "again"))
            }
        }
    }

    @Test("An integrator's peer hears its own stream without gaps, replayed after a break, and acknowledges its own messages alone")
    func overTheBus() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let keys = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            let rights = KeyFiles.PublicPeer(
                peer: Peer("milan-desk"), key: "", hear: [StreamFamily.dispatchesName(to: "milan")], ask: [AcknowledgeDispatch.method])
            _ = try keys.makeBusKeys(rights)
            var dispatcher = try await stage.start()
            try await register(stage, IntegratorSettings(name: "milan", area: Self.around, peer: "milan-desk"))
            let peer = try stage.runtime(Peer("milan-desk"))
            let client = try await peer.client(of: .sosDispatcher)
            let family = StreamFamily.dispatches(to: "milan", tcpPort: StreamFamily.firstDispatchPort)
            let heard = Heard()
            var following = try await heard.follow(peer, family)
            try await eventually("the stream is followed") { !heard.next.isEmpty }
            let first = try await call(stage, .random())
            try await eventually("the first message") { heard.events.count == 1 }
            following.cancel()
            _ = try? await following.value
            let second = try await call(stage, .random())
            await dispatcher.stop()
            dispatcher = try await stage.start()
            following = try await heard.follow(peer, family)
            let events = try await eventually("the second message, replayed") { heard.events.count >= 2 ? heard.events : nil }
            let messages = try events.map { try JSONDecoder().decode(DispatchMessage.self, from: Data($0.payload)) }
            #expect(messages.map(\.emergencyId) == ["\(first)", "\(second)"])
            #expect(events.map(\.header.sequence) == [1, 2] && events.allSatisfy { $0.header.subject.isEmpty })

            // Another emergency, that is not theirs.
            let other = try await call(stage, .random(), at: nil)
            func acknowledge(_ id: String, _ result: String = "accepted") async throws {
                _ = try await client.ask(
                    AcknowledgeDispatch(messageId: id, result: result, ackId: "bus-1", reason: nil), deadline: .seconds(5))
            }
            await #expect(throws: Failure.self) { try await acknowledge("\(other)-0") }
            await #expect(throws: Failure.self) { try await acknowledge("\(first)-0", "perhaps") }
            await #expect(throws: Failure.self) { _ = try await client.ask(ListIntegrators(), deadline: .seconds(5)) }
            for _ in 0..<2 { try await acknowledge("\(first)-0") }
            #expect(try await stage.state(first) == "dispatched")
            #expect(try await stage.state(second) == "dispatching")
            #expect(try await stage.state(other) == "dispatching")
            following.cancel()
        }
    }

    @Test(
        "An integrator that wants CAP gets CAP, signed as it is, and acknowledges with a CAP Ack by call-back; others' tokens see nothing")
    func cap() async throws {
        let (everywhere, local) = (Desk(.silent), Desk(.silent))
        try await Stage.playStarted(everywhere, and: local) { stage, dispatcher in
            let settings = IntegratorSettings(name: "milan", area: Self.around, url: local.address, format: .cap)
            let secrets = try await register(stage, settings, local)
            let emergency = try await call(stage, .random())
            let receipt = try await eventually("the call") { local.receipts.first }
            #expect(receipt.id == "\(emergency)-0")
            #expect(String(decoding: receipt.body, as: UTF8.self).contains("<identifier>\(emergency)-0</identifier>"))
            try WebhookSignature(id: receipt.id, timestamp: receipt.timestamp, signatures: receipt.signatures)
                .verify(body: receipt.body, secrets: [WebhookSecret(secrets.webhookSecret)], now: .now)
            let origin = "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)/sos/v1"
            func get(_ path: String, _ token: String) async throws -> OutboundResponse {
                try await Self.sender.send(OutboundRequest(url: origin + path, headers: [("Authorization", "Bearer \(token)")]))
            }
            let fetched = try await get("/emergencies/\(emergency)/dispatch?format=cap", secrets.token)
            #expect(fetched.body == receipt.body && fetched.header("content-type")?.hasPrefix("application/cap+xml") == true)
            #expect(try await get("/emergencies/\(emergency)/dispatch", secrets.token).body.first == UInt8(ascii: "{"))
            #expect(try await get("/emergencies/\(emergency)/dispatch", dispatcher.parts.token).status == 404)
            #expect(try await get("/emergencies/\(emergency)/timeline", dispatcher.parts.token).status == 404)
            #expect(try await get("/emergencies/\(emergency)/timeline", secrets.token).status == 200)
            let document = """
                <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>a-1</identifier><msgType>Ack</msgType>\
                <references>sos@localhost,\(emergency)-0,2026-01-10T00:00:05+00:00</references></alert>
                """
            func post(_ token: String) async throws -> Int {
                var request = OutboundRequest.post(
                    "\(origin)/dispatches/\(emergency)-0/acknowledgements", Array(document.utf8), contentType: "application/cap+xml")
                request.headers.append(("Authorization", "Bearer \(token)"))
                return try await Self.sender.send(request).status
            }
            #expect(try await post(dispatcher.parts.token) == 404, "not their message")
            #expect(try await post(secrets.token) == 200)
            #expect(try await stage.state(emergency) == "dispatched")
            let fresh = try await stage.question(RotateIntegrator(name: "milan", part: .token)).value
            #expect(try await post(secrets.token) == 401)
            #expect(try await post(fresh) == 200)
        }
    }

    @Test(
        "Who had rejected a call could go on reading how it went, place and vital signs included: it is a stranger to it until it takes it"
    )
    func rejectedKnowsNothing() async throws {
        let (everywhere, local) = (Desk(.silent), Desk(.silent))
        try await Stage.playStarted(everywhere, and: local) { stage, dispatcher in
            let secrets = try await register(stage, IntegratorSettings(name: "milan", area: Self.around, url: local.address), local)
            let emergency = try await call(stage, .random())
            try await eventually("the call") { !local.receipts.isEmpty }
            let origin = "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)/sos/v1"
            func answers() async throws -> [OutboundResponse] {
                var answers: [OutboundResponse] = []
                for path in ["dispatch", "timeline"] {
                    answers.append(
                        try await Self.sender.send(
                            OutboundRequest(
                                url: "\(origin)/emergencies/\(emergency)/\(path)", headers: [("Authorization", "Bearer \(secrets.token)")]))
                    )
                }
                return answers
            }
            func say(_ result: String) async throws {
                let body =
                    #"{"ack":{"messageId":"\#(emergency)-0","result":"\#(result)","ackId":"case-\#(result)","reason":"no ambulance is free"}}"#
                var request = OutboundRequest.post(
                    "\(origin)/dispatches/\(emergency)-0/acknowledgements", Array(body.utf8), contentType: "application/json")
                request.headers.append(("Authorization", "Bearer \(secrets.token)"))
                #expect(try await Self.sender.send(request).status == 200)
            }
            #expect(try await answers().map(\.status) == [200, 200])

            try await say("rejected")
            let refusals = try await answers()
            #expect(refusals.map(\.status) == [404, 404])
            #expect(refusals.allSatisfy { $0.header("content-type")?.hasPrefix("application/problem+json") == true })

            // It thinks better of it: the same message may be taken after all.
            try await say("accepted")
            #expect(try await answers().map(\.status) == [200, 200])
        }
    }

    @Test("A drill goes the real way with status test, is acknowledged and timed, and is no emergency")
    func drill() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, _ in
            let drill = try await stage.question(RunDrill(integrator: "desk", kind: .exercise)).emergency
            let ended = try await eventually("its end") {
                try await stage.question(ReadDrills(integrator: "desk", limit: 10)).drills.first { $0.outcome != nil }
            }
            #expect(ended.emergency == drill && ended.outcome == "acknowledged" && ended.kind == .exercise)
            #expect(ended.integrator == "desk", "the name that `drill run` takes, not the one that it is stored under")
            #expect(desk.receipts.first?.message?.status == .exercise)
            #expect(desk.receipts.first?.message?.headline.hasPrefix("DRILL") == true)
            #expect(try await stage.question(ListEmergencies(person: nil, limit: 10)).emergencies.isEmpty)
            desk.become(.acknowledges(.rejected))
            _ = try await stage.question(RunDrill(integrator: "desk", kind: .test))
            try await eventually("the refusal") {
                try await stage.question(ReadDrills(integrator: nil, limit: 10)).drills.first?.outcome == "refused"
            }
            await #expect(throws: Failure.self) { try await stage.question(RunDrill(integrator: "nobody", kind: .test)) }
            #expect(try await stage.question(VerifyAudit()).firstBroken == nil)
        }
    }

    @Test("What cannot be registered is refused, twice the same name too, and secrets survive a change of the rest")
    func registering() async throws {
        try await Stage.playStarted { stage, _ in
            let settings = IntegratorSettings(name: "milan", area: Self.around, url: "https://desk.example/sos")
            let first = try await register(stage, settings)
            await #expect(throws: Failure.self) { try await register(stage, settings) }
            await #expect(throws: Failure.self) { try await register(stage, IntegratorSettings(name: "desk", url: "https://a.example")) }
            await #expect(throws: Failure.self) { try await register(stage, IntegratorSettings(name: "a", url: "gopher://a.example")) }
            await #expect(throws: Failure.self) {
                try await register(stage, IntegratorSettings(name: "a", url: "https://a.example", answerKey: "whpk_no"))
            }
            await #expect(throws: Failure.self) { try await stage.question(RemoveIntegrator(name: "desk")) }
            await #expect(throws: Failure.self) { try await stage.question(RotateIntegrator(name: "rome", part: .token)) }
            var changed = settings
            changed.priority = 7
            let again = try await stage.question(AddIntegrator(settings: changed, replaces: true))
            #expect(again.webhookSecret == first.webhookSecret && again.token == first.token)
            let list = try await stage.question(ListIntegrators()).integrators
            #expect(list.map(\.settings.name) == ["desk", "milan"] && list.last?.settings.priority == 7)
            #expect(CanaryHunt(texts: [first.token], numbers: []).findings(in: stage.folder).found == [])
        }
    }

    @Test("Who was removed after a theft and added again had the stolen secret and token: they are new, unless the operator keeps them")
    func addedAgain() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(and: desk) { stage, _ in
            let settings = IntegratorSettings(name: "milan", area: Self.around, url: desk.address)
            let stolen = try await register(stage, settings)
            _ = try await stage.question(RemoveIntegrator(name: "milan"))
            let fresh = try await register(stage, settings, desk)
            #expect(fresh.webhookSecret != stolen.webhookSecret && fresh.token != stolen.token)
            let emergency = try await call(stage, .random())
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            let receipt = try #require(desk.receipts.first)
            let signature = WebhookSignature(id: receipt.id, timestamp: receipt.timestamp, signatures: receipt.signatures)
            try signature.verify(body: receipt.body, secrets: [WebhookSecret(fresh.webhookSecret)], now: .now)
            #expect(throws: (any Error).self) {
                try signature.verify(body: receipt.body, secrets: [WebhookSecret(stolen.webhookSecret)], now: .now)
            }
            _ = try await stage.question(RemoveIntegrator(name: "milan"))
            let kept = try await stage.question(AddIntegrator(settings: settings, replaces: true))
            #expect(kept.webhookSecret == fresh.webhookSecret && kept.token == fresh.token)
        }
    }

    private static let sender = HTTPSender.anywhere()
}
