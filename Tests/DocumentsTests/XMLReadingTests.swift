// What comes in as XML: bounded, without document types, its text as it was written.

import Foundation
import Testing

@testable import Documents

@Suite struct XMLReadingTests {
    /// Writes down what it is told.
    private final class Notes: XMLHandler {
        var lines: [String] = []

        func opened(_ tag: XMLTag) {
            let attributes = tag.attributes.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            lines.append("<\(tag.name)\(attributes)>\(tag.namespace)")
        }

        func closed(_ name: String, text: String) {
            lines.append("</\(name)>\(text)")
        }
    }

    private static func read(_ text: String, limits: XMLLimits = XMLLimits()) throws(XMLFault) -> [String] {
        let notes = Notes()
        try XMLReading.read(Array(text.utf8), limits: limits, into: notes)
        return notes.lines
    }

    @Test("Elements come in order, with names, namespaces, attributes and text")
    func elements() throws {
        let read = try Self.read(
            """
            <?xml version="1.0" encoding="UTF-8"?><!-- one --><a:x xmlns:a="urn:a" k="1 &amp; &#x32;"><y>à &lt;<![CDATA[&]]></y></a:x>
            """)
        #expect(read == ["<x k=1 & 2>urn:a", "<y>", "</y>à <&", "</x>"])
    }

    @Test("A document type is refused before anything of it is looked at, entities and files with it")
    func documentTypes() {
        let bombs = [
            "<!DOCTYPE x><x/>", "<?xml version=\"1.0\"?>\n<!-- a --> <!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>",
            "<!DOCTYPE x SYSTEM \"file:///etc/passwd\"><x/>", "\u{FEFF}<!DOCTYPE x><x/>",
            "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]><x>&b;</x>",
        ]
        for bomb in bombs {
            #expect(throws: XMLFault.documentType, "\(bomb)") { try Self.read(bomb) }
        }
        #expect(throws: XMLFault.self) { try Self.read("<x>&unknown;</x>") }
        #expect(throws: XMLFault.self) { try Self.read("<x><!DOCTYPE y></x>") }
    }

    @Test("Processing instructions, which the library does not survive without content, are refused wherever they stand")
    func instructions() throws {
        for text in [
            "<?a?><x/>", "<x><?a?></x>", "<?xml?><x/>", "<?xml version=\"1.0\"?><?a b?><x/>", "<x/><?a?>", " <?xml version=\"1.0\"?><x/>",
        ] {
            #expect(throws: XMLFault.processingInstruction, "\(text)") { try Self.read(text) }
        }
        #expect(try Self.read("<?xml\tversion=\"1.0\"?><x/>") == ["<x>", "</x>"])
    }

    @Test("Other encodings, which could hide a document type, are refused")
    func encodings() throws {
        #expect(throws: XMLFault.notUTF8) { try Self.read("<?xml version=\"1.0\" encoding=\"UTF-16\"?><x/>") }
        #expect(throws: XMLFault.notUTF8) { try Self.read("<?xml version=\"1.0\" encoding='utf-7'?><x/>") }
        let wide = Array("<x/>".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(throws: XMLFault.notUTF8) { try XMLReading.read([0xFF, 0xFE] + wide, into: Notes()) }
        #expect(throws: XMLFault.notUTF8) { try XMLReading.read([UInt8(ascii: "<"), 0xC3, UInt8(ascii: ">")], into: Notes()) }
        #expect(try Self.read("<?xml version=\"1.0\" encoding=\"US-ASCII\"?><x/>") == ["<x>", "</x>"])
    }

    @Test("Size, depth, attributes and text have limits, each named")
    func limits() throws {
        var limits = XMLLimits()
        limits.bytes = 100
        limits.depth = 3
        limits.attributes = 2
        limits.text = 10
        #expect(throws: XMLFault.tooLarge(limit: 100)) {
            try Self.read("<x>" + String(repeating: "y", count: 100) + "</x>", limits: limits)
        }
        #expect(throws: XMLFault.tooDeep(line: 1)) { try Self.read("<a><a><a><a/></a></a></a>", limits: limits) }
        #expect(throws: XMLFault.tooManyAttributes(line: 2)) { try Self.read("<a>\n<a b='' c='' d=''/></a>", limits: limits) }
        #expect(throws: XMLFault.textTooLong(line: 1)) { try Self.read("<a>12345678901</a>", limits: limits) }
        #expect(try Self.read("<a><a><a/></a></a>", limits: limits).count == 6)
        let deep = String(repeating: "<a>", count: 100_000)
        #expect(throws: XMLFault.tooDeep(line: 1)) { try Self.read(deep) }
    }

    @Test(
        "What is no whole document is refused",
        arguments: ["", " ", "x", "<", "<a>", "<a></b>", "<a/><b/>", "<a b=c/>", "<!-- a", "<?xml ?>", "<a>&#0;</a>", "<a>&#xFFFE;</a>"])
    func malformed(text: String) {
        #expect(throws: XMLFault.self) { try Self.read(text) }
    }

    @Test("What is written is read back, whatever characters it has")
    func roundTrip() throws {
        let words = ["", "a<b>&\"'", "  à\n\t\r ", "]]>", "😀 & co", "-->", "\u{1}\u{FFFE}"]
        for word in words {
            var writer = XMLWriter()
            writer.open("x", [("k", word)])
            writer.leaf("y", word)
            writer.finish()
            let notes = Notes()
            try XMLReading.read(writer.take(), into: notes)
            let expected = word.replacing("\u{1}", with: "\u{FFFD}").replacing("\u{FFFE}", with: "\u{FFFD}")
            #expect(
                notes.lines == ["<x k=\(expected)>", "<y>", "</y>\(expected)", "</x>\n"]
                    || notes.lines == ["<x k=\(expected)>", "<y>", "</y>\(expected)", "</x>"], "\(word.debugDescription)")
        }
    }
}
