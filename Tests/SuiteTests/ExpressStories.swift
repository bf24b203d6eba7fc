// The express lane through ingest and the dispatcher as they are: a disk that hangs delays no alarm.

import Contracts
import Foundation
import GRDB
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("Stories of a slow disk", .timeLimit(.minutes(5)))
struct ExpressStories {
    @Test(
        "P6, SOS-10, SOS-15: while ingest's disk hangs an emergency opens, under the id that the stored entry gives it; one call goes out")
    func hangingDisk() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.subscriber()
            try await suite.beat(64, from: watch)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let store = suite.layout.data.appendingPathComponent("ingest/ingest.db")
            // Another connection keeps the writer from its transaction.
            let other = try DatabaseQueue(path: store.path, configuration: configuration)
            try other.inDatabaseHere { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let critical = Sample(type: .heartRate, at: .now, value: 38)
            let uploading = Task { try await suite.upload([critical], from: watch).outcome }
            let early = try await eventually("the alert is open") { try await suite.emergencies(of: watch).first }
            try other.inDatabaseHere { try $0.execute(sql: "ROLLBACK") }
            try other.close()
            // As a device does: until it is taken.
            if try await uploading.value != .answered(status: 200, retryAfter: nil) {
                try await eventually("the entry is taken") {
                    try await suite.upload([critical], from: watch).outcome == .answered(status: 200, retryAfter: nil)
                }
            }
            let emergency = try await suite.acknowledged(of: watch)
            let acknowledgedAt = try #require(emergency.acknowledgedAt)
            #expect(emergency.emergency == early.emergency && emergency.t0 == early.t0)
            #expect(acknowledgedAt - emergency.t0 >= .milliseconds(3500))
            #expect(try await suite.emergencies(of: watch).count == 1)
            #expect(try await suite.steps(of: emergency.emergency).count { $0 == "alerted" } == 1)
            #expect(Set(try suite.desk("alert").map(\.messageId)) == ["\(emergency.emergency)-0"])
        }
    }
}

extension DatabaseQueue {
    /// As `inDatabase`, which asynchronous code is otherwise led away from.
    fileprivate func inDatabaseHere<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try inDatabase(body)
    }
}
