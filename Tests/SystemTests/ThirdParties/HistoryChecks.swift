// What both services say of a history so far, held against the model: INV-03 to INV-08 and INV-20.

import Contracts
import Foundation
import TestKit

@testable import Operator

/// One request as a service shows it.
private struct ShownState: Hashable, CustomStringConvertible {
    var status: String
    var shared: Set<String>
    var grant: String?
    /// Of the gateway alone.
    var delivery: String?

    init(_ request: HistoryModel.Request, withDelivery: Bool) {
        (status, shared) = (request.status.rawValue, Set(request.shared.map(\.code)))
        grant = request.grant?.description
        delivery = withDelivery ? request.delivery : nil
    }

    init(_ item: [String: Any]) {
        (status, shared) = (item["status"] as? String ?? "", Set(item["sharedTypes"] as? [String] ?? []))
        (grant, delivery) = (item["grant"] as? String, item["delivery"] as? String)
    }

    var description: String { "\(status) \(shared.sorted()) \(delivery ?? "")" }
}

extension HistoryRun {
    /// Waits until the gateway has heard what consent has said of a request.
    func converge(_ id: RequestID) async throws {
        guard let request = model.requests[id] else { return }
        let (company, wanted) = (companies[request.company], ShownState(request, withDelivery: true))
        do {
            try await eventually("the gateway knows", within: Self.patience) {
                try await ShownState(company.insist("GET", "/requests/\(id)").json) == wanted
            }
        } catch {
            let shown = try await ShownState(company.insist("GET", "/requests/\(id)").json)
            expect(false, "INV-03: the gateway says \(shown) of \(id) for good, which is \(wanted)")
        }
    }

    /// At a point of rest.
    func check() async throws {
        try await checkConsent()
        for number in companies.indices { try await checkGateway(number) }
        for number in companies.indices { try await checkMoney(number) }
        for number in companies.indices { try await checkSubscriptions(number) }
        try await checkData()
    }

    /// INV-03, INV-04, INV-06, INV-08 in the words of consent, which is right at once.
    func checkConsent() async throws {
        var seen: Set<RequestID> = []
        for (number, patient) in people.enumerated() {
            for item in try await patient.say("GET", "/consent/v1/requests?limit=1000").list("items") {
                guard let id = (item["request"] as? String).flatMap({ RequestID($0) }), let known = model.requests[id] else {
                    expect(false, "INV-07: consent knows a request that nobody made")
                    continue
                }
                let requester = (item["requester"] as? [String: Any])?["organisation"] as? String
                expect(seen.insert(id).inserted && known.person == number, "INV-06: \(id) is shown to two people")
                expect(requester == companies[known.company].organisation.description, "INV-06: \(id) is of \(requester ?? "nobody")")
                let (shown, wanted) = (ShownState(item), ShownState(known, withDelivery: false))
                expect(shown == wanted, "INV-03, INV-08: consent says \(shown) of \(id), which is \(wanted)")
            }
        }
        expect(seen == Set(model.requests.keys), "INV-07: consent has \(seen.count) requests instead of \(model.requests.count)")
    }

    private func checkGateway(_ number: Int) async throws {
        let company = companies[number]
        let wanted = model.requests.filter { $0.value.company == number }.mapValues { ShownState($0, withDelivery: true) }
        let shown = try await settled { () -> [RequestID: ShownState] in
            let items = try await company.insist("GET", "/requests?limit=1000").items
            return Dictionary(
                items.compactMap { item in (item["request"] as? String).flatMap { RequestID($0) }.map { ($0, ShownState(item)) } }
            ) { one, _ in one }
        } as: {
            $0 == wanted
        }
        for id in Set(shown.keys).union(wanted.keys) where shown[id] != wanted[id] {
            expect(
                false,
                "INV-03, INV-06: the gateway says \(shown[id].map { "\($0)" } ?? "nothing") of \(id), which is "
                    + (wanted[id].map { "\($0)" } ?? "nobody's"))
        }
        // INV-05, in the gateway's own words.
        let open = model.requests.filter { $0.value.company == number && ["PENDING", "APPROVED"].contains(shown[$0.key]?.status ?? "") }
        for (id, one) in open {
            for (other, another) in open where id.bits < other.bits && one.person == another.person && one.days.overlaps(another.days) {
                func types(_ id: RequestID, _ request: HistoryModel.Request) -> Set<String> {
                    shown[id]?.status == "APPROVED" ? shown[id]?.shared ?? [] : Set(request.types.map(\.code))
                }
                expect(types(id, one).isDisjoint(with: types(other, another)), "INV-05: \(id) and \(other) are open for the same")
            }
        }
    }

