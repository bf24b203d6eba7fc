// Sharing through all services: asked, answered, read, seen and withdrawn, with the organisations' door played by a peer.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Consent
@testable import Operator

/// The door of organisations as long as no service is: it may ask what the gateway may ask.
private struct Spa: Sendable {
    static let peer = KeyFiles.PublicPeer(
        peer: .thirdPartyGateway, key: "", hear: ["consent.requests"],
        ask: [OpenRequest.method, ReadRequest.method, EndRequest.method, ReadSamples.method])

    let organisation = OrganisationID.random()
    let consent: BusClient
    let ingest: BusClient

    init(_ runtime: Runtime) async throws {
        (consent, ingest) = (try await runtime.client(of: .consent), try await runtime.client(of: .ingest))
    }

    func ask(_ code: String, _ types: [Metric]) async throws -> OpenRequest.Reply {
        try await consent.ask(
            OpenRequest(
                organisation: organisation, organisationName: "Terme del Lago", fiscalCode: code, types: types, from: .now - .seconds(3600),
                to: .now + .seconds(30 * 86_400), granularity: .seconds, purpose: "A plan for your stay"), deadline: .seconds(5))
    }

    func state(_ request: RequestID) async throws -> RequestState {
        try await consent.ask(ReadRequest(organisation: organisation, request: request), deadline: .seconds(5))
    }

    func read(_ state: RequestState, _ type: Metric) async throws -> [Sample] {
        guard let grant = state.grant else { throw Failure(.notFound, "there is no grant") }
        return try await ingest.ask(
            ReadSamples(
                grant: grant, organisation: organisation, type: type, from: state.from, to: state.to, after: nil, limit: 1000),
            deadline: .seconds(5)
        ).columns.samples
    }

    /// Nil where data were handed out.
    func refusal(_ state: RequestState, _ type: Metric) async -> Failure.Code? {
        await failure { _ = try await read(state, type) }?.code
    }
}

/// A guest with an account and a scale that measures more than weight.
struct Guest: Sendable {
    static let password = "quattro gatti sul tetto"
    /// Since 1970, in which somebody was weighed.
    private static let lastSecond = Mutex<Int64>(0)

    let suite: StorySuite
    let email: String
    let code: String
    let token: String
    let scale: AddDevice.Reply

    /// - Parameter name: another one for each guest of a story.
    init(in suite: StorySuite, named name: String = "Bruno") async throws {
        email = "\(name.lowercased())@ospiti.example"
        code = FiscalCode.computed(surname: "Ospite", name: name, year: 1970, month: 1, day: 1, sex: .male, place: "H501")
        let own: [String: any Sendable] = ["fiscalCode": code, "birthDate": "1970-01-01", "weight": 82.5, "height": 180]
        let form = registrationForm(
            name: name, surname: "Ospite", email: email, password: Self.password, terms: Conditions.version
        ).merging(own) { $1 }
        let (person, token) = try await HarnessClient(suite.consent).join(form)
        Guest.lastSecond.withLock { $0 = Timestamp.now.milliseconds / 1000 }
        scale = try await eventually("ingest knows the account") {
            try? await suite.ask(AddDevice(person: person, name: "Bilancia", intervalMs: 1000))
        }
        (self.suite, self.token) = (suite, token)
        let scale = scale
        try await eventually("the scale may deliver") { (try? await suite.beat(70, from: scale)) != nil }
    }

    /// In a second of its own: what is shared by the second is the mean of it, and registering has weighed too.
    func weigh(_ value: Double) async throws {
        let weight = try #require(Metric(code: "weight"))
        let now = try await eventually("a second without a weight") {
            Guest.lastSecond.withLock { last in
                let now = Timestamp.now
                guard now.milliseconds / 1000 > last else { return nil as Timestamp? }
                last = now.milliseconds / 1000
                return now
            }
        }
        let reply = try await suite.upload(
            [
                Sample(type: weight, at: now, value: value), Sample(type: .bodyTemperature, at: now, value: 36.5),
                Sample(type: .heartRate, at: now, value: 66),
            ], from: scale)
        guard reply.outcome == .answered(status: 200, retryAfter: nil) else { throw NotTaken(status: reply.outcome.status) }
    }

