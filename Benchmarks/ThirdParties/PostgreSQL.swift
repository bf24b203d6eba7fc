// The reference for pages: PostgreSQL 15 from Debian with the same rows, asked by pgbench over its own protocol without TLS.

import Contracts
import Foundation

struct PostgreSQL: Sendable {
    private static let programs = "/usr/lib/postgresql/15/bin"
    private static let user = "bench"
    static let connections = 16
    static let threads = 2

    let folder: URL
    let port: Int
    private let server: Program

    /// What one connection asks, again and again.
    enum Question: String, Sendable {
        case page
        /// With a row that says who read what, durable before the page is given away, as the gateway's promise to the person is.
        case recordedPage = "recorded-page"

        fileprivate func script(_ rows: PageRows) -> String {
            let select =
                "SELECT at, value FROM samples WHERE person = :person AND metric = 1"
                + " AND at >= to_timestamp(\(rows.start) + :page * \(rows.step)) ORDER BY at LIMIT \(PageRows.perPage);"
            let choice = "\\set person random(1, \(rows.people))\n\\set page random(0, \(rows.starts - 1))\n"
            switch self {
            case .page: return choice + select + "\n"
            case .recordedPage:
                return choice + "BEGIN;\nINSERT INTO reads (person, metric, page) VALUES (:person, 1, :page);\n" + select + "\nCOMMIT;\n"
            }
        }
    }

    /// Makes a cluster of its own and fills it. PostgreSQL refuses to run as root: then everything of it belongs to `postgres`.
    init(in folder: URL, rows: PageRows) async throws {
        self.folder = folder
        port = try Stage.freePort()
        let cluster = folder.appendingPathComponent("cluster").path
        if getuid() == 0 { _ = try await Program.output("chown", ["postgres", folder.path]) }
        _ = try await Self.output(
            "\(Self.programs)/initdb", ["-D", cluster, "-U", Self.user, "--auth=trust", "--no-locale", "-E", "UTF8"])
        let (name, arguments) = Self.unprivileged(
            "\(Self.programs)/postgres",
            [
                "-D", cluster, "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "ssl=off", "-c",
                "fsync=on", "-c", "synchronous_commit=on",
            ])
        server = try Program(name, arguments, log: folder.appendingPathComponent("log"))
        let (known, end) = (port, ContinuousClock.now + .seconds(30))
        while (try? await Self.ask(known, "SELECT 1")) == nil {
            guard ContinuousClock.now < end else { throw BenchmarkError("PostgreSQL does not answer; see \(folder.path)/log") }
            try await Task.sleep(for: .milliseconds(100))
        }
        _ = try await Self.ask(port, Self.filling(rows))
        for question in [Question.page, .recordedPage] {
            try question.script(rows).write(to: script(question), atomically: true, encoding: .utf8)
        }
    }

    private static func filling(_ rows: PageRows) -> String {
        """
        CREATE TABLE samples (
            person bigint NOT NULL, metric smallint NOT NULL, at timestamptz NOT NULL, value double precision NOT NULL,
            PRIMARY KEY (person, metric, at));
        CREATE TABLE reads (number bigserial PRIMARY KEY, person bigint, metric smallint, page integer, at timestamptz DEFAULT now());
        INSERT INTO samples SELECT person, 1, to_timestamp(\(rows.start) + second), 60 + (7 * second) % 41
            FROM generate_series(1, \(rows.people)) person, generate_series(0, \(rows.seconds - 1)) second;
        """
    }

    private func script(_ question: Question) -> URL { folder.appendingPathComponent("\(question.rawValue).sql") }

    private static func ask(_ port: Int, _ text: String) async throws -> String {
        try await Program.output(
            "\(programs)/psql",
            ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", "\(port)", "-U", user, "-c", text, "postgres"],
            environment: ["PGSSLMODE": "disable"])
    }

    func analyse() async throws {
        _ = try await Self.ask(port, "VACUUM ANALYZE samples")
    }

    /// - Parameter pace: questions a second of all connections together; 0 for as fast as they are answered.
    func run(_ question: Question, seconds: Int, pace: Int = 0) async throws -> Wrk.Outcome {
        let logs = folder.appendingPathComponent("times-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: logs) }
        _ = try await Program.output(
            "\(Self.programs)/pgbench",
            [
                "-n", "-M", "prepared", "-c", "\(Self.connections)", "-j", "\(Self.threads)", "-T", "\(seconds)", "-h", "127.0.0.1", "-p",
                "\(port)", "-U", Self.user, "-f", script(question).path, "--log", "--log-prefix=\(logs.path)/times",
            ] + (pace > 0 ? ["-R", "\(pace)"] : []) + ["postgres"], environment: ["PGSSLMODE": "disable"])
        // Each line: client, transaction, time in µs, …
        var took: [Double] = []
        for file in try FileManager.default.contentsOfDirectory(at: logs, includingPropertiesForKeys: nil) {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let fields = line.split(separator: " ")
                if fields.count > 2, let microseconds = Double(fields[2]) { took.append(microseconds / 1000) }
            }
        }
        took.sort()
        return Wrk.Outcome(
            seconds: Double(seconds), requests: took.count, refused: 0, failed: 0, p50: took.percentile(50), p99: took.percentile(99),
            most: took.last ?? .nan)
    }

    func end() {
        server.kill9()
    }

    private static func unprivileged(_ name: String, _ arguments: [String]) -> (String, [String]) {
        getuid() == 0 ? ("setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", name] + arguments) : (name, arguments)
    }

    private static func output(_ name: String, _ arguments: [String]) async throws -> String {
        let (name, arguments) = unprivileged(name, arguments)
        return try await Program.output(name, arguments)
    }
}
