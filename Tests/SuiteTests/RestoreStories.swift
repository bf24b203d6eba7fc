// A store is put back from a copy while everybody else goes on: what had been heard of it is not taken for what it says next.

import Contracts
import Foundation
import GRDB
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension StorySuite {
    /// As an operator copies it, while its service runs.
    func copyStore(of peer: Peer) async throws -> URL {
        let copy = layout.data.appendingPathComponent("\(peer)-copy.db")
        try await DatabaseQueue(path: store(of: peer).path).vacuum(into: copy.path)
        return copy
    }

    func putBack(_ copy: URL, of peer: Peer) async throws {
        let store = store(of: peer)
        try await restart(peer) {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
            try FileManager.default.copyItem(at: copy, to: store)
        }
    }

    /// Whether the consumer stands where the owner's stream ends, in the epoch that the owner counts in now.
    func hasHeardAll(_ stream: String, of owner: Peer, by consumer: Peer) async throws -> Bool {
        let end = try await string(
            "SELECT epoch || ' ' || (head + 1) FROM stream_epoch, stream_heads WHERE stream = '\(stream)'", of: owner)
        return try await string("SELECT epoch || ' ' || next FROM consumer_positions WHERE stream = '\(stream)'", of: consumer) == end
    }

    private func string(_ sql: String, of peer: Peer) async throws -> String? {
        var configuration = Configuration()
        configuration.readonly = true
        return try await DatabaseQueue(path: store(of: peer).path, configuration: configuration).read { db in
            try String.fetchOne(db, sql: sql)
        }
    }

    private func store(of peer: Peer) -> URL {
        layout.data.appendingPathComponent("\(peer)/\(peer).db")
    }
}

@Suite("Stories of a restore", .timeLimit(.minutes(5)))
struct RestoreStories {
    @Test(
        "SOS-10, SOS-28: after ingest's store was put back from a copy the dispatcher still hears new entries, and nothing old sounds again"
    )
    func ingest() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.subscriber(bounds: ["heart-rate": Bounds(low: 60, high: nil)])
            for rate in [64.0, 55, 64] { try await suite.beat(rate, from: watch) }
            let old = try await eventually("an alert that is over") {
                try await suite.emergencies(of: watch).first { $0.closedAt != nil }
            }
            let copy = try await suite.copyStore(of: .ingest)
            for rate in stride(from: 61.0, to: 71, by: 1) { try await suite.beat(rate, from: watch) }
            try await suite.putBack(copy, of: .ingest)

            try await suite.beat(55, from: watch)
            let emergency = try await suite.acknowledged(of: watch)
            #expect(emergency.emergency != old.emergency)
            // Not on the fast path alone, which knows no sequences.
            try await eventually("the entry is heard in its place") {
                try await suite.hasHeardAll(StreamFamily.samplesStream(of: watch.person), of: .ingest, by: .sosDispatcher)
            }
            #expect(try await suite.emergencies(of: watch).count == 2)
            #expect(try await suite.steps(of: old.emergency).count { $0 == "alerted" } == 1)
            #expect(Set(try suite.desk("alert").map(\.messageId)) == ["\(emergency.emergency)-0"])
        }
    }
}
