// The promises of requests and of admission, over real sockets of both kinds with CURVE.

import CSlowNames
@testable import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

@testable import Bus

@Suite("What requests promise", .serialized, .timeLimit(.minutes(2)))
struct RequestPromiseTests {
    @Test("A question gets its answer, and the answerer knows who asked", arguments: Transport.allCases)
    func answered(transport: Transport) async throws {
        try await talk(transport) { stage, client in
            let reply = try await client.ask(Add(numbers: [1, 2, 39]), trace: "t-7", deadline: .seconds(5))
            #expect(reply == Add.Reply(sum: 42, asker: "reader", trace: "t-7"))
        }
    }

    @Test("Many questions at once each get their own answer")
    func many() async throws {
        try await talk(.ipc) { stage, client in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<40 {
                    group.addTask { try await client.ask(Add(numbers: [number, 1]), deadline: .seconds(5)).sum == number + 1 }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("A repeated id of a mutating question gets the first answer again, and its effect happens once", arguments: Transport.allCases)
    func remembered(transport: Transport) async throws {
        try await talk(transport) { stage, client in
            let body = try Methods.encode(Count(by: 5))
            var answers: Set<[UInt8]> = []
            for _ in 0..<3 {
                answers.insert(try await client.ask(id: "same", method: Count.method, body: body, deadline: .seconds(5)))
            }
            #expect(answers == [Array(#"{"total":5}"#.utf8)])
            let other = try await client.ask(Count(by: 1), deadline: .seconds(5))
            #expect(other.total == 6)
        }
    }

    @Test("An id that an envelope cannot hold is refused and nothing is asked: cut or changed, two of them would share an answer")
    func unfitIDs() async throws {
        try await talk(.ipc) { stage, client in
            let body = try Methods.encode(Count(by: 5))
            let longest = String(repeating: "a", count: 64)
            for id in ["", longest + "1", longest + "2", "a\"b", "a\\b", "à", "a\n"] {
                let failure = await #expect(throws: Failure.self) {
                    try await client.ask(id: id, method: Count.method, body: body, deadline: .seconds(5))
                }
                #expect(failure?.code == .invalid)
            }
            // The only one that counted.
            let answer = try await client.ask(id: longest, method: Count.method, body: body, deadline: .seconds(5))
            #expect(answer == Array(#"{"total":5}"#.utf8))
        }
    }

    @Test("A retry that overtakes the answer joins the first question instead of starting it again")
    func retried() async throws {
        let calls = Mutex(0)
        try await talk(
            .ipc,
            adding: { methods in
                methods.on(method: "slow") { _, _ in
                    let call = calls.withLock { calls in
                        calls += 1
                        return calls
                    }
                    // Longer than the client's timeout, so that it asks again, and ends half of it before it would ask a third time.
                    try await Task.sleep(for: .milliseconds(1500))
                    return Array("\(call)".utf8)
                }
            }
        ) { stage, client in
            let answer = try await client.ask(method: "slow", body: Array("{}".utf8), deadline: .seconds(1), attempts: 100)
            #expect(answer == Array("1".utf8))
            #expect(calls.withLock { $0 } == 1)
        }
    }

    @Test("Without an answer the asker gets `deadline`, after all its attempts")
    func deadline() async throws {
        try await Stage.with(.ipc) { stage in
            let reader = try stage.reading()
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            let began = ContinuousClock.now
            let failure = await #expect(throws: Failure.self) {
                try await client.ask(Add(numbers: []), deadline: .milliseconds(60), attempts: 3)
            }
            #expect(failure?.code == .deadline)
            #expect(failure?.isRetriable == true)
            #expect(ContinuousClock.now - began >= .milliseconds(180))
            await reader.shutdown()
        }
    }

    @Test("An answerer that comes late still hears the next attempt", arguments: Transport.allCases)
    func late(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            let reader = try stage.reading()
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            async let reply = client.ask(Add(numbers: [3]), deadline: .milliseconds(200), attempts: 100)
            let node = try stage.publishing(methods: [Add.method])
            try await node.answer(at: stage.requests, methods())
            #expect(try await reply.sum == 3)
            await reader.shutdown()
            await node.shutdown()
        }
    }

