// A form's texts: bounded as people count and as memory does.

import Testing

@testable import Contracts

@Suite("Form reader")
struct FormReaderTests {
    private func read(_ text: String) -> (text: String?, faults: [String]) {
        var reader = FormReader(.fields(["name": .text(text)]))
        let read = reader.text("name")
        return (read, reader.faults.map(\.pointer))
    }

    @Test(
        "a text of as many characters as allowed is taken, in any script",
        arguments: ["a", "à", "a\u{300}", "字", "😀", "\u{64}\u{323}\u{307}"])
    func longest(letter: String) {
        let text = String(repeating: letter, count: FormReader.longestText)
        #expect(read(text).text == text)
        #expect(read(text + "a").faults == ["/name"])
    }

    @Test("200 characters bound the bytes too: a few of them with a book of combining marks are refused")
    func combiningMarks() {
        let tower = "a" + String(repeating: "\u{300}", count: 100_000)
        #expect(tower.count == 1)
        #expect(read(tower).text == nil && read(tower).faults == ["/name"])
        #expect(read(String(repeating: "a\u{300}\u{300}\u{300}\u{300}", count: FormReader.longestText)).faults == ["/name"])
    }
}
