// The load generator `wrk` with the one script that makes the same entries for both systems.

import Foundation

/// One run of load: as fast as the server answers, or paced by pauses of each connection.
struct Wrk: Sendable {
    enum Target: String, Sendable {
        case trackme, influxdb
    }

    struct Outcome: Codable, Sendable {
        var seconds: Double
        /// Answered completely, with any status.
        var requests: Int
        /// Answered with a status of 400 and more.
        var refused: Int
        /// Connections that failed, and answers that took longer than 2 s.
        var failed: Int
        var p50: Double
        var p99: Double
        var most: Double

        var accepted: Int { requests - refused }
    }

    static let threads = 2

    var target: Target
    var url: String
    var devices: URL
    var batch: Int
    /// Seconds since 1970 of the first entry of every device.
    var start: Int
    var seconds: Int
    var connections = 64
    /// Of each connection between two requests, half to one and a half times as long; 0 for none.
    var pauseMilliseconds = 0

    func run() async throws -> Outcome {
        try await Self.run(
            "upload.lua", at: url, connections: connections, seconds: seconds, timeout: 2, pauseMilliseconds: pauseMilliseconds,
            environment: [
                "BENCH_TARGET": target.rawValue, "BENCH_DEVICES": devices.path, "BENCH_BATCH": String(batch), "BENCH_START": String(start),
                "BENCH_THREADS": String(Self.threads),
            ])
    }

    /// - Parameter script: in the folder of references.
    /// - Parameter timeout: seconds after which an answer counts as failed.
    static func run(
        _ script: String, at url: String, connections: Int, seconds: Int, timeout: Int, pauseMilliseconds: Int,
        environment: [String: String]
    ) async throws -> Outcome {
        let text = try await Program.output(
            "wrk",
            ["-t\(threads)", "-c\(connections)", "-d\(seconds)s", "--timeout", "\(timeout)s", "-s", Stage.reference(script), url],
            environment: environment.merging(["BENCH_PAUSE": String(pauseMilliseconds)]) { $1 })
        guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
            throw BenchmarkError("wrk said nothing: \(text.suffix(500))")
        }
        return try JSONDecoder().decode(Outcome.self, from: Data(line.utf8))
    }
}
