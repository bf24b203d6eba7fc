// Bytes as text, and text that is not.

import Testing

@testable import Sealing

@Suite("Spelling of bytes")
struct SpellingTests {
    @Test("every length comes back from hexadecimal and both kinds of base64", arguments: 0..<70)
    func roundTrip(length: Int) {
        let bytes = Random.bytes(length)
        #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes)
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }

    @Test("base64 for addresses uses its own digits and no padding")
    func addresses() {
        #expect(Base64.encode([0xfb, 0xff, 0xfe, 0xff]) == "+//+/w==")
        #expect(Base64URL.encode([0xfb, 0xff, 0xfe, 0xff]) == "-__-_w")
    }

    @Test("other spellings of the same bytes are refused", arguments: ["a", "Zh", "Zg", "Zg=", "Zg==\n", " Zg==", "Z*==", "Zg==Zg==", "é"])
    func base64(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("padding, mail digits and leftover bits are refused in addresses", arguments: ["Zg==", "+/8", "Zh", "a", "Z g"])
    func base64URL(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("half a byte and foreign digits are refused", arguments: ["a", "0g", "0 ", "é", "0x"])
    func hexadecimal(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}
