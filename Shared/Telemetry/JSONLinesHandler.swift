// Log lines for machines: one JSON object per line.

package import Logging

/// Writes `{"time":…,"level":…,"service":…,"label":…,"message":…, metadata…}`. Metadata stands flat beside the fixed members; nested
/// dictionaries join their keys with dots; a key that a fixed member bears gets `metadata.` before it. Nothing that is logged can
/// break out of its line: control characters are escaped. A text of more than 8192 characters is cut.
package struct JSONLinesHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let service: String
    private let label: String
    private let sink: any LineSink
    private let clock: @Sendable () -> Int64

    /// - Parameter clock: milliseconds since 1970.
    package init(
        service: String, label: String, level: Logger.Level, sink: any LineSink = StandardError.shared,
        clock: @escaping @Sendable () -> Int64 = SystemTime.milliseconds
    ) {
        (self.service, self.label, logLevel, self.sink, self.clock) = (service, label, level, sink, clock)
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// The line's own metadata wins over the provider's, and the provider's over the handler's.
    package func log(event: LogEvent) {
        var line = LogLine()
        line.begin(SystemTime.rfc3339(clock()), event.level.rawValue, service, label, event.message.description)
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { line.add(key, value) }
        line.end()
        sink.write(line.bytes)
    }
}

/// Where whole lines go. A line is written at once or not at all.
package protocol LineSink: Sendable {
    func write(_ line: [UInt8])
}