    /// PAY-09, INV-20: one payment for each request, charged at most once, and kept exactly where something may be kept for it.
    private func checkMoney(_ number: Int) async throws {
        let company = companies[number]
        let wanted = model.requests.filter { $0.value.company == number }.mapValues(\.payment)
        let items = try await settled {
            try await company.insist("GET", "/payments?limit=1000")
        } as: { answer in
            Dictionary(answer.items.compactMap(Self.payment)) { _, _ in "twice" } == wanted
        }.items
        for (id, status) in Dictionary(items.compactMap(Self.payment), uniquingKeysWith: { _, _ in "twice" }) where wanted[id] != status {
            expect(false, "PAY-09: the payment of \(id) is \(status) instead of \(wanted[id] ?? "none")")
        }
        expect(items.count == wanted.count, "PAY-03: \(items.count) payments of \(wanted.count) requests")
        for item in items {
            let (status, isCharged) = (item["status"] as? String ?? "", item["invoice"] as? String != nil)
            expect(isCharged == ["paid", "refunding", "refunded"].contains(status), "PAY-06: \(status), and an invoice: \(isCharged)")
        }
    }

    private static func payment(_ item: [String: Any]) -> (RequestID, String)? {
        guard let id = (item["request"] as? String).flatMap({ RequestID($0) }), let status = item["status"] as? String else { return nil }
        return (id, status)
    }

    /// INV-03: subscribed exactly where a request into the future is APPROVED (and paid).
    private func checkSubscriptions(_ number: Int) async throws {
        let company = companies[number]
        let wanted = Set(
            model.requests.filter { $0.value.company == number && $0.value.isSubscription && $0.value.delivery == "ready" }.keys)
        let running = try await settled { () -> Set<RequestID> in
            let items = try await company.insist("GET", "/subscriptions?limit=1000").items
            return Set(items.filter { $0["state"] as? String == "running" }.compactMap { ($0["id"] as? String).flatMap { RequestID($0) } })
        } as: {
            $0 == wanted
        }
        for id in running.symmetricDifference(wanted) {
            expect(false, "INV-03: the subscription \(id) \(running.contains(id) ? "runs" : "does not run")")
        }
    }

    /// INV-04, INV-20: some requests of every kind are asked for their data, and files of what is over are not handed out.
    private func checkData() async throws {
        let all = model.requests.keys.sorted { $0.bits < $1.bits }.shuffled(using: &dice)
        let refused = all.filter { id in HistoryModel.metrics.contains { !(model.requests[id]?.mayHave($0) ?? false) } }
        for id in refused.prefix(6) {
            for type in HistoryModel.metrics where !(model.requests[id]?.mayHave(type) ?? false) { try await probe(id, type) }
        }
        for (id, path, shared) in files {
            guard let request = model.requests[id], request.status != .approved || request.shared != shared else { continue }
            let answer = try await companies[request.company].insist("GET", path)
            expect(answer.status != 200, "INV-04: a file of \(id), \(request.status), is handed out")
        }
    }

    /// What a service says once that is as it must be, or after a while.
    private func settled<Value: Sendable>(
        _ look: @Sendable () async throws -> Value, as isSettled: @Sendable (Value) -> Bool
    ) async throws -> Value {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            let value = try await look()
            if isSettled(value) || ContinuousClock.now >= deadline { return value }
            // What one service has said the other hears within a moment.
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
