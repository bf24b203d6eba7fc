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
        json.literal("\"from\":")
        json.integer(from.milliseconds)
        json.literal(",\"grant\":\"")
        json.append(grant.description)
        json.literal("\",\"limit\":")
        json.integer(Int64(limit))
        json.literal(",\"organisation\":\"")
        json.append(organisation.description)
        json.literal("\",\"to\":")
        json.integer(to.milliseconds)
        json.literal(",\"type\":\"")
        json.append(type.code)
        json.literal("\"}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = Self.read(text) { cursor -> Self? in
            guard cursor.take("{") else { return nil }
            var after: String?
            if cursor.take("\"after\":") {
                guard let word = cursor.word(), cursor.take(",") else { return nil }
                after = word
            }
            guard cursor.take("\"from\":"), let from = cursor.time(), cursor.take(",\"grant\":"),
                let grant = cursor.identifier(of: Grant.self), cursor.take(",\"limit\":"),
                let limit = cursor.integer().flatMap({ Int(exactly: $0) }), cursor.take(",\"organisation\":"),
                let organisation = cursor.identifier(of: Organisation.self), cursor.take(",\"to\":"), let to = cursor.time(),
                cursor.take(",\"type\":"), let type = cursor.metric(), cursor.take("}")
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
        json.literal(",\"from\":")
        json.integer(from.milliseconds)
        json.literal(",\"grant\":\"")
        json.append(grant.description)
        json.literal("\",\"metric\":\"")
        json.append(metric.code)
        json.literal("\",\"organisation\":\"")
        json.append(organisation.description)
        json.literal("\",\"to\":")
        json.integer(to.milliseconds)
        json.literal("}")
        return json.bytes
    }

    package init?(handWritten text: [UInt8]) {
        let read = Self.read(text) { cursor -> Self? in
            guard cursor.take("{\"count\":"), let count = cursor.integer().flatMap({ Int(exactly: $0) }), cursor.take(",\"from\":"),
                let from = cursor.time(), cursor.take(",\"grant\":"), let grant = cursor.identifier(of: Grant.self),
                cursor.take(",\"metric\":"), let metric = cursor.metric(), cursor.take(",\"organisation\":"),
                let organisation = cursor.identifier(of: Organisation.self), cursor.take(",\"to\":"), let to = cursor.time(),
                cursor.take("}")
            else { return nil }
            return Self(grant: grant, organisation: organisation, metric: metric, from: from, to: to, count: count)
        }
        guard let read else { return nil }
        self = read
    }
}
