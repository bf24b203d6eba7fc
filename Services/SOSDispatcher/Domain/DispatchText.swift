// A message as one text: at most 160 characters that every telephone knows, in the spelling of Advanced Mobile Location.

import Contracts

/// `SOS1;i=…;…;ml=…`, described in `docs/integrators/text.md`. Names, values and length are for programs; people can read it too.
struct DispatchText: Hashable, Sendable {
    static let longest = 160
    static let version = "SOS1"

    let text: String

    init(_ message: DispatchMessage, code: String) {
        let reference = String(message.emergencyId.dropFirst("emg_".count))
        var fields = [
            ("i", reference), ("q", String(message.seq)), ("m", DispatchText.kind(message.msgType)), ("a", code),
            ("t", DispatchText.time(message.sent)),
        ]
        if message.status != .actual { fields.append(("s", message.status.rawValue)) }
        if message.worse != nil { fields.append(("x", "W")) }
        fields += DispatchText.place(message.location)
        // The first to go where there is no room.
        let (what, value) = DispatchText.danger(in: message)
        let further = [
            ("k", DispatchText.shortCodes[what] ?? what), ("v", value.map(DispatchText.written)), ("n", message.subject.telephone),
        ].compactMap { name, value in value.map { (name, $0) } }
        text =
            (0...further.count).lazy.reversed()
            .map { DispatchText.joined(fields + further.suffix($0)) }
            .first { $0.utf8.count <= DispatchText.longest } ?? DispatchText.joined(Array(fields.prefix(5)))
    }

    /// What the message is about, and its value where it has one: what is worse, else what it began with.
    private static func danger(in message: DispatchMessage) -> (what: String, value: Double?) {
        if let worse = message.worse?.first {
            return (worse.parameter, message.parameters.first { $0.metric == worse.parameter && $0.side == worse.side }?.value)
        }
        return (message.trigger.threshold?.metric ?? message.trigger.kind, message.trigger.threshold?.value)
    }

    /// `ml` counts everything, itself included.
    private static func joined(_ fields: [(String, String)]) -> String {
        let text = version + fields.map { ";\($0.0)=\(clean($0.1))" }.joined() + ";ml="
        let length = text.utf8.count + 2
        return text + String(length < 100 ? length : length + 1)
    }

    private static let shortCodes = [
        "heart-rate": "hr", "pulse-rate": "pr", "blood-pressure-max": "bpmax", "blood-pressure-min": "bpmin", "oxygen-saturation": "spo2",
        "body-temperature": "temp", "glucose": "glu", "respiration-rate": "rr",
    ]

    private static func kind(_ kind: DispatchMessage.Kind) -> String {
        switch kind {
        case .alert: "A"
        case .update: "U"
        case .cancel: "C"
        }
    }

    /// `pm=N` and zeros say that no place is known.
    private static func place(_ location: DispatchMessage.Location) -> [(String, String)] {
        guard let latitude = location.lat, let longitude = location.lon else {
            return [("lt", degrees(0, 2)), ("lg", degrees(0, 3)), ("rd", "N"), ("pm", "N")]
        }
        var fields = [("lt", degrees(latitude, 2)), ("lg", degrees(longitude, 3))]
        fields.append(("rd", location.accuracyM.map { String(Int64(min(99_999, max(0, $0.rounded(.up))))) } ?? "N"))
        fields.append(("pm", "G"))
        if let age = location.ageS { fields.append(("ag", String(min(9_999_999, max(0, age))))) }
        return fields
    }

    /// `+45.50000`: five decimals, so many digits before them.
    private static func degrees(_ value: Double, _ digits: Int) -> String {
        let units = Int64((abs(value) * 100_000).rounded())
        let (whole, rest) = (String(units / 100_000), String(units % 100_000))
        return (value < 0 ? "-" : "+") + String(repeating: "0", count: max(0, digits - whole.count)) + whole + "."
            + String(repeating: "0", count: 5 - rest.count) + rest
    }

    /// `20260101120000`, UTC.
    private static func time(_ rfc3339: String) -> String {
        String(rfc3339.prefix(19).filter(\.isNumber))
    }

    private static func written(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? String((value * 10).rounded() / 10)
    }

    /// Characters of the basic alphabet that mean nothing here.
    private static func clean(_ value: String) -> String {
        String(
            String.UnicodeScalarView(
                value.unicodeScalars.filter {
                    $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "+-.".unicodeScalars.contains($0))
                }))
    }
}
