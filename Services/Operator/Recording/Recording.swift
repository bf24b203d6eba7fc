// A recording read whole: its mapping, its rows in order of time, and the account of every row and cell.

import Contracts
import Documents

/// Counts that must add up: rows × targets = readings + empty + no readings + unreadable + cells of rows without a time.
struct RecordingAccount: Hashable, Sendable {
    struct Tally: Hashable, Sendable {
        var readings = 0
        var empty = 0
        var noReadings = 0
        var unreadable = 0

        var all: Int { readings + empty + noReadings + unreadable }

        mutating func count(_ outcome: CellOutcome) {
            switch outcome {
            case .reading: readings += 1
            case .empty: empty += 1
            case .noReading: noReadings += 1
            case .unreadable: unreadable += 1
            }
        }
    }

    var rows = 0
    var rowsWithoutTime = 0
    var tallies: [Metric: Tally] = [:]

    var total: Tally {
        tallies.values.reduce(into: Tally()) { sum, tally in
            sum.readings += tally.readings
            sum.empty += tally.empty
            sum.noReadings += tally.noReadings
            sum.unreadable += tally.unreadable
        }
    }
}

struct Recording: Sendable {
    let mapping: RecordingMapping
    /// By time; rows of the same instant keep the file's order.
    let rows: [RecordingRow]
    let account: RecordingAccount

    /// Throws `CSVFault` or `MappingError`.
    init(csv bytes: [UInt8]) throws {
        var reader = CSVReader(bytes)
        guard let header = try reader.next() else { throw MappingError.noTime(headers: []) }
        mapping = try RecordingMapping(headers: header.fields.map(\.trimmed))
        var rows: [RecordingRow] = []
        var account = RecordingAccount()
        for target in mapping.targets { account.tallies[target.metric] = RecordingAccount.Tally() }
        while let record = try reader.next() {
            account.rows += 1
            guard let row = RecordingRow(record.fields, by: mapping) else {
                account.rowsWithoutTime += 1
                continue
            }
            for (target, outcome) in zip(mapping.targets, row.outcomes) { account.tallies[target.metric]?.count(outcome) }
            rows.append(row)
        }
        self.account = account
        // Swift's sort keeps the order of equals.
        self.rows = rows.sorted { $0.at < $1.at }
    }

    /// The table that `--dry-run` shows: one line per target, then the sums.
    var accountLines: [String] {
        func line(_ name: String, _ tally: RecordingAccount.Tally) -> String {
            name.padded(to: 26)
                + [tally.readings, tally.noReadings, tally.empty, tally.unreadable]
                .map { String($0).padded(to: 12, right: true) }.joined()
        }
        var lines = [
            "".padded(to: 26) + ["readings", "no reading", "empty", "unreadable"].map { $0.padded(to: 12, right: true) }.joined()
        ]
        lines += mapping.targets.map { line($0.metric.code, account.tallies[$0.metric] ?? .init()) }
        lines.append(line("all of \(account.rows) rows", account.total))
        if account.rowsWithoutTime > 0 { lines.append("\(account.rowsWithoutTime) rows have no readable time and are left out") }
        return lines
    }
}

extension String {
    /// Filled with blanks to at least `width` characters.
    func padded(to width: Int, right: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - count))
        return right ? blanks + self : self + blanks
    }
}
