// What devices report of a person as it happens, a call for help or a fall, and how one that is sent again is known (SOS-35, SOS-36).

import Contracts

extension Supervision {
    /// What a device reports, or what its acceleration says.
    struct Report {
        var source: String
        /// Its own time.
        var at: Timestamp
        /// On the machine's time line.
        var measured: Timestamp
        /// Whether it comes as it happens, by one of both clocks.
        var isLive: Bool
    }

    /// The reports of one metric that counted last.
    struct Reports: Hashable, Codable, Sendable {
        struct Known: Hashable, Codable, Sendable {
            /// nil where it was stored without.
            var source: String?
            var at: Timestamp
        }

        /// So many are remembered.
        static let most = 8

        /// When the latest was measured, on the machine's time line: never in its future, whatever clock a device has.
        var measured: Timestamp
        /// The newest last; none for answers.
        var known: [Known] = []

        /// Whether it has counted already.
        func contain(_ report: Report) -> Bool {
            known.contains { $0.at == report.at && ($0.source ?? report.source) == report.source }
        }

        /// Whether it may be a delayed copy of what has, from whichever device.
        func mayContain(_ report: Report) -> Bool {
            !report.isLive && report.measured <= measured
        }
    }

    func isRepeated(_ report: Report, of metric: Metric) -> Bool {
        state.reports?[metric].map { $0.contain(report) || $0.mayContain(report) } ?? false
    }

    /// Whether it is from before the latest of those that counted, and was measured at the very moment of none of them, by whichever device.
    func isPerhapsRepeated(_ report: Report, of metric: Metric) -> Bool {
        guard let reports = state.reports?[metric], reports.mayContain(report) else { return false }
        return reports.known.allSatisfy { $0.at != report.at }
    }

    /// - Parameter report: nil for what a person says.
    mutating func noteCounted(_ metric: Metric, measured: Timestamp, _ report: Report?) {
        var reports = state.reports?[metric] ?? Reports(measured: measured)
        reports.measured = max(reports.measured, measured)
        if let report {
            reports.known = (reports.known + [Reports.Known(source: report.source, at: report.at)]).suffix(Reports.most)
        }
        state.reports = (state.reports ?? [:]).merging([metric: reports]) { $1 }
    }
}

extension Supervision.Upload {
    /// - Parameter now: when it is received, on the machine's time line.
    func report(_ entry: Sample, at now: Timestamp) -> Supervision.Report {
        let latest = max(receivedAt, sentAt ?? receivedAt)
        return Supervision.Report(
            source: source, at: entry.at, measured: now - age(of: entry),
            isLive: max(age(of: entry), entry.at - latest) <= SupervisionRules.live)
    }
}
