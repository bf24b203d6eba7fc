// A stranger's key opens no door, also when nobody is left to decide.

@testable import Contracts
import Foundation
import TestKit
import Testing

@testable import Bus

@Suite("Strangers", .serialized, .timeLimit(.minutes(2)))
struct StrangerTests {
    @Test(
        "NFR-15: the self-test finds a stranger refused at every socket, and at one of its own where none is bound",
        arguments: Transport.allCases)
    func selfTest(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let node = try stage.publishing(methods: [Add.method])
            try await node.selfTest()
            try await node.answer(at: stage.requests, Methods())
            _ = try await node.publisher(of: Stage.family, at: stage.news, epoch: "e", heads: [:])
            try await node.selfTest()
            await node.shutdown()
        }
    }

    @Test("The self-test tells when a stranger is let in, and when it cannot be known")
    func selfTestBites() async throws {
        try await Stage.with(.ipc) { stage in
            let everybody = ZAPHandler.shared.makeDomain("everybody") { _ in "anybody" }
            let open = try Socket(.server, .admitting(keys: stage.server, domain: everybody))
            try open.bind(to: stage.requests)
            #expect(await StrangerProbe.knock(at: stage.requests, as: .client, serverKey: stage.server.publicKey) == .admitted)
            // Nobody there: nothing was shown.
            #expect(await StrangerProbe.knock(at: stage.news, as: .client, serverKey: stage.server.publicKey) == .unclear)
            open.close()
        }
    }

    @Test("NFR-15: a stranger's key is refused on the answering and on the publishing socket", arguments: Transport.allCases)
    func stranger(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let node = try stage.publishing(methods: [Add.method])
            try await node.answer(at: stage.requests, Methods())
            _ = try await node.publisher(of: Stage.family, at: stage.news, epoch: "e", heads: [:])
            let key = stage.server.publicKey
            #expect(await StrangerProbe.knock(at: stage.requests, as: .client, serverKey: key) == .refused)
            #expect(await StrangerProbe.knock(at: stage.news, as: .subscriber, serverKey: key) == .refused)
            let stranger = try stage.reading(keys: .generate())
            let client = try await stranger.client(of: .ingest, at: stage.requests, serverKey: key)
            let failure = await #expect(throws: Failure.self) { try await client.ask(Add(numbers: []), deadline: .milliseconds(150)) }
            #expect(failure?.code == .deadline)
            await stranger.shutdown()
            await node.shutdown()
        }
    }

    @Test("A peer that may ask but not hear is refused by the publishing socket and by replays")
    func deaf() async throws {
        try await Stage.with(.ipc) { stage in
            let allowed = AllowList([AllowedPeer(peer: Peer("reader"), publicKey: stage.reader.publicKey, methods: [ReplayStream.method])])
            let node = try BusNode(peer: .ingest, keys: stage.server, allowed: allowed, logger: quiet)
            var methods = Methods()
            Log().answer(&methods)
            try await node.answer(at: stage.requests, methods)
            let publisher = try await node.publisher(of: Stage.family, at: stage.news, epoch: "e1", heads: [:])
            let reader = try stage.reading()
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            let inbox = try await reader.inbox(of: Stage.family, at: stage.news, serverKey: stage.server.publicKey)
            let replay = ReplayStream(stream: "t.news.0", epoch: "e1", from: 1, through: 1)
            let failure = await #expect(throws: Failure.self) { try await client.replay(replay, deadline: .seconds(5)) }
            #expect(failure?.code == .forbidden)
            #expect(!publisher.hasListeners("t.news.0"))
            #expect(await inbox.next().frames.isEmpty)
            await reader.shutdown()
            await node.shutdown()
        }
    }

    @Test("A server with another key than expected is not talked to")
    func falseServer() async throws {
        try await Stage.with(.ipc) { stage in
            let node = try stage.publishing(methods: [Add.method])
            try await node.answer(at: stage.requests, Methods())
            let reader = try stage.reading()
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: try CurveKeyPair.generate().publicKey)
            let failure = await #expect(throws: Failure.self) { try await client.ask(Add(numbers: []), deadline: .milliseconds(150)) }
            #expect(failure?.code == .deadline)
            await reader.shutdown()
            await node.shutdown()
        }
    }

    @Test("NFR-15: a stranger is refused also when the ZAP thread is dead, and so is everybody else")
    func deadHandler() async throws {
        // In a process of its own: there is one handler per process, and other tests need it.
        await #expect(processExitsWith: .success) {
            try await Stage.with(.ipc) { stage in
                let node = try stage.publishing(methods: [Add.method])
                try await node.answer(at: stage.requests, Methods())
                _ = try await node.publisher(of: Stage.family, at: stage.news, epoch: "e", heads: [:])
                ZAPHandler.shared.stopForTest()
                let key = stage.server.publicKey
                for (endpoint, kind) in [(stage.requests, SocketKind.client), (stage.news, .subscriber)] {
                    let outcome = await StrangerProbe.knock(at: endpoint, as: kind, serverKey: key)
                    try #require(outcome == .refused)
                }
                let reader = try stage.reading()
                // Its node started the handler anew; dead again.
                ZAPHandler.shared.stopForTest()
                let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: key)
                let failure = await #expect(throws: Failure.self) { try await client.ask(Add(numbers: []), deadline: .milliseconds(200)) }
                try #require(failure?.code == .deadline)
                await reader.shutdown()
                await node.shutdown()
            }
        }
    }
}
