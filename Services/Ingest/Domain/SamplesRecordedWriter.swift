// The fact `samples-recorded.v1` as bytes: written by hand because it stands between a critical entry and its alarm.
// At publication and at replay the same function writes, so that a consumer gets the same bytes either way.

import Contracts

/// Writes the JSON that `SamplesRecorded` decodes: keys in the order of its declaration, no spaces, shortest exact numbers.
enum SamplesRecordedWriter {
    static func render(
        device: DeviceID, receivedAt: Timestamp, firstTriedAt: Timestamp? = nil, sentAt: Timestamp? = nil, intervalMs: Int64?,
        samples: some Collection<Sample>
    ) -> [UInt8] {
        var json = JSONBytes(capacity: 120 + samples.count * 96)
        json.literal("{\"device\":\"")
        json.append(device.description)
        json.literal("\",\"receivedAt\":")
        json.integer(receivedAt.milliseconds)
        if let firstTriedAt {
            json.literal(",\"firstTriedAt\":")
            json.integer(firstTriedAt.milliseconds)
        }
        if let sentAt {
            json.literal(",\"sentAt\":")
            json.integer(sentAt.milliseconds)
        }
        if let intervalMs {
            json.literal(",\"intervalMs\":")
            json.integer(intervalMs)
        }
        json.literal(",\"samples\":[")
        var isFirst = true
        for sample in samples {
            if !isFirst { json.byte(",") }
            isFirst = false
            json.sample(sample)
        }
        json.literal("]}")
        return json.bytes
    }
}

extension JSONBytes {
    mutating func sample(_ sample: Sample) {
        literal("{\"type\":\"")
        append(MetricCatalogue.registry.code(of: sample.type))
        literal("\",\"at\":")
        integer(sample.at.milliseconds)
        if let value = sample.value {
            literal(",\"value\":")
            number(value)
        }
        if let position = sample.position {
            literal(",\"position\":")
            self.position(position)
        }
        byte("}")
    }
}
