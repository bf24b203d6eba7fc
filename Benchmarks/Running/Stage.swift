// Where a benchmark takes place: folders, ports, how often and how long.

import Foundation

struct Stage: Sendable {
    let results: URL
    let rounds: Int
    let seconds: Int
    let devices: Int
    let batches: [Int]
    let emergencies: Int
    let within: Int
    let people: [Int]

    init(folder: String, rounds: Int, seconds: Int, devices: Int, batches: [Int], emergencies: Int, within: Int, people: [Int]) throws {
        results = URL(fileURLWithPath: folder, isDirectory: true)
        (self.rounds, self.seconds, self.devices, self.batches) = (rounds, seconds, devices, batches)
        (self.emergencies, self.within, self.people) = (emergencies, within, people)
        try FileManager.default.createDirectory(at: results, withIntermediateDirectories: true)
    }

    /// An empty folder on the disk of the results: ours and the reference store on the same one.
    func emptyFolder(_ name: String) throws -> URL {
        let folder = results.appendingPathComponent("work/\(name)", isDirectory: true)
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    static func reference(_ name: String) -> String { "Benchmarks/reference/\(name)" }

    /// A port of loopback that nobody listens on.
    static func freePort() throws -> Int { try freePorts(1)[0] }

    /// As many different ones.
    static func freePorts(_ count: Int) throws -> [Int] {
        let held = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        defer { for descriptor in held { close(descriptor) } }
        return try held.map(boundPort)
    }

    private static func boundPort(of descriptor: Int32) throws -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard bound else { throw BenchmarkError("no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Asks every `pause` until it is so.
    static func wait(
        _ what: String, atMost limit: Duration = .seconds(20), every pause: Duration = .milliseconds(5), until isSo: () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        while try await !isSo() {
            guard ContinuousClock.now < end else { throw BenchmarkError("waited \(limit) for \(what)") }
            try await Task.sleep(for: pause)
        }
    }

    /// Asks every `pause` until there is something.
    static func waitFor<Value>(
        _ what: String, atMost limit: Duration = .seconds(20), every pause: Duration = .milliseconds(5), _ look: () async throws -> Value?
    ) async throws -> Value {
        let end = ContinuousClock.now + limit
        while true {
            if let found = try await look() { return found }
            guard ContinuousClock.now < end else { throw BenchmarkError("waited \(limit) for \(what)") }
            try await Task.sleep(for: pause)
        }
    }
}
