// Who is let in: the ZAP handler's answers and the allow-list.

import Contracts
import Testing

@testable import Bus

@Suite("Admission")
struct AdmissionTests {
    private let bytes = [UInt8](repeating: 7, count: 32)

    private func request(domain: String, mechanism: String = "CURVE", key: [UInt8], version: String = "1.0") -> [[UInt8]] {
        [Array(version.utf8), [1], Array(domain.utf8), Array("::1".utf8), [], Array(mechanism.utf8), key]
    }

    private func status(_ frames: [[UInt8]]) -> String {
        String(decoding: ZAPHandler.shared.answer(to: frames)[2], as: UTF8.self)
    }

    @Test("A known key in a known domain is admitted under its peer's name")
    func known() throws {
        let key = try #require(Z85.encode(key: bytes))
        let domain = ZAPHandler.shared.makeDomain("known") { $0 == key ? "ingest" : nil }
        let answer = ZAPHandler.shared.answer(to: request(domain: domain, key: bytes))
        #expect(answer.map { String(decoding: $0, as: UTF8.self) } == ["1.0", "\u{1}", "200", "OK", "ingest", ""])
    }

    @Test("Whatever the handler does not know is refused")
    func unknown() throws {
        let domain = ZAPHandler.shared.makeDomain("unknown") { _ in "anybody" }
        #expect(status(request(domain: domain, key: bytes)) == "200")
        #expect(status(request(domain: "elsewhere", key: bytes)) == "400")
        #expect(status(request(domain: "", key: bytes)) == "400")
        #expect(status(request(domain: domain, mechanism: "NULL", key: bytes)) == "400")
        #expect(status(request(domain: domain, mechanism: "PLAIN", key: bytes)) == "400")
        #expect(status(request(domain: domain, key: Array(bytes.dropLast()))) == "400")
        #expect(status(request(domain: domain, key: bytes, version: "2.0")) == "400")
        #expect(status(Array(request(domain: domain, key: bytes).dropLast())) == "400")
        #expect(status([]) == "400")
        ZAPHandler.shared.forget(domain: domain)
        #expect(status(request(domain: domain, key: bytes)) == "400")
    }

    @Test("A key or a name that two entries share is refused for both")
    func shared() {
        let allowed = AllowList([
            AllowedPeer(peer: Peer("one"), publicKey: "a", methods: ["m"]), AllowedPeer(peer: Peer("two"), publicKey: "a", methods: ["m"]),
            AllowedPeer(peer: Peer("three"), publicKey: "b"), AllowedPeer(peer: Peer("three"), publicKey: "c"),
            AllowedPeer(peer: Peer("four"), publicKey: "d"),
        ])
        #expect(allowed.peer(withKey: "a") == nil)
        #expect(allowed.peer(named: Peer("one")) == nil)
        #expect(allowed.peer(withKey: "b") == nil)
        #expect(allowed.peer(withKey: "d")?.peer == Peer("four"))
    }
}
