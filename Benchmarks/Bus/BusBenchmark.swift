// Messages through the bus's own interface, beside a C program with the same mechanism.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization

/// Two peers, ipc, CURVE, three frames, a payload of 1 KiB. Ours publishes fact by fact, as services do, and follows gaplessly.
struct BusBenchmark {
    private static let payload = 1024
    /// Facts said and not yet applied: below what an inbox holds, so that nothing need be replayed.
    private static let inFlight: Int64 = 4000

    let stage: Stage

    func rows() async throws -> [Row] {
        let folder = try stage.emptyFolder("bus")
        let program = folder.appendingPathComponent("bus-reference").path
        _ = try await Program.output("cc", ["-O2", "-Wall", "-o", program, Stage.reference("bus.c"), "-lzmq", "-lpthread"])
        var (ours, reference, roundTrips): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<stage.rounds {
            let count = 50_000 * stage.seconds
            ours.append(try await measure(count, in: folder))
            let text = try await Program.output(
                program, ["ipc://\(folder.path)/c.ipc", "\(count)", "\(Self.payload)", "\(Self.headerBytes)"])
            guard let rate = Double(text.split(separator: "\n").last ?? "") else { throw BenchmarkError("bus-reference: \(text)") }
            reference.append(rate)
            roundTrips.append(try await askAndAnswer(in: folder))
        }
        return [
            Row(
                "bus, 1 KiB facts followed", "messages/s", ours, reference: reference, beside: "C, libzmq alone, same frames",
                higherIsBetter: true, .ratioAtLeast(0.5)),
            Row("bus, question and answer, p50", "ms", roundTrips),
        ]
    }

    private static let family = StreamFamily.samples
    private static let epoch = "0123456789abcdef0123456789abcdef"

    private static func event(_ stream: String, _ sequence: Int64) -> StreamEvent {
        let header = StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: "bench-said.v1", subject: "\(PersonID(bits: 7))",
            at: .now, trace: "")
        return StreamEvent(header: header, payload: [UInt8](repeating: UInt8(ascii: "x"), count: payload))
    }

    /// What a header takes on the wire, for the reference.
    private static var headerBytes: Int {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return (try? encoder.encode(event(family.streams[0], 10_000).header).count) ?? 200
    }

    private struct Pair {
        let speaker: BusNode
        let hearer: BusNode
        let speakerKeys: CurveKeyPair

        init() throws {
            let hearerKeys = try CurveKeyPair.generate()
            speakerKeys = try CurveKeyPair.generate()
            let hearing = AllowedPeer(
                peer: Peer("hearer"), publicKey: hearerKeys.publicKey, families: [family.name], methods: [Echo.method])
            speaker = try BusNode(peer: .ingest, keys: speakerKeys, allowed: AllowList([hearing]), logger: WebClient.quiet)
            hearer = try BusNode(peer: Peer("hearer"), keys: hearerKeys, allowed: AllowList([]), logger: WebClient.quiet)
        }

        func end() async {
            await hearer.shutdown()
            await speaker.shutdown()
        }
    }

    private struct Echo: BusRequest {
        static let method = "echo"
        static let owner = Peer.ingest
        static let clients: Set<Peer> = []
        static let mutates = false
        typealias Reply = Echo
        var text: String
    }

    /// Facts applied per second.
    private func measure(_ count: Int, in folder: URL) async throws -> Double {
        let pair = try Pair()
        let (news, requests) = ("ipc://\(folder.path)/news.ipc", "ipc://\(folder.path)/requests.ipc")
        let said = Said()
        let publisher = try await pair.speaker.publisher(of: Self.family, at: news, epoch: Self.epoch, heads: [:])
        var methods = Methods()
        methods.onReplay { request, _ in
            let facts = (request.from...request.through).prefix(500).map { sequence in
                let event = Self.event(request.stream, sequence)
                return ReplayStream.Fact(header: event.header, payload: String(decoding: event.payload, as: UTF8.self))
            }
            return ReplayStream.Reply(epoch: Self.epoch, head: request.through, oldest: 1, facts: facts)
        }
        methods.onConfirm { _, _ in }
        try await pair.speaker.answer(at: requests, methods)
        let inbox = try await pair.hearer.inbox(of: Self.family, at: news, serverKey: pair.speakerKeys.publicKey)
        let client = try await pair.hearer.client(of: .ingest, at: requests, serverKey: pair.speakerKeys.publicKey)
        let consumer = StreamConsumer(family: Self.family, inbox: inbox, publisher: client, logger: WebClient.quiet)
        let start = Self.family.streams.map { StreamPosition(stream: $0, epoch: Self.epoch, next: 1) }
        let following = Task {
            try await consumer.run(from: start, apply: { events, _ in said.applied(events.count) })
        }
        try await Stage.wait("the subscription") { Self.family.streams.allSatisfy(publisher.hasListeners) }
        let begun = ContinuousClock.now
        for number in 0..<Int64(count) {
            let stream = Self.family.streams[Int(number % 16)]
            publisher.publish([Self.event(stream, number / 16 + 1)])
            if number % 64 == 0 { while number - said.count > Self.inFlight { await Task.yield() } }
        }
        try await Stage.wait("all facts", atMost: .seconds(60), every: .milliseconds(1)) { said.count >= Int64(count) }
        let rate = Double(count) / (ContinuousClock.now - begun).inSeconds
        following.cancel()
        await pair.end()
        return rate
    }

    private final class Said: Sendable {
        private let applied = Atomic<Int64>(0)
        var count: Int64 { applied.load(ordering: .relaxed) }
        func applied(_ more: Int) { applied.wrappingAdd(Int64(more), ordering: .relaxed) }
    }

    /// Median of questions one after the other, in ms.
    private func askAndAnswer(in folder: URL) async throws -> Double {
        let pair = try Pair()
        let requests = "ipc://\(folder.path)/requests.ipc"
        var methods = Methods()
        methods.on(Echo.self) { request, _ in request }
        try await pair.speaker.answer(at: requests, methods)
        let client = try await pair.hearer.client(of: .ingest, at: requests, serverKey: pair.speakerKeys.publicKey)
        _ = try await client.ask(Echo(text: "first"), deadline: .seconds(5))
        var took: [Double] = []
        for _ in 0..<2000 {
            let begun = ContinuousClock.now
            _ = try await client.ask(Echo(text: "a question of some length, as they are"))
            took.append((ContinuousClock.now - begun).milliseconds)
        }
        await pair.end()
        return took.sorted().percentile(50)
    }
}
