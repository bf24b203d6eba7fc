// Sessions of a store that was put back from a copy: they go on, but for those that were ended after it was made.

import Contracts
import Foundation
import Logging
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Sessions after a restore")
struct RestoredSessionTests {
    /// The files of one consent.
    private struct Place {
        let folder: URL
        let clock = TestClock()

        var copy: URL { folder.appendingPathComponent("copy.db") }
        func file(_ name: String) -> URL { folder.appendingPathComponent("store/consent.\(name)") }

        func remove(_ names: String...) throws {
            for name in names { try FileManager.default.removeItem(at: file(name)) }
        }

        func putBack() throws {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file("db").path + suffix) }
            try FileManager.default.copyItem(at: copy, to: file("db"))
        }

        /// One life of the service.
        func run<Value>(_ body: (LogInHarness) async throws -> Value) async throws -> Value {
            try await LogInHarness.run(in: folder, clock: clock, body)
        }
    }

    private func refreshed(_ session: SessionAnswer, in harness: LogInHarness, times: Int = 1) async throws -> SessionAnswer {
        var session = session
        for _ in 0..<times { session = try await harness.refresh(session.refreshToken).expect(status: 200).decoded() }
        return session
    }

    @Test(
        "S12: a restore ended every session, 100,000 log-ins at once: those that nobody ended since go on, with the tokens that they have now"
    )
    func goOn() async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let (idle, used, loggedOut, others, mine) = try await place.run { harness in
                for name in ["anna", "bruno"] { try await harness.addPerson("\(name)@example.org") }
                let sessions = try await (
                    harness.logIn(), refreshed(harness.logIn(), in: harness, times: 2), harness.logIn(), harness.logIn("bruno@example.org"),
                    harness.logIn("bruno@example.org")
                )
                try await harness.store.copy(to: place.copy)
                return sessions
            }
            // What is done after the copy.
            let (later, newest, end) = try await place.run { harness in
                let newest = try await refreshed(used, in: harness, times: 150)
                try await harness.request("DELETE", "/consent/v1/sessions/current", token: loggedOut.accessToken).expect(status: 200)
                try await harness.request("DELETE", "/consent/v1/sessions?keepCurrent=true", token: mine.accessToken).expect(status: 200)
                let end = try await harness.logIn()
                try await harness.request("DELETE", "/consent/v1/sessions/current", token: end.accessToken).expect(status: 200)
                return (try await harness.logIn(), newest, end)
            }
            try place.putBack()
            try await place.run { harness in
                for session in [idle, newest, mine] { #expect(try await harness.refresh(session.refreshToken).status == 200) }
                for session in [loggedOut, others, later, end] {
                    let refused = try await harness.refresh(session.refreshToken)
                    #expect(refused.status == 401 && refused.problem == "session-over")
                }
                for session in [loggedOut, others, end] { #expect(try await !harness.isOpen(session.accessToken)) }
            }
            // The list goes on through the restore: the same copy again knows as much.
            try place.putBack()
            try await place.run { harness in
                let (over, alive) = (try await harness.refresh(loggedOut.refreshToken), try await harness.refresh(mine.refreshToken))
                #expect(over.status == 401 && alive.status == 200)
            }
        }
    }

    @Test("Ends that a restored consent told again were told like log-outs: the notifier took the push endpoints of all whom they concern")
    func endsAsIfLapsed() async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let ended = try await place.run { harness in
                for name in ["anna", "bruno"] { try await harness.addPerson("\(name)@example.org") }
                let sessions = try await (harness.logIn(), harness.logIn("bruno@example.org"))
                try await harness.store.copy(to: place.copy)
                return [sessions.0, sessions.1]
            }
            try await place.run { harness in
                for session in ended {
                    try await harness.request("DELETE", "/consent/v1/sessions/current", token: session.accessToken).expect(status: 200)
                }
            }
            try place.putBack()
            try await place.run { harness in
                let page = try #require(try await harness.parts.snapshot(SnapshotStream(stream: StreamFamily.sessionsStream, after: nil)))
                let told = try page.facts.filter { $0.header.type == SessionEnded.type }
                    .map { try JSONDecoder().decode(SessionEnded.self, from: Data($0.payload.utf8)) }
                #expect(Set(told.map(\.session)) == Set(ended.map(\.session)))
                #expect(told.allSatisfy { $0.lapsed == true }, "what has lapsed takes no endpoint")
            }
        }
    }

    @Test("NFR-15: of a token that was spent after the copy two cannot go on: the second holder ends the session, a retry gets its answer")
    func spentSince() async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let first = try await place.run { harness in
                try await harness.addPerson()
                let first = try await harness.logIn()
                try await harness.store.copy(to: place.copy)
                return first
            }
            let (spent, newest) = try await place.run { harness in
                let spent = try await refreshed(first, in: harness)
                return (spent, try await refreshed(spent, in: harness, times: 3))
            }
            try place.putBack()
            try await place.run { harness in
                let thief: SessionAnswer = try await harness.refresh(spent.refreshToken, key: "thief").expect(status: 200).decoded()
                let again: SessionAnswer = try await harness.refresh(spent.refreshToken, key: "thief").expect(status: 200).decoded()
                #expect(thief == again)
                #expect(try await harness.refresh(newest.refreshToken).status == 401)
                #expect(try await harness.refresh(thief.refreshToken).status == 401)
                #expect(try await !harness.isOpen(thief.accessToken))
            }
        }
    }

    @Test("NFR-15: a token that no restore explains is refused as before: one of before the copy, one that was made up")
    func strangers() async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let (first, second) = try await place.run { harness in
                try await harness.addPerson()
                let (first, second) = (try await harness.logIn(), try await harness.logIn())
                _ = try await refreshed(first, in: harness)
                try await harness.store.copy(to: place.copy)
                return (first, second)
            }
            try await place.run { _ in }
            try place.putBack()
            try await place.run { harness in
                #expect(try await harness.refresh(first.refreshToken).status == 401, "spent before the copy")
                let token = try #require(second.refreshToken)
                #expect(try await harness.refresh(String(token.prefix(40)) + String(repeating: "A", count: 24)).status == 401)
                #expect(try await harness.refresh(token).status == 401, "the session ended with the made up one")
            }
        }
    }

    @Test("NFR-15: where nothing tells which sessions were ended since the copy, all are", arguments: ["life", "revoked"])
    func unknown(_ missing: String) async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let session = try await place.run { harness in
                try await harness.addPerson()
                let session = try await harness.logIn()
                try await harness.store.copy(to: place.copy)
                return session
            }
            try await place.run { _ in }
            try place.remove(missing)
            try place.putBack()
            try await place.run { harness in
                #expect(try await harness.refresh(session.refreshToken).status == 401)
                #expect(try await !harness.isOpen(session.accessToken))
                // What is ended from here on is known again.
                _ = try await harness.logIn()
            }
        }
    }

    @Test("a restart is no restore: sessions and tokens are as they were, and a list that is gone ends nothing by itself")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder)
            let session = try await place.run { harness in
                try await harness.addPerson()
                return try await refreshed(harness.logIn(), in: harness, times: 2)
            }
            try place.remove("revoked")
            let status = try await place.run { harness in try await harness.refresh(session.refreshToken).status }
            #expect(status == 200)
        }
    }

    // MARK: The list

    private static let logger = Running.quiet

    @Test("The list keeps what was ended lately; a cut last line was not committed, a damaged one is believed by nobody")
    func list() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = folder.appendingPathComponent("consent.db")
        let file = folder.appendingPathComponent("consent.revoked")
        let start = Timestamp(milliseconds: 1_800_000_000_000)
        let (old, new) = (SessionID.random(), SessionID.random())

        let list = RevocationList(beside: store, logger: Self.logger)
        #expect(list.contents() == nil)
        let name = list.begin(knownAs: "", keepingFor: .seconds(5), at: start)
        try list.add([old], at: start)
        try list.add([new], at: start + .seconds(10))
        #expect(list.contents()?.name == name && list.contents()?.entries.map(\.session) == [old, new])

        let whole = try Data(contentsOf: file)
        try (whole + Data("ses_0".utf8)).write(to: file)
        #expect(list.contents()?.entries.count == 2)
        try (whole + Data("ses_0 1\n".utf8)).write(to: file)
        #expect(list.contents() == nil)
        try (whole + Data("ses_0".utf8)).write(to: file)

        let again = RevocationList(beside: store, logger: Self.logger)
        #expect(again.begin(knownAs: name, keepingFor: .seconds(5), at: start + .seconds(10)) == name)
        try again.add([old], at: start + .seconds(20))
        #expect(
            again.contents()?.entries.map(\.session) == [new, old], "what is too old for any copy is dropped, and the cut line with it")

        let other = RevocationList(beside: store, logger: Self.logger)
        #expect(other.begin(knownAs: "something else", keepingFor: .seconds(5), at: start) != name)
        #expect(other.contents()?.entries == [])
    }

    @Test("A start while the clock was months ahead forgot which sessions were ended: a restore brought them to life again")
    func clockAhead() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = folder.appendingPathComponent("consent.db")
        let (start, life) = (Timestamp(milliseconds: 1_800_000_000_000), Duration.seconds(30 * 86_400))
        let (old, new) = (SessionID.random(), SessionID.random())
        let list = RevocationList(beside: store, logger: Self.logger)
        let name = list.begin(knownAs: "", keepingFor: life, at: start)
        try list.add([old], at: start - life - .seconds(1))
        try list.add([new], at: start)

        let ahead = RevocationList(beside: store, logger: Self.logger)
        #expect(ahead.begin(knownAs: name, keepingFor: life, at: start + .seconds(90 * 86_400)) == name)
        #expect(ahead.contents()?.entries.map(\.session) == [new])
    }

    @Test("A list that cannot be written any more is removed, so that a restore ends all; where that fails too nothing is ended")
    func unwritable() throws {
        let start = Timestamp(milliseconds: 1_800_000_000_000)
        let gone = URL(fileURLWithPath: "/nowhere/at/all/consent.db")
        let list = RevocationList(beside: gone, logger: Self.logger)
        _ = list.begin(knownAs: "", keepingFor: .seconds(5), at: start)
        #expect(throws: StoreError.self) { try list.add([.random()], at: start) }
    }
}
