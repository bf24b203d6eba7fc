// Reading tracks of GPX 1.1, and of 1.0, which differs in nothing that is read here.

package import Contracts

/// One point of a track.
package struct GPXPoint: Hashable, Sendable {
    /// Of the document, from 0, counting every track point.
    package var index: Int
    /// The line of its start tag, from 1.
    package var line: Int
    /// Which segment of the document it belongs to, from 0.
    package var segment: Int
    /// As written; it is not checked to lie on Earth.
    package var position: Position
    /// Nil where the point has none or it cannot be read.
    package var time: Timestamp?
    /// Per minute, from Garmin's extension to track points.
    package var heartRate: Double?
    /// Per minute, likewise.
    package var cadence: Double?
}

/// What became of one track point.
package enum GPXReading: Hashable, Sendable {
    case point(GPXPoint)
    /// Latitude or longitude is missing or no number, or another number is none.
    case unreadable(index: Int, line: Int, field: String)
}

/// Track points in the document's order. Waypoints and routes are marks and plans, not where somebody was; they are skipped.
package enum GPXReader {
    /// - Throws: also where the root element is not `gpx`: `malformed` on line 1.
    package static func read(
        _ bytes: [UInt8], limits: XMLLimits = XMLLimits(), _ each: @escaping (GPXReading) -> Void
    ) throws(XMLFault) {
        let handler = GPXHandler(each)
        try XMLReading.read(bytes, limits: limits, into: handler)
        guard handler.isGPX else { throw .malformed(line: 1) }
    }

    /// Of this suite's own extension: what GPX has no element for.
    static let namespace = "urn:trackme:gpx:1"
    static let gpxNamespace = "http://www.topografix.com/GPX/1/1"
}

private final class GPXHandler: XMLHandler {
    private let each: (GPXReading) -> Void
    private var path: [String] = []
    private var point: GPXPoint?
    private var wrongField: String?
    private var points = 0
    private var segments = -1
    private(set) var isGPX = false

    init(_ each: @escaping (GPXReading) -> Void) {
        self.each = each
    }

    func opened(_ tag: XMLTag) {
        if path.isEmpty { isGPX = tag.name == "gpx" }
        path.append(tag.name)
        guard isGPX else { return }
        if path == ["gpx", "trk", "trkseg"] { segments += 1 }
        if path == ["gpx", "trk", "trkseg", "trkpt"] { begin(tag) }
    }

    private func begin(_ tag: XMLTag) {
        let latitude = GPXHandler.number(tag.attributes["lat"])
        let longitude = GPXHandler.number(tag.attributes["lon"])
        wrongField = latitude == nil ? "lat" : longitude == nil ? "lon" : nil
        point = GPXPoint(
            index: points, line: tag.line, segment: segments, position: Position(latitude: latitude ?? 0, longitude: longitude ?? 0))
        points += 1
    }

    func closed(_ name: String, text: String) {
        if point != nil {
            if path.count == 4 { end() } else { take(name, text) }
        }
        path.removeLast()
    }

    private func take(_ name: String, _ text: String) {
        switch name {
        case "ele": point?.position.altitude = number(text, "ele")
        case "time": point?.time = Timestamp(rfc3339: text.filter { !$0.isWhitespace })
        case "accuracy": point?.position.accuracy = number(text, "accuracy")
        case "hr": point?.heartRate = number(text, "hr")
        case "cad": point?.cadence = number(text, "cad")
        default: break
        }
    }

    private func end() {
        defer { (point, wrongField) = (nil, nil) }
        guard let point else { return }
        if let wrongField {
            each(.unreadable(index: point.index, line: point.line, field: wrongField))
        } else {
            each(.point(point))
        }
    }

    private func number(_ text: String, _ field: String) -> Double? {
        let number = GPXHandler.number(text)
        if number == nil, wrongField == nil { wrongField = field }
        return number
    }

    /// As `xsd:decimal`: no exponents, no hexadecimal, no words.
    private static func number(_ text: String?) -> Double? {
        let trimmed = (text ?? "").filter { !$0.isWhitespace }
        guard trimmed.utf8.allSatisfy({ "0123456789.+-".utf8.contains($0) }) else { return nil }
        return Double(trimmed)
    }
}
