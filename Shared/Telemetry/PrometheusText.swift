// The text exposition format 0.0.4 of Prometheus.

struct PrometheusText {
    private(set) var text = ""

    /// Names are `[a-zA-Z_:][a-zA-Z0-9_:]*`.
    static func name(_ label: String) -> String {
        let name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") ? $0 : "_" })
        return name.first?.isNumber ?? true ? "_" + name : name
    }

    /// `name="value"`, escaped.
    static func label(_ dimension: (String, String)) -> String {
        name(dimension.0).replacingColons + "=\"" + escaped(dimension.1, quotes: true) + "\""
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    mutating func begin(_ name: String, _ kind: PrometheusRegistry.Kind, _ help: String) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: [String], _ value: Double) {
        text += name
        if !labels.isEmpty { text += "{" + labels.joined(separator: ",") + "}" }
        text += " " + Self.number(value) + "\n"
    }

    mutating func histogram(_ name: String, _ labels: [String], _ bounds: [Double], _ reading: HistogramCell.Reading) {
        var count: UInt64 = 0
        for (index, inBucket) in reading.counts.enumerated() {
            count += inBucket
            let bound = index < bounds.count ? Self.number(bounds[index]) : "+Inf"
            sample(name + "_bucket", labels + ["le=\"\(bound)\""], Double(count))
        }
        sample(name + "_sum", labels, reading.sum)
        sample(name + "_count", labels, Double(count))
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map(String.init) ?? String(value)
    }
}

extension String {
    /// Label names, unlike metric names, have no colons.
    fileprivate var replacingColons: String {
        String(map { $0 == ":" ? "_" : $0 })
    }
}
