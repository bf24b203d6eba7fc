// Comma-separated values, in and out, as RFC 4180 has them.

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

    @Test("A fault names its line")
    func faults() {
        #expect(throws: CSVFault.strayQuote(line: 2)) { try Self.read("a\nb\"c") }
        #expect(throws: CSVFault.unterminatedQuote(line: 1)) { try Self.read("\"a\n\n") }
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
}
