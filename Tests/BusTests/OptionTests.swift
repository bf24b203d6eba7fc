// Socket options, endpoints and keys.

import Testing

@testable import Bus

/// Numbers of zmq.h, written down once more: only Bus itself imports the library.
private enum Number {
    static let lingering: Int32 = 17
    static let largestMessage: Int32 = 22
    static let sendingHighWater: Int32 = 23
    static let receivingHighWater: Int32 = 24
    static let mechanism: Int32 = 43
    static let isCurveServer: Int32 = 47
    static let curve: Int64 = 2
}

@Suite("Socket options")
struct OptionTests {
    @Test("Every option of the table reads back as it was set", arguments: SocketKind.allCases)
    func readBack(kind: SocketKind) throws {
        let keys = try CurveKeyPair.generate()
        let isBound = kind == .publisher || kind == .server
        let socket = try Socket(
            kind, isBound ? .admitting(keys: keys, domain: "options") : .trusting(serverKey: keys.publicKey, keys: keys))
        for option in kind.options where option.isReadable {
            #expect(socket.value(of: option) == option.value, "option \(option.number) of \(kind)")
        }
        #expect(socket.value(of: SocketOption(Number.mechanism, 0)) == Number.curve)
        #expect(socket.value(of: SocketOption(Number.isCurveServer, 0)) == (isBound ? 1 : 0))
        if isBound { #expect(socket.value(of: SocketOption(zapEnforceDomain, 0)) == 1) }
    }

    @Test("Nothing can be queued without a bound, and every socket gives up its linger")
    func bounds() {
        for kind in SocketKind.allCases {
            let values = Dictionary(uniqueKeysWithValues: kind.options.map { ($0.number, $0.value) })
            #expect((1...100_000).contains(values[Number.sendingHighWater] ?? 0))
            #expect((1...100_000).contains(values[Number.receivingHighWater] ?? 0))
            #expect((0...500).contains(values[Number.lingering] ?? -1))
            #expect((1...Int64(BusLimits.answerBytes)).contains(values[Number.largestMessage] ?? -1))
        }
    }

    @Test(
        "An endpoint without protection or with too long a path is refused",
        arguments: [
            "inproc://x", "udp://127.0.0.1:5000", "", "ipc://" + String(repeating: "x", count: 100),
        ])
    func endpoints(endpoint: String) throws {
        let socket = try Socket(.server, .admitting(keys: try .generate(), domain: "endpoints"))
        let error = #expect(throws: BusError.self) { try socket.bind(to: endpoint) }
        #expect(error?.code == .invalidEndpoint)
    }

    @Test("A key pair is derived from its secret half and is not described with it")
    func keys() throws {
        let keys = try CurveKeyPair.generate()
        #expect(try CurveKeyPair(secretKey: keys.secretKey).publicKey == keys.publicKey)
        #expect(!"\(keys)".contains(keys.secretKey))
        #expect(!String(reflecting: keys).contains(keys.secretKey))
        let other = try CurveKeyPair.generate()
        #expect(throws: BusError.self) { try CurveKeyPair(publicKey: other.publicKey, secretKey: keys.secretKey) }
        #expect(throws: BusError.self) { try CurveKeyPair(secretKey: "short") }
        #expect(throws: BusError.self) { try CurveKeyPair(secretKey: String(repeating: "\"", count: 40)) }
    }
}
