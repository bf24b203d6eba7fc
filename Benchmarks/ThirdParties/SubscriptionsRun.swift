// One run of load on subscriptions: wearables upload each second, organisations listen, some people withdraw.

import Contracts
import Foundation
import ServiceKit

struct SubscriptionsRun {
    typealias Instant = ContinuousClock.Instant

    struct Withdrawal: Sendable {
        let request: String
        /// From the click until the last item was sent, ms; 0 where none came after it.
        let took: Double
    }

    let sharing: SharingSuite
    let shares: [SharingSuite.Share]
    let measured: Int
    let ledger: DeliveryLedger
    private let metrics: [Metric]
    private let seconds: Int
    private let wait: Int
    /// The first second that entries are dated in, and when it begins.
    private let (firstSecond, begins): (Int64, Instant)
    private let hooks: HookServer

    var samplesPerSecond: Int { sharing.wearers.count * metrics.count }

    init(sharing: SharingSuite, shares: [SharingSuite.Share], metrics: [Metric], measured: Int, tail: Int, wait: Int) async throws {
        (self.sharing, self.shares, self.metrics, self.measured, self.wait) = (sharing, shares, metrics, measured, wait)
        seconds = measured + tail
        let (now, clock) = (Timestamp.now, Instant.now)
        firstSecond = now.milliseconds / 1000 + 5
        begins = clock + .milliseconds(firstSecond * 1000 - now.milliseconds)
        let lines = shares.map { share in
            DeliveryLedger.Line(
                request: share.request, way: SubscriptionsBenchmark.way(of: share.firm), wearer: share.wearer,
                types: metrics[(2 * share.firm)..<(2 * share.firm + 2)].map(\.code))
        }
        let ledger = DeliveryLedger(lines, wearers: sharing.wearers.count, firstSecond: firstSecond, seconds: seconds)
        self.ledger = ledger
        hooks = try HookServer { _, body, isTaken in ledger.received(body, isTaken: isTaken) }
        try await registerHooks()
    }

    private func shares(of way: DeliveryWay) -> [SharingSuite.Share] {
        shares.filter { SubscriptionsBenchmark.way(of: $0.firm) == way }
    }

    private func registerHooks() async throws {
        struct Made: Decodable {
            var id: String
        }
        for firm in sharing.firms where SubscriptionsBenchmark.way(of: firm.number) == .webhooks {
            let gateway = sharing.suite.gateway
            let made = try await gateway.call(
                "POST", "/thirdparty/v1/endpoints", token: firm.token, json: ["url": hooks.url(firm.number)], expecting: 201)
            let id = try JSONDecoder().decode(Made.self, from: Data(made.body)).id
            _ = try await gateway.call("POST", "/thirdparty/v1/endpoints/\(id)/verification", token: firm.token, expecting: 200)
        }
    }

    /// Times count from the end of the measured seconds.
    /// - Returns: who withdrew what, and how long more came.
    func run(withdrawals: Int, from: Duration, refusing: (from: Duration, to: Duration)) async throws -> [Withdrawal] {
        let events = try EventListeners(
            port: sharing.suite.port(of: .thirdPartyGateway),
            streams: shares(of: .events).map { ($0.request, sharing.firms[$0.firm].token) }
        ) { [ledger] request, bytes in ledger.received(bytes, of: request) }
        let polling = Task { try await poll() }
        let before = sharing.programs.mapValues(\.processorTime)
        async let uploaded: Void = upload()
        let turn = begins + .seconds(measured)
        try await Task.sleep(until: turn, clock: .continuous)
        report(before)
        // What was measured has time to arrive.
        try await Task.sleep(until: turn + refusing.from, clock: .continuous)
        let refuser = sharing.firms.count - 1
        hooks.set(refuser, refuses: true)
        let clicks = try await withdraw(withdrawals, from: turn + from)
        try await Task.sleep(until: turn + refusing.to, clock: .continuous)
        hooks.set(refuser, refuses: false)
        try await uploaded
        try await settle(without: Set(clicks.map(\.request)))
        polling.cancel()
        events.stop()
        _ = try? await polling.value
        return clicks.map { click in
            let last = ledger.lastSent(click.request).map { max(0, ($0 - click.at).milliseconds) } ?? 0
            return Withdrawal(request: click.request, took: last)
        }
    }

    /// What each process has used of a core.
    private func report(_ before: [Peer: Duration]) {
        let words = sharing.programs.map { peer, program in
            let used = (program.processorTime - (before[peer] ?? .zero)) / .seconds(measured)
            return "\(peer) \(Report.short(used * 100)) %"
        }
        print("  of one core: \(words.sorted().joined(separator: ", "))")
    }

    // MARK: Load

    private func upload() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in sharing.wearers.indices { group.addTask { try await upload(number) } }
            try await group.waitForAll()
        }
    }

    /// Once a second one entry of each type, dated in the second before, at a moment of the second that is the wearable's own.
    private func upload(_ number: Int) async throws {
        let wearer = sharing.wearers[number]
        let offset = number * 997 % 950
        for second in 0..<seconds {
            try await Task.sleep(until: begins + .milliseconds((second + 1) * 1000 + offset), clock: .continuous)
            let at = (firstSecond + Int64(second)) * 1000 + Int64(offset)
            let entries = metrics.map { "{\"type\":\"\($0.code)\",\"at\":\(at),\"value\":\(60 + (7 * second) % 41)}" }
            try await sharing.upload(Array("{\"entries\":[\(entries.joined(separator: ","))]}".utf8), of: wearer)
            ledger.accepted(number, second: second)
        }
    }

    /// Every subscription of the way is waited for by its own call, again and again.
    private func poll() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in shares(of: .rest) {
                group.addTask {
                    var after: Int64 = 0
                    while !Task.isCancelled {
                        let path = "/thirdparty/v1/subscriptions/\(share.request)/items?after=\(after)&limit=1000&wait=\(wait)"
                        let answer = try await sharing.suite.gateway.send("GET", path, token: sharing.firms[share.firm].token)
                        // Withdrawn.
                        if answer.status == 410 { return }
                        guard answer.status == 200 else {
                            try await Task.sleep(for: .milliseconds(200))
                            continue
                        }
                        after = ledger.received(answer.body, of: share.request) ?? after
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Withdrawing

    /// One share each of the first people, of all firms in turn, within two seconds.
    private func withdraw(_ count: Int, from begin: Instant) async throws -> [(request: String, at: Instant)] {
        let chosen = (0..<count).compactMap { number in
            shares.first { $0.wearer == number && $0.firm == number % sharing.firms.count }
        }
        return try await withThrowingTaskGroup(of: (String, Instant).self) { group in
            for (number, share) in chosen.enumerated() {
                group.addTask {
                    try await Task.sleep(until: begin + .milliseconds(number * 40), clock: .continuous)
                    let clicked = Instant.now
                    _ = try await sharing.suite.consent.call(
                        "DELETE", "/consent/v1/grants/\(share.grant)", token: sharing.wearers[share.wearer].token, expecting: 200)
                    return (share.request, clicked)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Returns when everything has come, or nothing more comes.
    private func settle(without: Set<String>) async throws {
        try? await Stage.wait("everything to arrive", atMost: .seconds(40), every: .milliseconds(200)) {
            DeliveryWay.allCases.allSatisfy { ledger.account(of: $0, seconds: 0..<seconds, without: without).missing == 0 }
        }
    }
}
