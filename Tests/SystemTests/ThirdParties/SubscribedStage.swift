// A company that is subscribed to some people on all three ways, while their wearables upload.

import Contracts
import Foundation
import ServiceKit
import TestKit

@testable import Operator
@testable import ThirdPartyGateway

final class SubscribedStage: Sendable {
    let suite: RealSuite
    let gateway: ServiceProcess
    let company: GatewayProgram
    let subscriptions: [SharedSubscription]
    let load: SharedLoad
    let pages: [RequestID: PageReader]
    let events: [RequestID: EventsReader]

    private static let price = PriceList(currency: "EUR", perRequest: 500, usual: .init(seconds: 0, minutes: 0, hours: 0))
    /// How far back the uploads begin.
    private static let past = Duration.seconds(20 * 3600)
    private static let types: [Metric] = [.heartRate, .bodyTemperature]

    /// Runs `body` with everything subscribed and running; the load is not started.
    /// - Parameter receivers: registered in this order; a receiver proves that it wants messages whatever its manner.
    static func with(
        people: Int, receivers: [WebhookReceiver],
        _ body: (SubscribedStage, _ endpoints: [String]) async throws -> Void
    ) async throws {
        try await RealSuite.with(.thirdParties) { suite in
            guard let gateway = suite.gateway else { throw UnexpectedAnswer("there is no gateway") }
            _ = try await suite.ask(SetPrices(prices: price))
            let company = try await GatewayProgram.found(1, in: suite)
            var endpoints: [String] = []
            for receiver in receivers { endpoints.append(try await company.register(receiver)) }
            let beginning = Timestamp.now - past
            var subscriptions: [SharedSubscription] = []
            for mark in 0..<people {
                let patient = try await Patient.register(UInt64(mark), in: suite)
                subscriptions.append(try await company.subscribe(to: patient, types, from: beginning))
            }
            let stage = try SubscribedStage(suite, gateway, company, subscriptions, since: beginning)
            defer { stage.stopReading() }
            stage.startReading()
            try await body(stage, endpoints)
        }
    }

    private init(
        _ suite: RealSuite, _ gateway: ServiceProcess, _ company: GatewayProgram, _ subscriptions: [SharedSubscription], since: Timestamp
    ) throws {
        (self.suite, self.gateway, self.company, self.subscriptions) = (suite, gateway, company, subscriptions)
        load = try SharedLoad(subscriptions.map(\.patient), since: since, to: suite)
        let requests = subscriptions.map(\.request)
        pages = Dictionary(uniqueKeysWithValues: requests.map { ($0, PageReader(program: company, subscription: $0)) })
        events = Dictionary(
            uniqueKeysWithValues: requests.map { ($0, EventsReader(program: company, port: gateway.port, subscription: $0)) })
    }

    private func startReading() {
        for reader in pages.values { Task { await reader.run() } }
        for reader in events.values { Task { await reader.run() } }
    }

    private func stopReading() {
        for reader in pages.values { reader.taken.stop() }
        for reader in events.values { reader.taken.stop() }
    }

    // MARK: The end

    /// Ends the load and waits until what was acknowledged has come by every way, or a while has passed: the checker then says what
    /// is missing. What was revoked is left out.
    func settle(
        _ receivers: [String: WebhookReceiver], without revoked: Set<RequestID> = [], patience: Duration
    ) async throws
        -> DeliveryEvidence
    {
        try await load.stop()
        let account = load.ledger.account
        let kept = subscriptions.filter { !revoked.contains($0.request) }
        var evidence = DeliveryEvidence()
        (evidence.sent, evidence.acknowledged) = (account.sent, account.acknowledged)
        let people = Set(kept.map(\.patient.person))
        evidence.acknowledged = evidence.acknowledged.filter { people.contains($0.key.person) }
        evidence.subscriptions = Dictionary(uniqueKeysWithValues: kept.map { ($0.request, $0.patient.person) })
        let due = Dictionary(grouping: evidence.acknowledged) { $0.key.person }.mapValues { Int64($0.count) }
        do {
            try await eventually("everything has come by every way", within: patience) { [self] in
                let logs = Dictionary(uniqueKeysWithValues: receivers.map { ($0.key, Self.applied($0.value.deliveries)) })
                return kept.allSatisfy { one in
                    let wanted = due[one.patient.person] ?? 0
                    return pages[one.request]?.taken.last ?? 0 >= wanted && events[one.request]?.taken.last ?? 0 >= wanted
                        && logs.values.allSatisfy { $0[one.request]?.last?.number ?? 0 >= wanted }
                }
            }
        } catch {
            print("· waited in vain: \(error)")
        }
        for one in kept {
            let answer = try await company.insist("GET", "/subscriptions/\(one.request)")
            struct Shown: Decodable { var head: Int64 }
            evidence.heads[one.request] = try answer.decoded(as: Shown.self).head
        }
        let requests = kept.map(\.request)
        evidence.ways["pages"] = Dictionary(uniqueKeysWithValues: requests.map { ($0, pages[$0]?.taken.all ?? []) })
        evidence.ways["events"] = Dictionary(uniqueKeysWithValues: requests.map { ($0, events[$0]?.taken.all ?? []) })
        for (way, receiver) in receivers { evidence.apply(receiver.deliveries, as: way) }
        return evidence
    }

    private static func applied(_ deliveries: [WebhookDelivery]) -> [RequestID: [DeliveredItem]] {
        var evidence = DeliveryEvidence()
        evidence.apply(deliveries, as: "")
        return evidence.ways[""] ?? [:]
    }
}
