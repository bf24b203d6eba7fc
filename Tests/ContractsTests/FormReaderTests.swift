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

    @Test(
        "G7: what would show as something else than it is has a fault of its field: directions turned, invisible marks, control characters",
        arguments: [
            "Rossi\u{202E}ires", "a\u{202A}b", "a\u{202D}b\u{202C}", "a\u{2066}b\u{2069}", "a\u{2067}b", "a\u{2068}b", "pay\u{200B}pal",
            "a\u{FEFF}b", "a\u{AD}b", "a\u{2060}b", "\u{E0041}\u{E0042}", "a\u{0}b", "a\u{1B}[2Jb", "a\u{7F}b", "a\u{85}b", "a\u{2028}b",
            "a\u{2029}b",
            "a\u{FFFF}b", "a\u{E000}b", "a\u{FFF9}b",
        ])
    func disguised(text: String) {
        #expect(read(text).text == nil && read(text).faults == ["/name"])
        #expect(!PlainText.isClean(text))
    }

    @Test(
        "G7: every script's own writing is taken",
        arguments: ["Zoë O’Neill", "می\u{200C}خواهم", "👩\u{200D}⚕️", "क्\u{200D}ष", "שלום\u{200F}!", "山田 太郎", "3 µg/l ± 5 %"])
    func scripts(text: String) {
        #expect(read(text).text == text)
    }

    @Test("G7: a text of several lines may have them, a name may not")
    func lines() {
        #expect(PlainText.isClean("one\r\n\ttwo") && !PlainText.isClean("one\ntwo", ofOneLine: true))
        #expect(read("one\ntwo").faults == ["/name"])
    }

    @Test("200 characters bound the bytes too: a few of them with a book of combining marks are refused")
    func combiningMarks() {
        let tower = "a" + String(repeating: "\u{300}", count: 100_000)
        #expect(tower.count == 1)
        #expect(read(tower).text == nil && read(tower).faults == ["/name"])
        #expect(read(String(repeating: "a\u{300}\u{300}\u{300}\u{300}", count: FormReader.longestText)).faults == ["/name"])
    }
}
