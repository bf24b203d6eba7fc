// The fact `samples-recorded.v1` as bytes: written by hand because it stands between a critical entry and its alarm.
// At publication and at replay the same function writes, so that a consumer gets the same bytes however it hears them.

import Contracts

/// Writes the JSON that `SamplesRecorded` decodes: keys in the order of its declaration, no spaces, shortest exact numbers.
enum SamplesRecordedWriter {
    static func render(
        device: DeviceID, receivedAt: Timestamp, intervalMs: Int64?, samples: some Collection<Sample>
    ) -> [UInt8] {
        var json = JSONBytes(capacity: 120 + samples.count * 96)
        json.literal("{\"device\":\"")
        json.append(device.description)
        json.literal("\",\"receivedAt\":")
        json.integer(receivedAt.milliseconds)
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

/// JSON under construction.
struct JSONBytes {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    mutating func literal(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func byte(_ scalar: Unicode.Scalar) {
        bytes.append(UInt8(ascii: scalar))
    }

    /// Text that needs no escapes: codes, ids, times.
    mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Any text, quoted and escaped.
    mutating func string(_ text: String) {
        byte("\"")
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                literal("\\u00")
                bytes.append(contentsOf: (byte < 16 ? "0" : "").utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        byte("\"")
    }

    mutating func integer(_ value: Int64) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        digits(value.magnitude, atLeast: 1)
    }

    /// At least so many digits, padded with zeros in front.
    private mutating func digits(_ value: UInt64, atLeast width: Int) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var rest = value
            var start = 20
            while rest > 0 || 20 - start < width {
                start -= 1
                buffer[start] = UInt8(truncatingIfNeeded: rest % 10) + UInt8(ascii: "0")
                rest /= 10
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[start...]))
        }
    }

    /// The shortest decimal that reads back as the same Double; finite numbers only, as the rules let no others in.
    mutating func number(_ value: Double) {
        for scale in 0...4 {
            guard let mantissa = DecimalForm.mantissa(of: value, scale: scale) else { continue }
            return decimal(mantissa, scale: scale)
        }
        // Swift's description is the shortest that reads back, and valid JSON for every finite number ("1e-07", "-0.0").
        bytes.append(contentsOf: value.description.utf8)
    }

    private mutating func decimal(_ mantissa: Int64, scale: Int) {
        if mantissa < 0 { bytes.append(UInt8(ascii: "-")) }
        let power = UInt64(DecimalForm.powers[scale])
        digits(mantissa.magnitude / power, atLeast: 1)
        guard scale > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        digits(mantissa.magnitude % power, atLeast: scale)
    }

    mutating func sample(_ sample: Sample) {
        literal("{\"type\":\"")
        bytes.append(contentsOf: MetricCatalogue.registry.code(of: sample.type))
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

    mutating func position(_ position: Position) {
        literal("{\"latitude\":")
        number(position.latitude)
        literal(",\"longitude\":")
        number(position.longitude)
        if let altitude = position.altitude {
            literal(",\"altitude\":")
            number(altitude)
        }
        if let accuracy = position.accuracy {
            literal(",\"accuracy\":")
            number(accuracy)
        }
        byte("}")
    }
}
