// A person with an account and a wearable, who answers and withdraws over HTTP, again and again until there is an answer.

import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit

@testable import Operator

actor Patient {
    nonisolated let fiscalCode: String
    nonisolated let device: AddDevice.Reply
    private let client: PeopleClient
    private var session: SandboxSession

    nonisolated var person: PersonID { device.person }

    private static let patience = Duration.seconds(60)
    /// Between two tries.
    private static let pause = Duration.milliseconds(10)

    /// - Parameter mark: different for each.
    static func register(_ mark: UInt64, in suite: RealSuite) async throws -> Patient {
        let (client, somebody) = (suite.peopleClient, SandboxPerson(mark: mark))
        let terms = try await client.call("GET", .consent, "/consent/v1/terms").expecting(200, "reading the conditions")
        _ = try await client.call("POST", .consent, "/consent/v1/accounts", body: somebody.form(acceptedTerms: terms.text("version") ?? ""))
            .expecting(201, "registering")
        var session = SandboxSession(client: client, login: somebody.email, password: somebody.password)
        let person = try PersonID(accessToken: try await session.token())
        let device = try await eventually("ingest knows the account") {
            try? await suite.ask(AddDevice(person: person, name: "watch", intervalMs: 1000))
        }
        return Patient(somebody.fiscalCode, device, client, session)
    }

    private init(_ fiscalCode: String, _ device: AddDevice.Reply, _ client: PeopleClient, _ session: SandboxSession) {
        (self.fiscalCode, self.device, self.client, self.session) = (fiscalCode, device, client, session)
    }

    /// What consent answers in the end.
    func say(_ method: String, _ path: String, _ body: [String: String]? = nil) async throws -> PeopleReply {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            if let reply = try? await attempt(method, path, body), reply.status < 500 { return reply }
            guard ContinuousClock.now < deadline else { throw UnexpectedAnswer("consent never answered \(method)") }
            // Somebody who sees an error tries again in a moment.
            try await Task.sleep(for: Self.pause)
        }
    }

    private func attempt(_ method: String, _ path: String, _ body: [String: String]?) async throws -> PeopleReply {
        var session = session
        defer { self.session = session }
        let reply = try await client.call(method, .consent, path, token: try await session.token(), body: body)
        guard reply.status == 401 else { return reply }
        return try await client.call(method, .consent, path, token: try await session.renew(), body: body)
    }

    /// Withdraws everything that a subscription allows.
    func revoke(_ subscription: SharedSubscription) async throws {
        let reply = try await say("DELETE", "/consent/v1/grants/\(subscription.grant)")
        guard reply.status == 200 else { throw UnexpectedAnswer("withdrawing was answered with \(reply.status)") }
    }
}

/// Uploads of people who share: each entry lies in a second of its own, so that it is one item of a subscription. Most are of a past
/// that is walked through faster than time goes, one each second is of now.
final class SharedLoad: Sendable {
    let ledger: LoadLedger
    private let wearables: [SharedWearable]
    private let isOver = Mutex(false)
    private let running = Mutex<Task<Void, any Error>?>(nil)

    private static let interval = Duration.milliseconds(100)
    /// Of one upload.
    private static let entries = 3

    /// - Parameter since: where the past begins.
    init(_ people: [Patient], since: Timestamp, to suite: RealSuite) throws {
        ledger = try LoadLedger(suite.root.appendingPathComponent("shared-\(UInt32.random(in: 0 ... .max)).jsonl"))
        let transport = UploadTransport.http(server: suite.server, authorities: nil)
        let ledger = ledger
        wearables = people.map { SharedWearable($0.device, since: since, ledger: ledger, transport: transport) }
    }

    func start() {
        let task = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for wearable in wearables { group.addTask { try await self.wear(wearable) } }
                try await group.waitForAll()
            }
        }
        running.withLock { $0 = task }
    }

    private func wear(_ wearable: SharedWearable) async throws {
        let clock = ContinuousClock()
        var next = clock.now
        while !isOver.withLock({ $0 }) {
            try await wearable.upload(Self.entries)
            next = max(next + Self.interval, clock.now)
            // The rhythm of the device.
            try await clock.sleep(until: next)
        }
    }

    /// Ends when the last upload is acknowledged.
    func stop() async throws {
        isOver.withLock { $0 = true }
        try await running.withLock { $0 }?.value
    }

    /// Waits until further uploads were acknowledged.
    func untilAcknowledged(_ count: Int) async throws {
        let before = ledger.acknowledgedBatches
        try await eventually("\(count) more uploads are acknowledged", within: .seconds(30)) {
            self.ledger.acknowledgedBatches >= before + count
        }
    }
}

/// One wearable, which repeats each upload under its key until it is acknowledged.
actor SharedWearable {
    private let device: AddDevice.Reply
    private let ledger: LoadLedger
    private let transport: UploadTransport
    /// In ms; the next second of the past, and the last one of now.
    private var past: Int64
    private var present: Int64 = 0
    private var count = 0

    private static let pause = Duration.milliseconds(20)

    init(_ device: AddDevice.Reply, since: Timestamp, ledger: LoadLedger, transport: UploadTransport) {
        (self.device, self.ledger, self.transport) = (device, ledger, transport)
        past = (since.milliseconds / 1000 + 1) * 1000
    }

    func upload(_ entries: Int) async throws {
        var samples: [Sample] = []
        for _ in 0..<entries {
            samples.append(Sample(type: .bodyTemperature, at: Timestamp(milliseconds: past), value: nextValue(36)))
            past += 1000
        }
        let second = Timestamp.now.milliseconds / 1000 * 1000
        if second > present {
            present = second
            samples.append(Sample(type: .heartRate, at: Timestamp(milliseconds: second), value: nextValue(60)))
        }
        let batch = try ledger.sent(samples, of: device.person, at: .now)
        let body = UploadBody.batch(try samples.map(UploadBody.entry))
        while true {
            let reply = await transport.send(body, device.token, "\(device.person)-\(batch)")
            if (200..<300).contains(reply.outcome.status), let answer = try? JSONDecoder().decode(UploadAnswer.self, from: Data(reply.body))
            {
                return try ledger.acknowledged(batch, rejected: answer.rejected.map(\.index), at: .now)
            }
            // A device waits before it tries again.
            try await Task.sleep(for: Self.pause)
        }
    }

    /// Differs from the one before, so that a mix-up shows.
    private func nextValue(_ base: Double) -> Double {
        count += 1
        return base + Double(count % 64) / 32
    }
}
