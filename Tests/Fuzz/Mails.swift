// Fuzz target: mails made of any text. No text adds a header, ends the data or leaves ASCII; only plain addresses are taken.
// decoders: Shared/Outbound/Mail/MailAddress.swift Shared/Outbound/Mail/HeaderText.swift Shared/Outbound/Mail/QuotedPrintable.swift Shared/Outbound/Mail/MailMessage.swift

import Contracts

private let from = MailAddress("trackme@suite.example")
private let to = MailAddress("anna@example.org")
private let headers = 11

@_cdecl("fuzzMails")
package func fuzzMails(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    if let read = MailAddress(text) {
        precondition(
            read.text == text && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") })
    }
    guard let from, let to else { preconditionFailure("plain addresses are none") }
    let message = MailMessage(
        id: text, at: Timestamp(milliseconds: 1_768_005_060_000), from: from, fromName: text, to: to, subject: text, text: text,
        language: text)
    let encoded = message.encoded()
    var lines: [[UInt8]] = [[]]
    var index = encoded.startIndex
    while index < encoded.endIndex {
        if encoded[index] == UInt8(ascii: "\r") {
            precondition(index + 1 < encoded.endIndex && encoded[index + 1] == UInt8(ascii: "\n"), "a bare carriage return")
            lines.append([])
            index += 2
        } else {
            precondition(encoded[index] != UInt8(ascii: "\n") && encoded[index] < 0x80, "a bare line feed, or no ASCII")
            lines[lines.count - 1].append(encoded[index])
            index += 1
        }
    }
    precondition(
        lines.allSatisfy { $0.count <= 998 && $0.first != UInt8(ascii: ".") }, "a line that is too long or begins with a full stop")
    let head = lines.prefix { !$0.isEmpty }.filter { $0.first != UInt8(ascii: " ") }
    precondition(head.count == headers, "a header was added")
    return 0
}