    func answer(_ request: RequestID, _ answer: String) async throws -> Int {
        try await suite.say("POST", suite.consent + "/consent/v1/requests/\(request)/answer", ["answer": answer], as: token).status
    }

    struct Accesses: Decodable {
        struct Item: Decodable {
            var name: String?
            var type: String
        }
        var items: [Item]
    }

    func accesses() async throws -> [Accesses.Item] {
        try await suite.say("GET", suite.consent + "/consent/v1/accesses", as: token).decoded(as: Accesses.self).items
    }
}

@Suite("Stories of sharing")
struct SharingStories {
    @Test(
        "SC-08: a spa asks twice, the second time in vain; SHR-16: what is withdrawn stops in less than a second, SHR-24: the guest saw every read"
    )
    func spa() async throws {
        try await StorySuite.with(further: [Spa.peer]) { suite in
            try await suite.playing(.thirdPartyGateway) { runtime in
                let spa = try await Spa(runtime)
                let guest = try await Guest(in: suite)
                let weight = try #require(Metric(code: "weight"))
                await #expect(throws: Failure.self) { _ = try await spa.ask("RSSMRA80A01H501U", [weight]) }
                let first = try await spa.ask(guest.code, [weight, .bodyTemperature])
                #expect(first.isSubscription && first.status == .pending)
                #expect(await spa.refusal(try await spa.state(first.request), weight) == .notFound)
                #expect(try await guest.answer(first.request, "accept") == 200)
                try await guest.weigh(81.5)
                let granted = try await spa.state(first.request)
                #expect(granted.status == .approved)
                try await eventually("the weight is handed out") {
                    (try? await spa.read(granted, weight))?.contains { $0.value == 81.5 } == true
                }
                #expect(await spa.refusal(granted, .heartRate) == .forbidden)

                let second = try await spa.ask(guest.code, [.oxygenSaturation, .heartRate])
                #expect(try await guest.answer(second.request, "refuse") == 200)
                let declined = try await spa.state(second.request)
                #expect(declined.status == .declined && declined.grant == nil)
                #expect(await spa.refusal(granted, .heartRate) == .forbidden)
                try await guest.weigh(80.5)
                try await eventually("weight keeps flowing") {
                    (try? await spa.read(granted, weight))?.contains { $0.value == 80.5 } == true
                }
                try await eventually("the guest sees who read what") {
                    let seen = try await guest.accesses()
                    return !seen.isEmpty && seen.allSatisfy { $0.name == "Terme del Lago" && $0.type == "weight" }
                }

                let grant = try #require(granted.grant)
                let pace = MachinePace()
                defer { pace.end() }
                let withdrawn = ContinuousClock.now
                let said = try await suite.say("DELETE", suite.consent + "/consent/v1/grants/\(grant)", as: guest.token)
                #expect(said.status == 200)
                while await spa.refusal(granted, weight) == nil {}
                let stopped = ContinuousClock.now - withdrawn
                print("figure: withdrawal over HTTP to denied read, through all services: \(stopped.wholeMilliseconds) ms")
                #expect(stopped < pace.allowed(.seconds(1)))
                #expect(await spa.refusal(granted, .bodyTemperature) == .forbidden)
                #expect(try await spa.state(first.request).status == .revoked)
            }
        }
    }

