// What is asked and told of every single read under a grant, written and read by hand.

extension ReadSamples: HandWrittenJSON {
    package var handWritten: [UInt8] {
        var json = JSONBytes(capacity: 256)
        json.literal("{")
        if let after {
            json.literal("\"after\":")
            json.string(after)
            json.literal(",")
        }
        json.beginning(from: from, under: grant)
        json.literal(",\"limit\":")
        json.integer(Int64(limit))
        json.end(of: organisation, to: to)
        json.literal(",\"type\":\"")
        json.append(type.code)
        json.literal("\"}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = HandWrittenCursor.whole(text) { cursor -> Self? in
            guard cursor.take("{") else { return nil }
            var after: String?
            if cursor.take("\"after\":") {
                guard let word = cursor.word(), cursor.take(",") else { return nil }
                after = word
            }
            guard let (from, grant) = cursor.beginning(), cursor.take(",\"limit\":"), let limit = cursor.count(),
                let (organisation, to) = cursor.end(), cursor.take(",\"type\":"), let type = cursor.metric(), cursor.take("}")
            else { return nil }
            return Self(grant: grant, organisation: organisation, type: type, from: from, to: to, after: after, limit: limit)
        }
        guard let read else { return nil }
        self = read
    }
}

extension DataRead: HandWrittenJSON {
    package var handWritten: [UInt8] {
        var json = JSONBytes(capacity: 224)
        json.literal("{\"count\":")
        json.integer(Int64(count))
        json.literal(",")
        json.beginning(from: from, under: grant)
        json.literal(",\"metric\":\"")
        json.append(metric.code)
        json.literal("\"")
        json.end(of: organisation, to: to)
        json.literal("}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = HandWrittenCursor.whole(text) { cursor -> Self? in
            guard cursor.take("{\"count\":"), let count = cursor.count(), cursor.take(","), let (from, grant) = cursor.beginning(),
                cursor.take(",\"metric\":"), let metric = cursor.metric(), let (organisation, to) = cursor.end(), cursor.take("}")
            else { return nil }
            return Self(grant: grant, organisation: organisation, metric: metric, from: from, to: to, count: count)
        }
        guard let read else { return nil }
        self = read
    }
}

// MARK: The members of both

// The question has its limit between the two halves, the fact its metric: members stand in the order of their names.

extension JSONBytes {
    fileprivate mutating func beginning(from: Timestamp, under grant: GrantID) {
        literal("\"from\":")
        integer(from.milliseconds)
        literal(",\"grant\":\"")
        append(grant.description)
        literal("\"")
    }

    fileprivate mutating func end(of organisation: OrganisationID, to: Timestamp) {
        literal(",\"organisation\":\"")
        append(organisation.description)
        literal("\",\"to\":")
        integer(to.milliseconds)
    }
}

extension HandWrittenCursor {
    fileprivate mutating func beginning() -> (from: Timestamp, grant: GrantID)? {
        guard take("\"from\":"), let from = time(), take(",\"grant\":"), let grant = identifier(of: Grant.self) else { return nil }
        return (from, grant)
    }

    fileprivate mutating func end() -> (organisation: OrganisationID, to: Timestamp)? {
        guard take(",\"organisation\":"), let organisation = identifier(of: Organisation.self), take(",\"to\":"), let to = time() else {
            return nil
        }
        return (organisation, to)
    }

    fileprivate mutating func count() -> Int? {
        integer().flatMap { Int(exactly: $0) }
    }
}
