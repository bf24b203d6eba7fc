// The hand-written scanner against Foundation's decoder, on texts made at random from a seed.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Ingest

/// An entry as Foundation reads it.
private struct PlainEntry: Decodable {
    var type: String
    var at: String
    var value: Double?
    var unit: String?
    var position: Position?
}

@Suite struct EntryScannerDifferentialTests {
    private static let numbers = [
        "0", "-0", "1", "60", "72.5", "73.28125", "1e2", "1.5E+2", "125e-1", "0.1", "100.60000000000002", "179.99999999999997", "5e-324",
        "1e22", "123456789012345678901234567890e-28", "2.2250738585072014e-308", "9007199254740993e-14", "38.7533578", "-9.2605908",
    ]

    private static func string(_ generator: inout SeededGenerator, _ plain: String) -> String {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: "\"" + plain.unicodeScalars.map { "\\u" + String(format: "%04x", $0.value) }.joined() + "\""
        default: "\"\(plain)\""
        }
    }

    private static func space(_ generator: inout SeededGenerator) -> String {
        ["", "", "", " ", "\n", "\t \r"].randomElement(using: &generator) ?? ""
    }

    private static func filler(_ generator: inout SeededGenerator, depth: Int = 0) -> String {
        let choices = ["null", "true", "false", "\"\\ud83d\\ude00 \\\\ \\\" é 漢\"", "{}", "[]"] + numbers
        guard depth < 4, Bool.random(using: &generator) else { return choices.randomElement(using: &generator) ?? "0" }
        let inner = (0..<Int.random(in: 0...3, using: &generator)).map { _ in filler(&generator, depth: depth + 1) }
        return Bool.random(using: &generator)
            ? "[" + inner.joined(separator: space(&generator) + ",") + "]"
            : "{" + inner.enumerated().map { "\"k\($0.offset)\":\($0.element)" }.joined(separator: ",") + "}"
    }

    private static func entry(_ generator: inout SeededGenerator) -> String {
        let number = { (generator: inout SeededGenerator) in numbers.randomElement(using: &generator) ?? "1" }
        let type =
            ["heart-rate", "position", "cuff-blood-pressure-mean", "body-temperature", "heartrate"].randomElement(using: &generator) ?? ""
        let time = Timestamp(milliseconds: Int64.random(in: 0...1_795_262_500_000, using: &generator)).rfc3339
        var members = [string(&generator, "type") + ":" + string(&generator, type), "\"at\":" + string(&generator, time)]
        if Int.random(in: 0..<8, using: &generator) > 0 { members.append("\"value\":" + number(&generator)) }
        if Bool.random(using: &generator) {
            members.append(
                "\"position\":{\"latitude\":\(number(&generator)),\"longitude\":\(number(&generator)),\"altitude\":\(number(&generator))}")
        }
        if Int.random(in: 0..<4, using: &generator) == 0 { members.append("\"unit\":\"/min\"") }
        for index in 0..<Int.random(in: 0...2, using: &generator) { members.append("\"x\(index)\":" + filler(&generator)) }
        members.shuffle(using: &generator)
        return "{" + space(&generator) + members.joined(separator: "," + space(&generator)) + space(&generator) + "}"
    }

    /// What the rules say of an entry that Foundation read.
    private static func judge(_ entry: PlainEntry) -> Sample? {
        guard let metric = Metric(code: entry.type), let at = Timestamp(rfc3339: entry.at), at.milliseconds > 0,
            at <= Scan.now + .seconds(60), entry.unit.map({ $0 == metric.definition.unit }) ?? true,
            entry.position?.isOnEarth ?? true
        else { return nil }
        if metric == .position {
            guard entry.value == nil, entry.position != nil else { return nil }
        } else {
            guard let value = entry.value, metric.definition.possible.contains(value) else { return nil }
        }
        return Sample(type: metric, at: at, value: entry.value, position: entry.position)
    }

    @Test("Valid texts give what JSONDecoder and the rules give, to the last bit", arguments: [1, 2, 3, 4, 5] as [UInt64])
    func sameSamples(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<120 {
            let text = "[" + (0..<5).map { _ in Self.entry(&generator) }.joined(separator: ",") + "]"
            let decoded = try JSONDecoder().decode([PlainEntry].self, from: Data(text.utf8)).map(Self.judge)
            let upload = try Scan.document(text)
            #expect(upload.samples == decoded.compactMap { $0 }, "\(text)")
            #expect(upload.indexes.map(Int.init) == decoded.indices.filter { decoded[$0] != nil })
            #expect(upload.count == decoded.count)
        }
    }

    @Test("A damaged text is JSON for both or for neither", arguments: [11, 12, 13, 14] as [UInt64])
    func sameVerdict(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("{}[]\",:\\0123456789eE+-.tfnu /\u{1}".utf8) + [0x80, 0xC3, 0xFF]
        for _ in 0..<1500 {
            var bytes = Array("[\(Self.entry(&generator))]".utf8)
            for _ in 0...Int.random(in: 0...1, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes[place] = alphabet.randomElement(using: &generator) ?? 0
                default: bytes.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
                }
            }
            let foundation = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            let scanned = bytes.withUnsafeBytes { bytes in
                do throws(UploadFault) {
                    _ = try Scan.scanner.scan(document: bytes)
                    return true
                } catch {
                    return error == .notEntries
                }
            }
            #expect(scanned == foundation || Self.isKnownDifference(bytes), "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    /// Foundation refuses numbers beyond Double's range, and takes a comma before the closing brace, which RFC 8259 does not.
    private static func isKnownDifference(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains(/[eE]\+?[0-9]{3,}/) || text.contains(/,[ \t\r\n]*}/)
    }
}
