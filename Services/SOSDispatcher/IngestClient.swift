// What the dispatcher asks ingest about a person, as values and errors of this service.

import Bus
import Contracts
import ServiceKit

/// Ingest, as the dispatcher sees it. What it throws is a `Failure`.
struct IngestClient: Sendable {
    /// The newest known entries of a person; empty where ingest does not answer.
    let latest: @Sendable (PersonID) async -> [Sample]
    let abilities: @Sendable (PersonID) async throws -> ReadAbilities.Reply
    let history: @Sendable (ReadHistory) async throws -> ReadHistory.Reply

    /// What a person's active devices cannot do.
    func missing(of person: PersonID, watches: (Metric) -> Bool) async throws -> [NeededAbility] {
        NeededAbility.missing(in: try await abilities(person).devices, watches: watches)
    }

    /// Every minute of a period that has entries.
    func minutes(_ metric: Metric, of person: PersonID, in period: Range<Timestamp>) async throws -> [HistoryMinute] {
        var minutes: [HistoryMinute] = []
        try await pages(of: metric, person, .minute, period) { page in
            guard let least = page.least, let greatest = page.greatest, let counts = page.counts,
                [page.values.count, least.count, greatest.count, counts.count].allSatisfy({ $0 == page.times.count })
            else { throw Failure(.internal, "the minutes of ingest do not fit one another") }
            minutes += page.times.indices.map {
                HistoryMinute(at: page.times[$0], least: least[$0], mean: page.values[$0], greatest: greatest[$0], count: counts[$0])
            }
        }
        return minutes
    }

    /// Every entry of a period, in order of time.
    func entries(_ metric: Metric, of person: PersonID, in period: Range<Timestamp>) async throws -> [Sample] {
        var entries: [Sample] = []
        try await pages(of: metric, person, .entry, period) { page in
            guard page.values.count == page.times.count else { throw Failure(.internal, "the entries of ingest do not fit one another") }
            entries += zip(page.times, page.values).map { Sample(type: metric, at: $0, value: $1) }
        }
        return entries
    }

    private func pages(
        of metric: Metric, _ person: PersonID, _ grain: ReadHistory.Grain, _ period: Range<Timestamp>,
        _ take: (ReadHistory.Reply) throws -> Void
    ) async throws {
        var from = period.lowerBound
        while from < period.upperBound {
            let page = try await history(ReadHistory(person: person, type: metric, grain: grain, from: from, to: period.upperBound))
            try take(page)
            // A page that does not go on would be asked for for ever.
            guard let next = page.next, next > from else { return }
            from = next
        }
    }
}

extension IngestClient {
    init(_ client: BusClient) {
        self.init(
            latest: { person in (try? await client.ask(ReadLatest(person: person, types: [.position])))?.samples ?? [] },
            abilities: { person in try await client.ask(ReadAbilities(person: person)) },
            history: { asked in try await client.ask(asked, deadline: .seconds(2), attempts: 2) })
    }
}
