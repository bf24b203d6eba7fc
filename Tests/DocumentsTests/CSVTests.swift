// Comma-separated values, in and out, as RFC 4180 has them.

import TestKit
import Testing

@testable import Documents

@Suite struct CSVTests {
    private static func read(_ text: String) throws(CSVFault) -> [[String]] {
        var reader = CSVReader(Array(text.utf8))
        var records: [[String]] = []
        while let record = try reader.next() { records.append(record.fields) }
        return records
    }

    @Test("Quotes, line ends of every kind and a byte-order mark are understood")
    func reading() throws {
        #expect(try Self.read("\u{FEFF}a,b\r\n\"1,\"\"2\"\"\n3\",\n\nx,y") == [["a", "b"], ["1,\"2\"\n3", ""], ["x", "y"]])
        #expect(try Self.read("") == [])
        var reader = CSVReader(Array("a\n\"b\nc\"\nd".utf8))
        _ = try reader.next()
        #expect(try reader.next()?.line == 2)
        #expect(try reader.next()?.line == 4)
    }

    @Test(
        "Records are read as they were written; a comma at the very end opens a last, empty field",
        arguments: [
            ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]), ("a,b\r\n1,2", [["a", "b"], ["1", "2"]]), ("a,\n,b\n", [["a", ""], ["", "b"]]),
            ("\"a,b\",\"c\"\"d\"\n", [["a,b", "c\"d"]]), ("\"a\nb\",c\n", [["a\nb", "c"]]), ("\u{FEFF}a\n\n\nb\n", [["a"], ["b"]]),
            ("\"\"\n", [[""]]), ("a\rb\r", [["a"], ["b"]]), ("a,", [["a", ""]]),
        ] as [(String, [[String]])])
    func lineEnds(text: String, expected: [[String]]) throws {
        #expect(try Self.read(text) == expected)
    }

    @Test("A fault names its line, and its text nothing of the contents")
    func faults() {
        #expect(throws: CSVFault.strayQuote(line: 2)) { try Self.read("a\nb\"c") }
        #expect(throws: CSVFault.strayQuote(line: 1)) { try Self.read("\"a\"b\n") }
        #expect("\(CSVFault.strayQuote(line: 2))" == "line 2: a quote inside an unquoted field, or text after a closing quote")
        #expect("\(CSVFault.fieldTooLong(line: 7))" == "line 7: a field of more than 65536 bytes")
        #expect(throws: CSVFault.unterminatedQuote(line: 1)) { try Self.read("\"a\n\n") }
        #expect(throws: CSVFault.unterminatedQuote(line: 2)) { try Self.read("a\n\"b\nc") }
        #expect(throws: CSVFault.tooManyFields(line: 1)) { try Self.read(String(repeating: ",", count: 2000)) }
        #expect(throws: CSVFault.fieldTooLong(line: 1)) { try Self.read(String(repeating: "x", count: 70_000)) }
        var reader = CSVReader([0x61, 0x0A, 0xFF])
        #expect(throws: CSVFault.notUTF8(line: 2)) {
            _ = try reader.next()
            _ = try reader.next()
        }
    }

    @Test("What is written is read back, whatever stands in a field")
    func roundTrip() throws {
        let records = [["a", "", "b,c"], ["\"", "\r\n", "x\ny"], ["=1+1", " ", "à"]]
        var bytes: [UInt8] = []
        for record in records { CSVWriter.append(record, to: &bytes) }
        #expect(try Self.read(String(decoding: bytes, as: UTF8.self)) == records)
    }

    @Test("No input crashes it", arguments: 0..<500 as Range<UInt64>)
    func anyBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("\",\r\n a1é\u{FEFF}".utf8) + [0xFF]
        var reader = CSVReader((0..<Int(random.next() % 200)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] })
        while (try? reader.next()) != nil {}
    }
}
