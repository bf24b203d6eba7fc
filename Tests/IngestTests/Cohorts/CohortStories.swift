// How stories of group data are told: who shares what, which hours are closed, what was said of them.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit

@testable import Ingest

extension IngestHarness {
    /// Consent says what the person shares; ingest has heard it when this returns.
    func share(_ person: PersonID, _ shares: [CohortOptIn]?) async throws {
        try await consent.say(
            PersonState(person: person, active: true, termsVersion: "1", language: .english, sharesAnonymously: shares))
        try await eventually("ingest has heard what is shared", isTrue: { try await self.shares(of: person) == shares })
    }

    func shares(of person: PersonID) async throws -> [CohortOptIn]? {
        let people = ingest.cohort.people
        return try await ingest.store.read { db in
            try people.behind(db, before: .max, limit: 1000).first { $0.person == person }.flatMap { try people.shares(of: $0) }
        }
    }

    /// Ten minutes after the hours before `hour` were over.
    func closeHours(before hour: Int64) async throws {
        let now = Timestamp(milliseconds: hour + 600_000)
        let people = ingest.cohort.people
        try await eventually(
            "the hours are closed",
            isTrue: {
                try await self.ingest.cohort.closing.round(now: now)
                let closed = try await self.ingest.store.read { db in try people.closed(db) }
                return closed ?? .min >= hour
            })
    }

    func cohortRows() async throws -> [StreamRow] {
        try await ingest.store.read { db in try StreamLog().rows(db, CohortEventStore.stream, from: 1, limit: 10_000) }
    }

    /// As the anonymiser receives them, in their order.
    func cohortHours() async throws -> [CohortHourSummed] {
        try await cohortRows().filter { $0.type == CohortHourSummed.type }.compactMap { row in
            try ingest.cohort.events.render(row).map { try JSONDecoder().decode(CohortHourSummed.self, from: Data($0)) }
        }
    }
}
