// Log lines as machines read them.

import Foundation
import Logging
import Metrics
import Synchronization
import Testing

@testable import Telemetry

private final class Lines: LineSink {
    private let lines = Mutex<[[UInt8]]>([])

    func write(_ line: [UInt8]) {
        lines.withLock { $0.append(line) }
    }

    var all: [String] { lines.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } }
}

@Suite("JSON lines")
struct JSONLinesTests {
    private func logger(_ lines: Lines, level: Logger.Level = .trace) -> Logger {
        Logger(label: "ingest.http") { label in
            JSONLinesHandler(service: "ingest", label: label, level: level, sink: lines, clock: { 1_768_005_060_007 })
        }
    }

    @Test("A line is one JSON object with its members in order and metadata flat beside them")
    func line() {
        let lines = Lines()
        var logger = logger(lines)
        logger[metadataKey: "node"] = "a"
        logger.warning("slow \"commit\"", metadata: ["ms": .stringConvertible(12), "at": .dictionary(["x": "1", "y": ["2", "3"]])])
        #expect(
            lines.all == [
                #"{"time":"2026-01-10T00:31:00.007Z","level":"warning","service":"ingest","label":"ingest.http","message":"slow \"commit\"","at.x":"1","at.y.0":"2","at.y.1":"3","ms":"12","node":"a"}"#
                    + "\n"
            ])
    }

    @Test(
        "Nothing that is logged breaks out of its line",
        arguments: ["a\nb", "a\r\nb", "\u{1B}[31mred", "\u{0}\u{7F}\u{85}\u{2028}\u{2029}", "\"}\n{\"level\":\"error\"", "è😀"])
    func escaping(text: String) throws {
        let lines = Lines()
        logger(lines).info("\(text)", metadata: ["k\n": .string(text)])
        let line = try #require(lines.all.first)
        #expect(
            line.unicodeScalars.dropLast().allSatisfy {
                $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0.value != 0x2028 && $0.value != 0x2029
            })
        let read = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(read["message"] == text)
        #expect(read["k\n"] == text)
        #expect(read["level"] == "info")
    }

    @Test("Metadata cannot take the place of a fixed member")
    func fixedMembers() throws {
        let lines = Lines()
        logger(lines).info("real", metadata: ["message": "false", "level": "false"])
        let line = try #require(lines.all.first)
        let read = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(read["message"] == "real")
        #expect(read["metadata.message"] == "false")
    }

    @Test("Lines below the level are not written, and an endless text is cut off")
    func bounds() throws {
        let lines = Lines()
        let logger = logger(lines, level: .notice)
        logger.info("quiet")
        #expect(lines.all.isEmpty)
        logger.error("\(String(repeating: "x", count: 100_000))")
        #expect(try #require(lines.all.first).utf8.count < 10_000)
    }

    @Test("Bootstrapping twice is bootstrapping once")
    func bootstrap() {
        let first = TelemetryBootstrap.once(service: "tests", level: .critical)
        let second = TelemetryBootstrap.once(service: "others", level: .trace)
        #expect(first === second)
        Counter(label: "bootstrapped_total").increment()
        #expect(first.text.contains("bootstrapped_total 1\n"))
    }
}
