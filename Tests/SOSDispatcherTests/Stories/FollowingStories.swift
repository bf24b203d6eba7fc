// A store that refuses for a while: what follows streams goes on from what is stored, not from where the process began.

import Contracts
import Foundation
import GRDB
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("A store that refuses for a while", .timeLimit(.minutes(2)))
struct FollowingStories {
    /// Longer than the store waits for a lock.
    private static let refusal = Duration.seconds(3)

    private static func pauses(_ stage: Stage) async throws -> Int {
        let store = try Self.file(stage)
        defer { try? store.close() }
        return try store.inDatabaseHere { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM audit WHERE entry LIKE '%\"monitoring-%'") ?? 0
        }
    }

    private static func file(_ stage: Stage) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(
            path: stage.folder.appendingPathComponent("sos-dispatcher/sos-dispatcher.db").path, configuration: configuration)
    }

    @Test(
        "S7: after a passing fault of the store an old pause was heard again, with false rows in the audit: devices go on from the stored positions"
    )
    func devices() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let (person, device) = (PersonID.random(), DeviceID.random())
            try await stage.subscribe(person)
            for paused in [true, false] {
                try await stage.ingest.say(MonitoringState(person: person, paused: paused))
                try await eventually("it is heard", isTrue: { try await stage.question(ReadSupervision(person: person)).paused == paused })
            }
            try await eventually("both are noted", isTrue: { try await Self.pauses(stage) == 2 })
            let other = try Self.file(stage)
            try other.inDatabaseHere { try $0.execute(sql: "BEGIN IMMEDIATE") }
            try await stage.ingest.say(DeviceState(device: device, person: person, active: true, intervalMs: 4000))
            // The fault has a length: the store gives up waiting for its file, and the follower begins again.
            try await Task.sleep(for: Self.refusal)
            try other.inDatabaseHere { try $0.execute(sql: "ROLLBACK") }
            try other.close()
            try await eventually(
                "the device is known", isTrue: { try await dispatcher.parts.store.longestInterval(of: person) == .seconds(4) })
            // What is heard behind it shows that everything before it was gone through.
            try await stage.ingest.say(MonitoringState(person: person, paused: true))
            try await eventually("the next pause", isTrue: { try await stage.question(ReadSupervision(person: person)).paused })
            try await eventually("it is noted", isTrue: { try await Self.pauses(stage) >= 3 })
            #expect(try await Self.pauses(stage) == 3, "two and this one: none was made up")
            #expect(try await stage.question(VerifyAudit()).firstBroken == nil)
        }
    }
}

extension DatabaseQueue {
    /// As `inDatabase`, which asynchronous code is otherwise led away from.
    fileprivate func inDatabaseHere<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try inDatabase(body)
    }
}
