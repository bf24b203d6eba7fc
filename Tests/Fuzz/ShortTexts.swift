// Fuzz target: values of any text in an SMS. It stays one, and in the alphabet.
// decoders: Services/Notifier/Domain/ShortText.swift Services/Notifier/Domain/MessageText.swift Services/Notifier/Domain/*Texts.swift

import Contracts

@_cdecl("fuzzShortTexts")
package func fuzzShortTexts(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    for template in [MessageTemplate.requestReceived, .announcement] {
        var values: [String: String] = [:]
        for name in template.values { values[name] = text }
        let message = RenderedMessage(template, in: .italian, values: values, origin: "")
        guard let septets = ShortText.septets(message.short) else { preconditionFailure("a character outside the alphabet") }
        precondition(septets <= ShortText.mostSeptets, "more than one SMS")
        precondition(!message.push.contains("{") && !message.title.contains("{"))
    }
    return 0
}
