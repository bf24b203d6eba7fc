// Reads what is stored of a supervision: its own form, and those before breaches had directions, sources a name, reports a source.

import Contracts

extension Supervision.State: Decodable {
    private enum FormerKeys: String, CodingKey {
        case latest
        case silenceDue
        /// Own time of the last fall that counted.
        case lastFall
    }

    /// A value as it was kept when a person had one of each metric.
    private struct FormerValue: Decodable {
        var value: Double
        var at: Timestamp
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        stage = try values.decode(Supervision.Stage.self, forKey: .stage)
        subscribed = try values.decode(Bool.self, forKey: .subscribed)
        own = try values.decode([Metric: Bounds].self, forKey: .own)
        personal = try values.decodeIfPresent([Metric: Bounds].self, forKey: .personal)
        shaking = try values.decodeIfPresent(Bool.self, forKey: .shaking)
        falls = try values.decodeIfPresent(Supervision.FallWatch.self, forKey: .falls)
        seizure = try values.decodeIfPresent(Supervision.Seizure.self, forKey: .seizure)
        episode = try values.decodeIfPresent(Episode.self, forKey: .episode)
        mutes = try values.decodeIfPresent([Breach: Supervision.Mute].self, forKey: .mutes)
        doubt = try values.decodeIfPresent(Episode.self, forKey: .doubt)
        fall = try values.decodeIfPresent(Episode.self, forKey: .fall)
        late = try values.decodeIfPresent(Episode.self, forKey: .late)
        impact = try values.decodeIfPresent(Supervision.Impact.self, forKey: .impact)
        joiningDue = try values.decodeIfPresent(Timestamp.self, forKey: .joiningDue)
        joiningLost = try values.decodeIfPresent(Bool.self, forKey: .joiningLost)
        joins = try values.decodeIfPresent(Int.self, forKey: .joins)
        silences = try values.decodeIfPresent([Parameter: Supervision.Silence].self, forKey: .silences)
        sounded = try values.decodeIfPresent([Parameter: Timestamp].self, forKey: .sounded)
        contactsDue = try values.decodeIfPresent(Timestamp.self, forKey: .contactsDue)
        contactsTold = try values.decodeIfPresent(Bool.self, forKey: .contactsTold)
        lastHeard = try values.decodeIfPresent(Supervision.LastHeard.self, forKey: .lastHeard)
        help = try values.decodeIfPresent(Supervision.Help.self, forKey: .help)
        answered = try values.decodeIfPresent([Trigger].self, forKey: .answered)
        reports = try values.decodeIfPresent([Metric: Supervision.Reports].self, forKey: .reports)
        charging = try values.decodeIfPresent(Bool.self, forKey: .charging)
        monitoringPaused = try values.decodeIfPresent(Bool.self, forKey: .monitoringPaused)
        wallOffset = try values.decodeIfPresent(Int64.self, forKey: .wallOffset)
        clockSkew = try values.decodeIfPresent(Int64.self, forKey: .clockSkew)
        now = try values.decode(Timestamp.self, forKey: .now)
        if reports == nil {
            let fall = try decoder.container(keyedBy: FormerKeys.self).decodeIfPresent(Timestamp.self, forKey: .lastFall)
            let own = [Metric.help: help?.at, .fall: fall].compactMapValues(\.self)
            reports = own.isEmpty ? nil : own.mapValues(formerReports)
        }
        if let sources = try values.decodeIfPresent([String: Supervision.Source].self, forKey: .sources) {
            self.sources = sources
        } else {
            try takeOver(decoder.container(keyedBy: FormerKeys.self))
        }
    }

    /// By its own time it was measured, but not later than now, however far ahead its device's clock was.
    private func formerReports(_ own: Timestamp) -> Supervision.Reports {
        Supervision.Reports(measured: min(own - .milliseconds(wallOffset ?? 0), now), known: [Supervision.Reports.Known(at: own)])
    }

    /// Silence is counted as from joining, a mute without an end gets one, and every value is of one source.
    private mutating func takeOver(_ former: KeyedDecodingContainer<FormerKeys>) throws {
        joiningDue = try former.decodeIfPresent(Timestamp.self, forKey: .silenceDue)
        if stage == .suspended, joiningDue == nil, charging != true { joiningLost = true }
        if let episode { wallOffset = (episode.receivedAt - episode.t0).wholeMilliseconds }
        if stage == .monitoring || stage == .suspended, let muted = episode {
            episode = nil
            let until = max(now, muted.t0) + SupervisionRules().mute
            mutes = muted.open.mapValues { _ in
                Supervision.Mute(course: BreachCourse(answers: 1, told: .init(isSevere: false)), until: until)
            }
        }
        guard let values = try former.decodeIfPresent([Metric: FormerValue].self, forKey: .latest), !values.isEmpty else { return }
        var source = Supervision.Source()
        for (metric, known) in values {
            let measured = known.at - .milliseconds(wallOffset ?? 0)
            source.latest[metric] = LatestValue(
                value: known.value, at: known.at, measured: min(measured, now), received: min(measured, now))
        }
        sources[""] = source
    }
}