    @Test("A service that was stopping said `unavailable` within milliseconds, and the asker gave up with all its time ahead")
    func stopping() async throws {
        let calls = Mutex(0)
        try await talk(
            .ipc,
            adding: { methods in
                methods.on(method: "stops") { _, _ in
                    let call = calls.withLock { calls in
                        calls += 1
                        return calls
                    }
                    guard call == 3 else { throw Failure(.unavailable, "stopping") }
                    return Array("{}".utf8)
                }
            }
        ) { _, client in
            let failure = await #expect(throws: Failure.self) {
                try await client.ask(method: "stops", body: Array("{}".utf8), deadline: .seconds(600), attempts: 2)
            }
            #expect(failure?.code == .unavailable && calls.withLock { $0 } == 2, "what the last attempt is told is final")
            calls.withLock { $0 = 1 }
            // Far from its deadline, or the test would be cut off.
            let answer = try await client.ask(method: "stops", body: Array("{}".utf8), deadline: .seconds(600), attempts: 2)
            #expect(answer == Array("{}".utf8) && calls.withLock { $0 } == 3)
        }
    }

    @Test("A question after its deadline is not begun")
    func expired() async throws {
        try await Stage.with(.ipc) { stage in
            try await answering(stage) { reader in
                let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
                let late = Question(id: "late", method: Add.method, deadline: busTime() - .seconds(1), trace: "", body: Array("{}".utf8))
                let outcome = await client.requests.exchange(id: "late", timeout: .seconds(10), attempts: 1) { late.envelope }
                #expect(outcome.failure?.code == .deadline)
            }
        }
    }

    @Test("Unknown methods, forbidden methods, bodies that do not fit and envelopes that are none get their own answers")
    func refusals() async throws {
        try await talk(.ipc) { stage, client in
            func code(_ method: String, _ body: String) async -> Failure.Code? {
                do throws(Failure) {
                    _ = try await client.ask(method: method, body: Array(body.utf8), deadline: .seconds(5))
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await code("nobody-knows", "{}") == .unknownMethod)
            #expect(await code("forbidden", "{}") == .forbidden)
            #expect(await code(Add.method, #"{"numbers":"none"}"#) == .invalid)
            #expect(await code("conflict", "{}") == .conflict)
            #expect(await code("broken", "{}") == .internal)
            #expect(await code(ReplayStream.method, #"{"stream":"t.news.0","epoch":"e1","from":1,"through":2}"#) == .forbidden)
            let outcome = await client.requests.exchange(id: "", timeout: .seconds(10), attempts: 1) { Array("nonsense".utf8) }
            #expect(outcome.failure?.code == .invalid)
        }
    }

    @Test("An internal fault tells the asker nothing of the error's own words")
    func discreet() async throws {
        try await talk(.ipc) { stage, client in
            let failure = await #expect(throws: Failure.self) {
                try await client.ask(method: "broken", body: Array("{}".utf8), trace: "t-9", deadline: .seconds(5))
            }
            #expect(failure?.reason.contains("t-9") == true)
            #expect(failure?.reason.contains("Rossi") == false)
        }
    }

    @Test("More questions at once than the limit are refused as unavailable, and the others are answered")
    func tooMany() async throws {
        let isOpen = Mutex(false)
        try await talk(
            .ipc,
            adding: { methods in
                methods.on(method: "wait") { _, _ in
                    // Waits for the test to open, however long that takes.
                    while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(2)) }
                    return Array("{}".utf8)
                }
            }
        ) { stage, client in
            // What is not kept for the suite's own peers.
            let shared = BusLimits.questionsInWork - Peer.suite.reduce(0) { $0 + AnswerSlots.kept(for: $1) }
            let codes = await withTaskGroup(of: Failure.Code?.self) { group in
                for _ in 0..<(shared + 10) {
                    group.addTask {
                        do throws(Failure) {
                            _ = try await client.ask(method: "wait", body: Array("{}".utf8), deadline: .seconds(30), attempts: 1)
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                var codes: [Failure.Code?] = []
                for await code in group {
                    codes.append(code)
                    if codes.count == 10 { isOpen.withLock { $0 = true } }
                }
                return codes
            }
            #expect(codes.filter { $0 == .unavailable }.count == 10)
            #expect(codes.filter { $0 == nil }.count == shared)
        }
    }

    @Test("A peer that is struck off the allow-list is refused at its next question")
    func struckOff() async throws {
        try await Stage.with(.ipc) { stage in
            let allowed = AllowList([AllowedPeer(peer: Peer("reader"), publicKey: stage.reader.publicKey, methods: [Add.method])])
            let node = try BusNode(peer: .ingest, keys: stage.server, allowed: allowed, logger: quiet)
            try await node.answer(at: stage.requests, methods())
            let reader = try stage.reading()
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            #expect(try await client.ask(Add(numbers: [1]), deadline: .seconds(5)).sum == 1)
            allowed.replace(with: [])
            let failure = await #expect(throws: Failure.self) { try await client.ask(Add(numbers: [1]), deadline: .seconds(5)) }
            #expect(failure?.code == .forbidden)
            await reader.shutdown()
            await node.shutdown()
        }
    }

    @Test("Shutting down ends waiting questions, lets those in work finish and frees the endpoint", arguments: Transport.allCases)
    func shutdown(transport: Transport) async throws {
        try await Stage.with(transport) { stage in
            for _ in 0..<5 {
                let node = try stage.publishing(methods: [Add.method])
                try await node.answer(at: stage.requests, methods())
                let reader = try stage.reading()
                let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
                #expect(try await client.ask(Add(numbers: [1]), deadline: .seconds(5)).sum == 1)
                await node.shutdown()
                let waiting = Task { try await client.ask(Add(numbers: [1]), deadline: .seconds(30), attempts: 1) }
                await reader.shutdown()
                await reader.shutdown()
                let failure = await #expect(throws: Failure.self) { try await waiting.value }
                #expect(failure?.code == .unavailable)
                let error = await #expect(throws: BusError.self) {
                    try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
                }
                #expect(error?.code == .closed)
            }
        }
    }

    @Test("A question whose task is cancelled is given up at once")
    func cancelled() async throws {
        try await Stage.with(.ipc) { stage in
            let reader = try stage.reading()
            let client = try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
            let asking = Task { try await client.ask(Add(numbers: []), deadline: .seconds(600), attempts: 1) }
            asking.cancel()
            let failure = await #expect(throws: Failure.self) { try await asking.value }
            #expect(failure?.code == .unavailable)
            await reader.shutdown()
        }
    }

    // MARK: The stage

    private func methods() -> Methods {
        var methods = Methods()
        methods.on(Add.self) { request, context in
            Add.Reply(sum: request.numbers.reduce(0, +), asker: context.peer.name, trace: context.trace)
        }
        return methods
    }

    private func answering(
        _ stage: Stage, families: Set<String> = [], adding: (inout Methods) -> Void = { _ in }, _ body: (BusNode) async throws -> Void
    ) async throws {
        let counter = Counter()
        var methods = Methods(memory: counter)
        methods.on(Add.self) { request, context in
            Add.Reply(sum: request.numbers.reduce(0, +), asker: context.peer.name, trace: context.trace)
        }
        methods.on(Count.self) { request, context in try counter.count(request, context) }
        methods.on(method: "forbidden") { _, _ in Array("{}".utf8) }
        methods.on(method: "conflict") { _, _ in throw Failure(.conflict, "no") }
        methods.on(method: "broken") { _, _ in throw Leaky(name: "Mario Rossi") }
        Log().answer(&methods)
        adding(&methods)
        let granted = Set(methods.byName.keys).subtracting(["forbidden"])
        let allowed = AllowList([
            AllowedPeer(peer: Peer("reader"), publicKey: stage.reader.publicKey, families: families, methods: granted)
        ])
        let node = try BusNode(peer: .ingest, keys: stage.server, allowed: allowed, logger: quiet)
        try await node.answer(at: stage.requests, methods)
        let reader = try stage.reading()
        try await body(reader)
        await reader.shutdown()
        await node.shutdown()
    }

    @Test("While a name server is silent about three peers, the others answer at once", arguments: ["127.0.0.1", "localhost"])
    func silentNameServer(host: String) async throws {
        try await Stage.with(.tcp) { stage in
            try await answering(stage) { reader in
                let there = stage.requests.replacingOccurrences(of: "127.0.0.1", with: host)
                let client = try await reader.client(of: .ingest, at: there, serverKey: stage.server.publicKey)
                _ = try await client.ask(Add(numbers: [1]), deadline: .seconds(5))
                let begun = slow_lookups_begun()
                for peer in ["one", "two", "three"] {
                    _ = try await reader.client(of: .consent, at: "tcp://\(peer).slow.invalid:5730", serverKey: stage.server.publicKey)
                }
                try await eventually("two threads wait for a name") { slow_lookups_begun() >= begun + 2 }
                let taken = try await ContinuousClock().measure {
                    for number in 0..<20 { _ = try await client.ask(Add(numbers: [number]), deadline: .seconds(10)) }
                }
                #expect(taken < .seconds(1), "20 questions while names were looked up for 3 s each")
            }
        }
    }

    private func talk(
        _ transport: Transport, adding: (inout Methods) -> Void = { _ in }, _ body: (Stage, BusClient) async throws -> Void
    ) async throws {
        try await Stage.with(transport) { stage in
            try await answering(stage, adding: adding) { reader in
                try await body(stage, try await reader.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey))
            }
        }
    }
}

