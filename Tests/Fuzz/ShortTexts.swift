// Fuzz target: values of any text in an SMS. It stays one, and in the alphabet, or three of UCS-2 where a name needs it.
// decoders: Services/Notifier/Domain/ShortText.swift Services/Notifier/Domain/MessageText.swift Services/Notifier/Domain/*Texts.swift

import Contracts

@_cdecl("fuzzShortTexts")
package func fuzzShortTexts(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    for template in [MessageTemplate.requestReceived, .announcement] {
        var values: [String: String] = [:]
        for name in template.values { values[name] = text }
        let message = RenderedMessage(template, in: .italian, values: values, origin: "")
        if let septets = ShortText.septets(message.short) {
            precondition(septets <= ShortText.mostSeptets, "more than one SMS")
        } else {
            precondition(template == .requestReceived, "a character outside the alphabet, and no name")
            precondition(message.short.utf16.count <= ShortText.mostUnits, "more than three SMS")
        }
        precondition(!message.push.contains("{") && !message.title.contains("{"))
    }
    return 0
}
