// Writing a track as GPX 1.1 while its points come.

package import Contracts

/// One document with one track. Where more than `segmentGap` lies between two points, a new segment begins: what happened between
/// is not known.
package struct GPXWriter: Sendable {
    package static let segmentGap: Duration = .seconds(600)

    private var xml = XMLWriter()
    private var last: Timestamp?

    /// - Parameter creator: the program, for the attribute that GPX requires.
    package init(creator: String) {
        xml.open(
            "gpx",
            [
                ("version", "1.1"), ("creator", creator), ("xmlns", GPXReader.gpxNamespace), ("xmlns:tm", GPXReader.namespace),
            ])
        xml.open("trk")
    }

    /// What was written since the last call.
    package mutating func take() -> [UInt8] {
        xml.take()
    }

    /// Bytes that `take` would give.
    package var waiting: Int { xml.waiting }

    /// Points come in order of time.
    package mutating func add(_ position: Position, at time: Timestamp) {
        if let last, time - last > Self.segmentGap {
            xml.close()
            self.last = nil
        }
        if last == nil { xml.open("trkseg") }
        last = time
        xml.open(
            "trkpt", [("lat", PlainDecimal.text(position.latitude)), ("lon", PlainDecimal.text(position.longitude))])
        if let altitude = position.altitude { xml.leaf("ele", PlainDecimal.text(altitude)) }
        xml.leaf("time", time.rfc3339)
        if let accuracy = position.accuracy {
            xml.open("extensions")
            xml.leaf("tm:accuracy", PlainDecimal.text(accuracy))
            xml.close()
        }
        xml.close()
    }

    /// Ends the document; `take` has its last bytes then.
    package mutating func finish() {
        xml.finish()
    }
}
