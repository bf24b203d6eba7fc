// Uploads beside a snapshot of a million grants.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization

/// Ingest runs, consent does not, as after an outage; then consent comes with a million grants that ingest has never heard of.
struct GrantsBenchmark {
    private static let grants = 1_000_000
    private static let people = 50
    private static let devices = 100
    private static let idle = Duration.seconds(10)
    /// Fewer uploads beside the snapshot say nothing about it.
    private static let leastUploads = 100

    let stage: Stage

    func rows() async throws -> [Row] {
        let suite = try SuiteUnderTest(in: stage.emptyFolder("grants"))
        let seat = try SuiteUnderTest.seat(.thirdPartyGateway, in: suite.folder)
        let organisation = OrganisationID.random()
        let former = try await startConsent(suite)
        try await share(suite, try await seat.client(of: .consent), organisation)
        former.kill9()
        let last = try GrantCopiesStore(file: suite.folder.appendingPathComponent("consent/consent.db")).add(Self.grants)
        let ingest = try await suite.start(.ingest)
        let devices = try await suite.addDevices(Self.devices)
        let alone = try await PacedUploads.during(suite, devices) { try await Task.sleep(for: Self.idle) }
        let reader = GrantReader(ingest: try await seat.client(of: .ingest), organisation: organisation)
        let begun = ContinuousClock.now
        var consent: Program?
        let beside = try await PacedUploads.during(suite, devices) {
            consent = try await startConsent(suite)
            try await Stage.wait("the snapshot", atMost: .seconds(1800), every: .milliseconds(200)) { await reader.isKnown(last) }
        }
        let took = ContinuousClock.now - begun
        await seat.bus.shutdown()
        await suite.operatorSeat.bus.shutdown()
        ingest.kill9()
        consent?.kill9()
        guard beside.count >= Self.leastUploads else { throw BenchmarkError("\(beside.count) uploads beside the snapshot") }
        let longest = beside.sorted().suffix(10).map { Report.short($0) }.joined(separator: ", ")
        print("  \(alone.count) uploads alone, \(beside.count) beside the snapshot; its ten longest: \(longest) ms")
        return [
            Row(
                "upload beside a snapshot of \(Self.grants) grants, longest", "ms", [beside.max() ?? .nan],
                reference: [alone.max() ?? .nan], beside: "uploads without one", .referencePlus(100), isJudged: true),
            Row("snapshot of \(Self.grants) grants, until it is whole", "s", [took.inSeconds]),
        ]
    }

    private func startConsent(_ suite: SuiteUnderTest) async throws -> Program {
        try await suite.start(.consent, SharingSuite.settings[.consent] ?? [:])
    }

    /// Everybody accepts a request for a day in the past.
    private func share(_ suite: SuiteUnderTest, _ consent: BusClient, _ organisation: OrganisationID) async throws {
        let terms = try await SharingSuite.terms(of: suite)
        let now = Timestamp.now
        _ = try await SuiteUnderTest.each(0..<Self.people, atOnce: SharingSuite.logInsAtOnce) { number in
            let person = MadeUpPerson(number)
            let token = try await SharingSuite.account(of: person, acceptedTerms: terms, suite)
            let asked = OpenRequest(
                organisation: organisation, organisationName: "Bench", fiscalCode: person.fiscalCode, types: [.heartRate],
                from: now - .seconds(172_800), to: now - .seconds(86_400), granularity: .seconds, purpose: "Measuring a snapshot")
            let request = try await consent.ask(asked, deadline: .seconds(2), attempts: 5).request
            try await SharingSuite.accept(request.description, token: token, suite)
        }
    }
}

/// A hundred uploads a second, each timed, on ten connections: one that waits delays only its own.
final class PacedUploads: Sendable {
    private static let connections = 10
    private static let pause = Duration.milliseconds(100)

    private let suite: SuiteUnderTest
    private let devices: [AddDevice.Reply]
    private let isOver = Mutex(false)
    private let took = Mutex<[Double]>([])

    private init(_ suite: SuiteUnderTest, _ devices: [AddDevice.Reply]) {
        (self.suite, self.devices) = (suite, devices)
    }

    /// - Returns: how long each took that was begun while `body` ran, in ms.
    static func during(_ suite: SuiteUnderTest, _ devices: [AddDevice.Reply], _ body: () async throws -> Void) async throws -> [Double] {
        let uploads = PacedUploads(suite, devices)
        let running = Task {
            _ = try await SuiteUnderTest.each(0..<connections, atOnce: connections) { try await uploads.upload($0) }
        }
        defer { running.cancel() }
        try await body()
        uploads.isOver.withLock { $0 = true }
        try await running.value
        return uploads.took.withLock { $0 }
    }

    private func upload(_ connection: Int) async throws {
        let begun = ContinuousClock.now + Self.pause * connection / Self.connections
        var round = 0
        while !isOver.withLock({ $0 }) {
            try await Task.sleep(until: begun + Self.pause * round, clock: .continuous)
            let sent = ContinuousClock.now
            try await RescueSuite.upload(72, of: devices[(connection + round * Self.connections) % devices.count], to: suite)
            took.withLock { $0.append((ContinuousClock.now - sent).milliseconds) }
            round += 1
        }
    }
}
