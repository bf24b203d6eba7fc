// The fact that every upload is, read as ingest writes it: it stands between a critical entry and its alarm.

extension SamplesRecorded {
    /// The form that ingest writes and nothing else; nil sends the caller to the decoder, which reads all JSON that says the same.
    package init?(scanning text: [UInt8]) {
        let read = HandWrittenCursor.whole(text) { cursor -> Self? in
            guard cursor.take("{\"device\":"), let device = cursor.word().flatMap({ DeviceID($0) }), cursor.take(",\"receivedAt\":"),
                let receivedAt = cursor.time()
            else { return nil }
            var firstTried: Timestamp?
            if cursor.take(",\"firstTriedAt\":") {
                guard let read = cursor.time() else { return nil }
                firstTried = read
            }
            var sent: Timestamp?
            if cursor.take(",\"sentAt\":") {
                guard let read = cursor.time() else { return nil }
                sent = read
            }
            var interval: Int64?
            if cursor.take(",\"intervalMs\":") {
                guard let read = cursor.integer() else { return nil }
                interval = read
            }
            guard cursor.take(",\"samples\":["), let samples = cursor.recorded(), cursor.take("]}") else { return nil }
            return Self(
                device: device, receivedAt: receivedAt, firstTriedAt: firstTried, sentAt: sent, intervalMs: interval, samples: samples)
        }
        guard let read else { return nil }
        self = read
    }
}

extension HandWrittenCursor {
    /// At least one sample, in the order of members in which facts have them.
    fileprivate mutating func recorded() -> [Sample]? {
        var samples: [Sample] = []
        repeat {
            guard take("{\"type\":"), let metric = metric(), take(",\"at\":"), let at = time() else { return nil }
            var sample = Sample(type: metric, at: at, value: nil)
            if take(",\"value\":") {
                // What is so small that it becomes 0 the decoder refuses.
                guard let value = number(), value != 0 else { return nil }
                sample.value = value
            }
            if take(",\"position\":") {
                guard let place = position(), place.latitude != 0, place.longitude != 0, place.altitude != 0, place.accuracy != 0 else {
                    return nil
                }
                sample.position = place
            }
            guard take("}") else { return nil }
            samples.append(sample)
        } while take(",")
        return samples
    }
}
