// A port that another process has: who that is, before anything starts.

import Foundation
import TestKit
import Testing

@testable import Operator

@Suite("Ports that are taken")
struct PortHolderTests {
    /// As Linux writes it, with the port 8101 listened on, another one, and a connection from 8101.
    private static let table = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:1FA5 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0
           1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
           2: 0100007F:1FA5 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0000000000000000 20 4 30 10 -1
        """

    @Test("`trackme desk` on a taken port waited without a word: it ends at once and names the process")
    func desk() throws {
        let other = try Loopback.listening()
        let error = #expect(throws: OperatorError.self) { try PortProbe.requireFree(other.port, at: "127.0.0.1", option: "--port") }
        for word in ["port \(other.port) is taken by process \(getpid()) (", "stop process \(getpid())", "--port"] {
            #expect(error?.description.contains(word) == true, "\(word)")
        }
        close(other.descriptor)
        #expect(throws: Never.self) { try PortProbe.requireFree(other.port, at: "127.0.0.1", option: "--port") }
    }

    @Test("an operator was told that a port is taken and not by whom: the port, the service and the process are named, and what to do")
    func namesProcess() async throws {
        let other = try Loopback.listening()
        defer { close(other.descriptor) }
        let state = await PortProbe().state(of: other.port, isEdge: false)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let holder = PortHolder(process: getpid(), program: URL(fileURLWithPath: program).lastPathComponent)
        #expect(state == .taken(by: holder))

        let line = Checks.port(other.port, of: "ingest", state, setting: "--ingest-port").line
        for word in ["\(other.port)", "ingest", "process \(getpid()) (\(holder.program))", "stop process \(getpid())", "--ingest-port"] {
            #expect(line.contains(word), "\(word) in \(line)")
        }
    }

    @Test("a suite that runs already is named with its process too: it may be one that nobody supervises any more")
    func namesOwn() {
        let finding = Checks.port(8101, of: "ingest", .ours(by: PortHolder(process: 4321, program: "ingest")), setting: "--ingest-port")
        #expect(finding.level == .ok && finding.detail.contains("process 4321 (ingest)"))
    }

    @Test("where the kernel's tables cannot be read, the port is named without a process")
    func withoutName() async throws {
        let other = try Loopback.listening()
        defer { close(other.descriptor) }
        try await withTemporaryFolder { folder in
            #expect(PortHolder.find(other.port, in: folder.path) == nil)
            // Another user's process: its socket is in the table, its descriptors are nobody's to see.
            try FileManager.default.createDirectory(at: folder.appendingPathComponent("net"), withIntermediateDirectories: true)
            try Data(Self.table.utf8).write(to: folder.appendingPathComponent("net/tcp"))
            try FileManager.default.createDirectory(at: folder.appendingPathComponent("99"), withIntermediateDirectories: true)
            #expect(PortHolder.find(8101, in: folder.path) == nil)
        }
        #expect(Checks.port(8101, of: "ingest", .taken(by: nil), setting: "--ingest-port").mend.contains("ss -ltnp"))
    }

    @Test("of a table of the kernel's only sockets that listen on the port count")
    func reads() {
        #expect(PortHolder.listening(on: 8101, in: Self.table) == ["socket:[4711]"])
        #expect(PortHolder.listening(on: 22, in: Self.table) == ["socket:[4712]"])
        #expect(PortHolder.listening(on: 23, in: Self.table) == [])
        #expect(PortHolder.listening(on: 8101, in: "nonsense\n0: x") == [])
    }
}
