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
        _ = try await pipe.next(by: .now + .seconds(60))
        #expect(calls.withLock { $0 } == 0, "more than half is still there")
        #expect(!pipe.add(Self.piece(10)), "there is room, but the connection still waits for its call")
        _ = try await pipe.next(by: .now + .seconds(60))
        #expect(calls.withLock { $0 } == 1, "there is room again")
        _ = try await pipe.next(by: .now + .seconds(60))
        #expect(calls.withLock { $0 } == 1)
        pipe.end(.success(()))
        #expect(try await pipe.next(by: .now + .seconds(60)) == nil)
    }

    @Test("a wait that is over says so, takes nothing away, and does not end a later one")
    func late() async throws {
        let pipe = BodyPipe {}
        for _ in 0..<3 {
            await #expect(throws: BodyTooSlow.self) { try await pipe.next(by: .now) }
            await #expect(throws: BodyTooSlow.self) { try await pipe.next(by: .now + .milliseconds(1)) }
        }
        _ = pipe.add(Self.piece(1))
        // What is there already is never late.
        #expect(try await pipe.next(by: .now - .seconds(1))?.readableBytes == 1024)
        async let waited = pipe.next(by: .now + .seconds(60))
        _ = pipe.add(Self.piece(2))
        #expect(try await waited?.readableBytes == 2048)
        pipe.end(.success(()))
        #expect(try await pipe.next(by: .now) == nil)
    }
}