    @Test(
        "SHR-16, ACC-15: after consent's store was put back from a copy, what was withdrawn since stays so, and so do ended sessions"
    )
    func putBack() async throws {
        try await StorySuite.with(further: [Spa.peer], hasGateway: false) { suite in
            try await suite.playing(.thirdPartyGateway) { runtime in
                let spa = try await Spa(runtime)
                let (guest, other) = (try await Guest(in: suite), try await Guest(in: suite, named: "Carla"))
                let weight = try #require(Metric(code: "weight"))
                func share(_ guest: Guest) async throws -> RequestState {
                    let request = try await spa.ask(guest.code, [weight]).request
                    #expect(try await guest.answer(request, "accept") == 200)
                    return try await spa.state(request)
                }
                let (withdrawn, kept) = (try await share(guest), try await share(other))
                let copy = try await suite.copyStore(of: .consent)
                let grant = try #require(withdrawn.grant)
                #expect(try await suite.say("DELETE", suite.consent + "/consent/v1/grants/\(grant)", as: guest.token).status == 200)
                try await eventually("the withdrawal is heard") { await spa.refusal(withdrawn, weight) == .forbidden }
                let loggedOut = try await suite.say("DELETE", suite.consent + "/consent/v1/sessions/current", as: other.token)
                #expect((200..<300).contains(loggedOut.status))
                try await suite.putBack(copy, of: .consent)

                try await eventually("its grants are heard anew") {
                    try await suite.hasHeardAll("consent.grants", of: .consent, by: .ingest)
                }
                try await eventually("what is in force is handed out") { (try? await spa.read(kept, weight)) != nil }
                #expect(try await spa.state(withdrawn.request).status == .approved, "consent itself knows nothing of it")
                #expect(await spa.refusal(withdrawn, weight) == .forbidden)
                for (token, status) in [(guest.token, 200), (other.token, 401)] {
                    #expect(try await suite.say("GET", suite.consent + "/consent/v1/accesses", as: token).status == status)
                }
            }
        }
    }

    @Test(
        "SHR-21, NFR-15, SOS-15, SOS-28, INV-22: consent stops: after five seconds nobody reads what was granted, while a failing heart is called for in time"
    )
    func silence() async throws {
        try await StorySuite.with(further: [Spa.peer]) { suite in
            try await suite.playing(.thirdPartyGateway) { runtime in
                let spa = try await Spa(runtime)
                let guest = try await Guest(in: suite)
                let neighbour = try await suite.subscriber()
                try await suite.beat(64, from: neighbour)
                let types: [Metric] = [try #require(Metric(code: "weight")), .bodyTemperature, .heartRate]
                let request = try await spa.ask(guest.code, types).request
                #expect(try await guest.answer(request, "accept") == 200)
                try await guest.weigh(81.5)
                let granted = try await spa.state(request)
                for type in types {
                    try await eventually("\(type) is handed out") { (try? await spa.read(granted, type))?.isEmpty == false }
                }

                let pace = MachinePace()
                defer { pace.end() }
                await suite.stopConsent()
                let stopped = ContinuousClock.now
                // While reads may still be answered, and again when they are denied: a heart needs nobody's leave.
                try await suite.beat(38, from: neighbour)
                try await eventually("the first read is denied") { await spa.refusal(granted, types[0]) != nil }
                let denied = ContinuousClock.now - stopped
                print("figure: consent stopped: reads denied after \(denied.wholeMilliseconds) ms")
                // Five seconds of silence, and a second for the last heartbeat and the question.
                #expect(denied < pace.allowed(.seconds(6), waiting: .seconds(5)))
                for type in types { #expect(await spa.refusal(granted, type) == .forbidden) }
                let first = try await suite.acknowledged(of: neighbour)
                #expect(try #require(first.acknowledgedAt) - first.t0 < .seconds(5))

                let other = try await suite.subscriber()
                try await suite.beat(171, from: other)
                let second = try await suite.acknowledged(of: other)
                #expect(try #require(second.acknowledgedAt) - second.t0 < .seconds(5))
                // Nor has the call opened a door: what is denied stays denied.
                for type in types { #expect(await spa.refusal(granted, type) == .forbidden) }
                try await guest.weigh(80.5)
                #expect(await spa.refusal(granted, types[0]) == .forbidden)
                #expect(Set(try suite.desk("alert").map(\.messageId)) == ["\(first.emergency)-0", "\(second.emergency)-0"])
            }
        }
    }
}
