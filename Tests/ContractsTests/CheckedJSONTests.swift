// What comes from outside is bounded before a decoder sees it, and costs time in proportion to its bytes.

import Contracts
import Foundation
import TestKit
import Testing

@Suite("JSON from outside", .serialized)
struct CheckedJSONTests {
    private func fault(_ text: String, from source: CheckedJSON.Source = .stranger) -> JSONFault? {
        Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONFault) {
                try CheckedJSON.check(bytes, from: source)
                return nil
            } catch {
                return error
            }
        }
    }

    private func nested(_ depth: Int) -> String {
        String(repeating: "[{\"a\":", count: depth / 2) + "1" + String(repeating: "}]", count: depth / 2)
    }

    @Test("X1: 32 arrays and objects inside one another are read, one more is refused at its bracket")
    func depth() {
        #expect(fault(nested(32)) == nil)
        #expect(fault("[" + nested(32) + "]")?.kind == .tooDeep)
        #expect(fault(String(repeating: "[", count: 33)) == JSONFault(kind: .tooDeep, offset: 32))
        #expect(fault("{\"a\":" + nested(32) + "}")?.kind == .tooDeep)
        #expect(fault("[" + String(repeating: "[[]],", count: 1000) + "1]") == nil, "what has closed does not count")
    }

    @Test(
        "X1: a name that stands twice in one object is refused, however it is written; in two objects it is not",
        arguments: [
            ("{\"a\":1,\"a\":2}", 8), ("{\"a\":1,\"\\u0061\":2}", 8), ("[{\"b\":{}},{\"a\":{\"b\":1},\"c\":1,\"a\":0}]", 30),
            ("{\"\":1,\"\":1}", 7), ("{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"10\":0,\"9\":0}", 63),
            ("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}", nil),
        ] as [(String, Int?)])
    func names(text: String, offset: Int?) {
        #expect(fault(text) == offset.map { JSONFault(kind: .repeatedName, offset: $0) })
    }

    @Test("X1: a name of 256 bytes is read, a longer one is refused")
    func longNames() {
        #expect(fault("{\"" + String(repeating: "n", count: 256) + "\":1}") == nil)
        #expect(fault("{\"" + String(repeating: "n", count: 257) + "\":1}") == JSONFault(kind: .longName, offset: 2))
    }

    @Test("X1: texts with more than 30 combining marks in a row are refused from strangers, and passed on within the suite")
    func marks() {
        func text(_ marks: Int, _ mark: String = "\u{301}") -> String { "[\"a" + String(repeating: mark, count: marks) + "b\"]" }
        #expect(fault(text(30)) == nil && fault(text(31))?.kind == .unsafeText)
        #expect(fault(text(31, "\\u0301"))?.kind == .unsafeText, "escaped they are the same")
        #expect(fault(text(31, "\u{F73}"))?.kind == .unsafeText, "starters that are taken apart into marks count")
        #expect(fault(text(31), from: .suite) == nil)
        #expect(fault("[\"" + String(repeating: "क्षि é Việt นี้ 각 👩‍👩‍👧 ", count: 100) + "\"]") == nil, "what languages write is read")
    }

    @Test(
        "What is not JSON is refused with its place",
        arguments: [
            ("", JSONFault.Kind.unexpectedEnd, 0), ("[1,]", .unexpectedByte, 3), ("{\"a\" 1}", .unexpectedByte, 5),
            ("{1:2}", .unexpectedByte, 1),
            ("[1 2]", .unexpectedByte, 3), ("{\"a\":1]", .unexpectedByte, 6), ("[1}", .unexpectedByte, 2), ("nul", .unexpectedEnd, 3),
            ("01", .badNumber, 0), ("1.", .unexpectedEnd, 2), ("\"\\x\"", .badEscape, 1), ("\"\\ud800\"", .badEscape, 1),
            ("\"a\nb\"", .controlCharacter, 2), ("1 1", .trailingBytes, 2), ("[[1],", .unexpectedEnd, 5), ("]", .unexpectedByte, 0),
        ])
    func grammar(text: String, kind: JSONFault.Kind, offset: Int) {
        #expect(fault(text) == JSONFault(kind: kind, offset: offset))
    }

    @Test("The check agrees with Foundation's reader about what JSON is, on 20,000 texts that are nearly JSON")
    func differential() {
        var generator = SeededGenerator(seed: 12)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-0.5e3", "true", "null", " ", "\"\\n\"", "\"\\", "tru", "é", "1.",
        ]
        for _ in 0..<20_000 {
            let text = (0...Int.random(in: 0..<9, using: &generator)).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }
            .joined()
            let foundation = (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
            let fault = fault(text)
            #expect((fault == nil || fault?.kind == .repeatedName) == foundation, "\(text)")
        }
    }

    @Test("A tree says what the text says")
    func tree() throws {
        let text = #" {"a":[1,-2.5,true,null,"x\né"],"b":{"c":{}},"d":1e999} "#
        let tree = try JSONTree(Array(text.utf8))
        #expect(tree["a"] == .list([.number(1), .number(-2.5), .flag(true), .null, .text("x\né")]))
        #expect(tree["b"] == .fields(["c": .fields([:])]) && tree["d"] == .number(.infinity) && tree["e"]["f"] == .null)
        #expect(tree["a"].items.first?.integer == 1 && tree["a"].items.last?.text == "x\né" && tree["a"].text == nil)
    }

    @Test("X1: 3 KB of 511 objects in objects kept a service busy for 1.4 s: they are refused for what their bytes are worth")
    func nestedObjects() {
        let bytes = Array((String(repeating: "{\"a\":", count: 511) + "1" + String(repeating: "}", count: 511)).utf8)
        let budget = ProcessorBudget()
        let spent = (0..<3).map { _ in ProcessorBudget.time { _ = try? bytes.withUnsafeBytes { try CheckedJSON.check($0) } } }.min() ?? 0
        #expect(spent <= budget.most(forBytes: bytes.count), "\(spent / 1000) µs for \(bytes.count) bytes")
    }

    /// Seen red on commit 5d3ab80: the decoder that it stands before took 1.4 s over 3 KB of objects in objects, and six seconds over
    /// a name of 80,000 combining marks.
    @Test(
        "X1: no body keeps the check or the tree busy for more than its bytes are worth, and twice as much takes no more than thrice",
        arguments: HostileBody.all)
    func linear(_ hostile: HostileBody) {
        let budget = ProcessorBudget()
        func time(_ bytes: [UInt8]) -> Double {
            (0..<3).map { _ in
                ProcessorBudget.time {
                    _ = try? bytes.withUnsafeBytes { try CheckedJSON.check($0) }
                    _ = try? JSONTree(bytes)
                    _ = try? CheckedJSON.decode([String: [String]].self, from: bytes)
                }
            }.min() ?? 0
        }
        let (once, twice) = (hostile.bytes(100_000), hostile.bytes(200_000))
        let (first, second) = (time(once), time(twice))
        #expect(
            second <= budget.most(forBytes: twice.count), "\(second / 1000) µs for \(twice.count) bytes, \(budget.slowness) times slower")
        // What is refused at its beginning takes no time that could be compared.
        #expect(second < 3 * first + 1e6 * budget.slowness)
    }
}
