// RFC 4180 and its neighbours.

import Testing

@testable import Operator

@Suite("CSVReader")
struct CSVReaderTests {
    private func records(_ text: String) throws -> [[String]] {
        var reader = CSVReader(Array(text.utf8))
        var records: [[String]] = []
        while let record = try reader.next() { records.append(record.fields) }
        return records
    }

    @Test(
        "records are read as they were written",
        arguments: [
            ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]), ("a,b\r\n1,2", [["a", "b"], ["1", "2"]]), ("a,\n,b\n", [["a", ""], ["", "b"]]),
            ("\"a,b\",\"c\"\"d\"\n", [["a,b", "c\"d"]]), ("\"a\nb\",c\n", [["a\nb", "c"]]), ("\u{FEFF}a\n\n\nb\n", [["a"], ["b"]]),
            ("", []),
            ("\"\"\n", [[""]]), ("a\rb\r", [["a"], ["b"]]), ("a,", [["a", ""]]),
        ] as [(String, [[String]])])
    func reads(text: String, expected: [[String]]) throws {
        // A trailing comma at the very end of a file opens a last, empty field.
        #expect(try records(text) == expected)
    }

    @Test("a broken file says where it is broken")
    func faults() {
        #expect(throws: CSVError.strayQuote(line: 2)) { try records("a\nb\"c\n") }
        #expect(throws: CSVError.strayQuote(line: 1)) { try records("\"a\"b\n") }
        #expect(throws: CSVError.unterminatedQuote(line: 2)) { try records("a\n\"b\nc") }
        #expect(throws: CSVError.fieldTooLong(line: 1)) { try records(String(repeating: "x", count: CSVReader.fieldBytes + 1)) }
        #expect(throws: CSVError.tooManyFields(line: 1)) { try records(String(repeating: ",", count: CSVReader.fields)) }
        var reader = CSVReader([0x61, 0xFF])
        #expect(throws: CSVError.notUTF8(line: 1)) { try reader.next() }
    }

    @Test("no input crashes it", arguments: 0..<500 as Range<UInt64>)
    func anyBytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array("\",\r\n a1é\u{FEFF}".utf8) + [0xFF]
        var reader = CSVReader((0..<Int(random.next() % 200)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] })
        while (try? reader.next()) != nil {}
    }
}