extension AskOutcome {
    fileprivate var failure: Failure? {
        if case .answer(.failure(let failure)) = self { failure } else { nil }
    }
}

private struct Leaky: Error {
    let name: String
}

struct Add: BusRequest {
    static let method = "add"
    static let owner = Peer.ingest
    static let clients: Set<Peer> = []
    static let mutates = false
    var numbers: [Int]

    struct Reply: Codable, Sendable, Equatable {
        var sum: Int
        var asker: String
        var trace: String
    }
}

private struct Count: BusRequest {
    static let method = "count"
    static let owner = Peer.ingest
    static let clients: Set<Peer> = []
    static let mutates = true
    var by: Int

    struct Reply: Codable, Sendable {
        var total: Int
    }
}

/// A store with one number and the answers that it gave.
private final class Counter: AnswerMemory {
    private let state = Mutex<(total: Int, answers: [String: [UInt8]])>((0, [:]))

    func answer(to peer: Peer, id: String) async throws -> [UInt8]? {
        state.withLock { $0.answers["\(peer)/\(id)"] }
    }

    func count(_ request: Count, _ context: RequestContext) throws -> Count.Reply {
        try state.withLock { state in
            state.total += request.by
            let reply = Count.Reply(total: state.total)
            state.answers["\(context.peer)/\(context.id)"] = try Methods.encode(reply)
            return reply
        }
    }
}
