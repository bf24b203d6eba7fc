// The reference for what is stored: InfluxDB 1.6 from Debian, its log synced on each write.

import Foundation

struct InfluxDB: Sendable {
    let folder: URL
    let port: Int
    let client: WebClient
    private let rpcPort: Int

    init(in folder: URL) throws {
        self.folder = folder
        (port, rpcPort) = (try Stage.freePort(), try Stage.freePort())
        client = WebClient(port: port)
        try configuration.write(to: folder.appendingPathComponent("influxdb.conf"), atomically: true, encoding: .utf8)
    }

    /// Everything that could slow it and is not its storing is off.
    private var configuration: String {
        """
        reporting-disabled = true
        bind-address = "127.0.0.1:\(rpcPort)"
        [meta]
        dir = "\(folder.path)/meta"
        logging-enabled = false
        [data]
        dir = "\(folder.path)/data"
        wal-dir = "\(folder.path)/wal"
        wal-fsync-delay = "0s"
        query-log-enabled = false
        [monitor]
        store-enabled = false
        [subscriber]
        enabled = false
        [http]
        bind-address = "127.0.0.1:\(port)"
        log-enabled = false
        [logging]
        level = "error"
        """
    }

    /// Returns when it answers and has its database.
    func start() async throws -> Program {
        let program = try Program(
            "influxd", ["run", "-config", folder.appendingPathComponent("influxdb.conf").path], log: folder.appendingPathComponent("log"))
        let client = client
        try await Stage.wait("InfluxDB", atMost: .seconds(120)) { await client.isReady("/ping") }
        _ = try await client.send("POST", "/query?q=CREATE%20DATABASE%20bench")
        return program
    }

    private struct Answer: Decodable {
        struct Result: Decodable {
            struct Series: Decodable {
                var values: [[Double?]]
            }
            var series: [Series]?
        }
        var results: [Result]
    }

    /// How many entries it gives back.
    func count() async throws -> Int {
        let answer = try await client.get(Answer.self, "/query?db=bench&epoch=ms&q=SELECT%20count(value)%20FROM%20%22heart-rate%22")
        return Int((answer.results.first?.series?.first?.values.first?.last ?? 0) ?? 0)
    }
}
