// Entries on the bus, written and read by hand: pages as columns, short stretches one entry after the other.

extension ReadSamples.Reply: HandWrittenJSON {
    package var handWritten: [UInt8] {
        var json = JSONBytes(capacity: 128 + columns.count * (columns.positions.isEmpty ? 6 : 96))
        json.literal("{\"columns\":")
        json.columns(columns)
        if let damaged {
            json.literal(",\"damaged\":")
            json.periods(damaged)
        }
        if let next {
            json.literal(",\"next\":")
            json.string(next)
        }
        json.literal("}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = HandWrittenCursor.whole(text) { cursor -> Self? in
            guard cursor.take("{\"columns\":"), let columns = cursor.columns() else { return nil }
            var (damaged, next): ([DamagedPeriod]?, String?)
            if cursor.take(",\"damaged\":") {
                guard let periods = cursor.list({ $0.period() }) else { return nil }
                damaged = periods
            }
            if cursor.take(",\"next\":") {
                guard let word = cursor.word() else { return nil }
                next = word
            }
            return cursor.take("}") ? Self(columns: columns, next: next, damaged: damaged) : nil
        }
        guard let read else { return nil }
        self = read
    }
}

extension ReadSampleRanges.Reply: HandWrittenJSON {
    package var handWritten: [UInt8] {
        var json = JSONBytes(capacity: 64 + outcomes.reduce(0) { $0 + 64 + $1.samples.count * 72 })
        json.literal("{\"outcomes\":[")
        for (place, outcome) in outcomes.enumerated() {
            json.literal(place == 0 ? "{" : ",{")
            if let damaged = outcome.damaged {
                json.literal("\"damaged\":")
                json.periods(damaged)
                json.literal(",")
            }
            if let denial = outcome.denial {
                json.literal("\"denial\":{\"code\":")
                json.string(denial.code.rawValue)
                json.literal(",\"reason\":")
                json.string(denial.reason)
                json.literal("},")
            }
            if let readTo = outcome.readTo {
                json.literal("\"readTo\":")
                json.integer(readTo.milliseconds)
                json.literal(",")
            }
            json.literal("\"samples\":")
            json.samples(outcome.samples)
            json.literal("}")
        }
        json.literal("]}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = HandWrittenCursor.whole(text) { cursor -> [ReadSampleRanges.Outcome]? in
            guard cursor.take("{\"outcomes\":"), let outcomes = cursor.list({ $0.outcome() }), cursor.take("}") else { return nil }
            return outcomes
        }
        guard let read else { return nil }
        self.init(outcomes: read)
    }
}

extension JSONBytes {
    fileprivate mutating func samples(_ samples: [Sample]) {
        byte("[")
        for (place, sample) in samples.enumerated() {
            literal(place == 0 ? "{\"at\":" : ",{\"at\":")
            integer(sample.at.milliseconds)
            if let position = sample.position {
                literal(",\"position\":")
                self.position(position)
            }
            literal(",\"type\":\"")
            append(sample.type.code)
            byte("\"")
            if let value = sample.value {
                literal(",\"value\":")
                number(value)
            }
            byte("}")
        }
        byte("]")
    }

    fileprivate mutating func periods(_ periods: [DamagedPeriod]) {
        byte("[")
        for (place, period) in periods.enumerated() {
            literal(place == 0 ? "{\"from\":" : ",{\"from\":")
            integer(period.from.milliseconds)
            literal(",\"to\":")
            integer(period.to.milliseconds)
            byte("}")
        }
        byte("]")
    }

    fileprivate mutating func columns(_ columns: SampleColumns) {
        literal("{\"paces\":[")
        list(columns.paces.count, room: JSONPlace.longestNumber) { $0.integer(columns.paces[$1]) }
        literal("],\"positions\":[")
        list(columns.positions.count, room: JSONPlace.longestPosition) { $0.position(columns.positions[$1]) }
        literal("],\"type\":\"")
        append(columns.type.code)
        literal("\",\"values\":[")
        list(columns.values.count, room: JSONPlace.longestNumber) { $0.number(columns.values[$1]) }
        literal("]}")
    }
}

extension HandWrittenCursor {
    fileprivate mutating func columns() -> SampleColumns? {
        guard take("{\"paces\":"), let paces = list({ $0.integer() }), take(",\"positions\":"), let positions = list({ $0.position() }),
            take(",\"type\":"), let type = metric(), take(",\"values\":"), let values = list({ $0.number() }), take("}")
        else { return nil }
        return SampleColumns(type: type, paces: paces, values: values, positions: positions)
    }

    fileprivate mutating func outcome() -> ReadSampleRanges.Outcome? {
        guard take("{") else { return nil }
        var outcome = ReadSampleRanges.Outcome(samples: [], readTo: nil)
        if take("\"damaged\":") {
            guard let periods = list({ $0.period() }), take(",") else { return nil }
            outcome.damaged = periods
        }
        if take("\"denial\":{\"code\":") {
            guard let code = word().flatMap(Failure.Code.init(rawValue:)), take(",\"reason\":"), let reason = word(), take("},") else {
                return nil
            }
            outcome.denial = Failure(code, reason)
        }
        if take("\"readTo\":") {
            guard let readTo = time(), take(",") else { return nil }
            outcome.readTo = readTo
        }
        guard take("\"samples\":"), let samples = list({ $0.sample() }), take("}") else { return nil }
        outcome.samples = samples
        return outcome
    }

    fileprivate mutating func period() -> DamagedPeriod? {
        guard take("{\"from\":"), let from = time(), take(",\"to\":"), let to = time(), take("}") else { return nil }
        return DamagedPeriod(from: from, to: to)
    }

    private mutating func sample() -> Sample? {
        guard take("{\"at\":"), let at = time() else { return nil }
        var place: Position?
        if take(",\"position\":") {
            guard let read = position() else { return nil }
            place = read
        }
        guard take(",\"type\":"), let metric = metric() else { return nil }
        var value: Double?
        if take(",\"value\":") {
            guard let read = number() else { return nil }
            value = read
        }
        guard take("}") else { return nil }
        return Sample(type: metric, at: at, value: value, position: place)
    }
}
