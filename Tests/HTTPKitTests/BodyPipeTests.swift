// The pipe between a connection and whoever reads a body.

import NIOCore
import Synchronization
import Testing

@testable import HTTPKit

@Suite("Body pipe")
struct BodyPipeTests {
    private static func piece(_ kibibytes: Int) -> ByteBuffer {
        ByteBuffer(repeating: 7, count: kibibytes << 10)
    }

    @Test("an upload whose last pieces come while a full pipe is being emptied does not stand still for ever")
    func heldWhileAdding() async throws {
        let calls = Mutex(0)
        let pipe = BodyPipe { calls.withLock { $0 += 1 } }
        #expect(pipe.add(Self.piece(60)))
        #expect(!pipe.add(Self.piece(80)), "full: the connection stops reading")
        _ = try await pipe.next()
        #expect(calls.withLock { $0 } == 0, "more than half is still there")
        #expect(!pipe.add(Self.piece(10)), "there is room, but the connection still waits for its call")
        _ = try await pipe.next()
        #expect(calls.withLock { $0 } == 1, "there is room again")
        _ = try await pipe.next()
        #expect(calls.withLock { $0 } == 1)
        pipe.end(.success(()))
        #expect(try await pipe.next() == nil)
    }
}
