// Whose file job is next: one of an organisation at a time, organisations in turn.

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("File jobs: turns")
struct FileTurnsTests {
    private static func job(_ organisation: OrganisationID) -> DataFileJob {
        DataFileJob(
            job: .random(), request: .random(), organisation: organisation, person: .random(), state: .open,
            order: DataFileOrder(format: .csv, types: [.heartRate], from: .init(milliseconds: 0), to: .init(milliseconds: 1)),
            createdAt: .init(milliseconds: 0), endedAt: nil, parts: [], fault: nil)
    }

    @Test("ORG-20: no organisation has two under way, and the one whose turn was longest ago comes first")
    func fair() throws {
        let turns = FileTurns()
        let (one, other, third) = (OrganisationID.random(), OrganisationID.random(), OrganisationID.random())
        let first = try #require(turns.begin([Self.job(one), Self.job(other)]))
        #expect(first.organisation == one)
        #expect(turns.begin([Self.job(one)]) == nil, "one at a time")
        let second = try #require(turns.begin([Self.job(one), Self.job(other)]))
        #expect(second.organisation == other)
        turns.end(first)
        turns.end(second)
        #expect(turns.begin([Self.job(one), Self.job(other), Self.job(third)])?.organisation == third, "it had no turn yet")
        #expect(turns.begin([Self.job(other), Self.job(one)])?.organisation == one, "its turn was longest ago")
    }

    @Test("SHR-10: a small job of one organisation is written while another's many wait, and not behind all of them")
    func notBehindAll() async throws {
        try await RequestHarness.run { harness in
            let store = harness.opened.store
            let service = harness.parts.files
            _ = harness.world.add(RequestHarness.code)
            let start = harness.world.now - .seconds(10 * 86_400)
            harness.world.put((0..<3).map { Sample(type: .heartRate, at: start + .seconds(Int64($0) * 60), value: 60) })
            let request = try await harness.granted(harness.form())
            let mine = try #require(try await harness.stored(request)?.request)
            for format in DataFormat.allCases {
                #expect(try await harness.call("POST", "/requests/\(request)/files", "{\"format\":\"\(format.rawValue)\"}").status == 202)
            }
            // Another organisation's, asked for last; its request is gone, which ends it at once.
            let other = DataFileJob(
                job: .random(), request: mine.id, organisation: .random(), person: try #require(mine.person), state: .open,
                order: DataFileOrder(format: .csv, types: [.heartRate], from: mine.from, to: mine.to), createdAt: harness.world.now,
                endedAt: nil, parts: [], fault: nil)
            try await store.write { db in try DataFileStore().add(db, other) }
            func open() async throws -> [OrganisationID] {
                let end = Timestamp(milliseconds: .max)
                return try await store.read { db in try DataFileStore().next(db, at: end, longest: .zero) }.map(\.organisation)
            }
            #expect(try await open() == [mine.organisation, other.organisation], "the first of each")
            #expect(try await service.workOff())
            #expect(try await open() == [mine.organisation, other.organisation])
            #expect(try await service.workOff())
            #expect(try await open() == [mine.organisation], "the other's turn came second")
            while try await service.workOff() {}
            #expect(try await open().isEmpty)
            let known = try await service.list(of: request)
            #expect(known.filter { $0.state == .done }.count == DataFormat.allCases.count)
        }
    }

    @Test("ORG-20: after the clock went back a job that was put off for seconds, and whoever had had a day's files, waited for the step")
    func clockWentBack() async throws {
        try await RequestHarness.run(environment: ["TRACKME_ORG_FILES_PER_DAY": "1"]) { harness in
            let service = harness.parts.files
            _ = harness.world.add(RequestHarness.code)
            let request = try await harness.granted(harness.form())
            let mine = try #require(try await harness.stored(request)?.request)
            func isBegun(_ format: DataFormat) async throws -> Bool {
                let order = DataFileOrder(format: format, types: [.heartRate], from: mine.from, to: mine.to)
                guard case .begun = try await service.begin(order, of: mine) else { return false }
                return true
            }
            #expect(try await isBegun(.csv))
            #expect(try await !isBegun(.xml))
            harness.world.silenceIngest(true)
            #expect(try await service.workOff())
            #expect(try await !service.workOff(), "it is put off")
            harness.world.pass(.seconds(-7200))
            #expect(try await service.workOff())
            #expect(try await isBegun(.xml))
        }
    }
}
