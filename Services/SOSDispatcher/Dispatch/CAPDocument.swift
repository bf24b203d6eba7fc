// Messages as OASIS CAP 1.2 documents, and what integrators answer in that form.

import Contracts
import Documents
import Foundation

enum CAPDocument {
    static let contentType = "application/cap+xml"
    static let namespace = "urn:oasis:names:tc:emergency:cap:1.2"

    /// The same message gives the same bytes.
    /// - Parameters:
    ///   - earlier: the emergency's messages before it, for `references`.
    ///   - name: the integrator's, for `addresses`.
    static func render(_ message: OutboxMessage, earlier: [OutboxMessage], to name: String) throws -> [UInt8] {
        let decoder = JSONDecoder()
        let said = try decoder.decode(DispatchMessage.self, from: Data(message.body))
        let before = try earlier.suffix(8).map { try decoder.decode(DispatchMessage.self, from: Data($0.body)) }
        var writer = XMLWriter()
        writer.open("alert", [("xmlns", namespace)])
        writer.leaf("identifier", said.messageId)
        writer.leaf("sender", sender(said))
        writer.leaf("sent", time(said.sent))
        writer.leaf("status", said.status.rawValue.capitalized)
        writer.leaf("msgType", said.msgType.rawValue.capitalized)
        writer.leaf("source", said.sender.system)
        writer.leaf("scope", "Private")
        writer.leaf("addresses", name)
        if let code = said.ack.code { writer.leaf("code", "ack:\(code)") }
        if let note = said.reason.map({ "\($0.by): \($0.answer)" }) ?? said.takenBy.map({ "taken by \($0)" }) { writer.leaf("note", note) }
        if !before.isEmpty {
            writer.leaf("references", before.map { "\(sender($0)),\($0.messageId),\(time($0.sent))" }.joined(separator: " "))
        }
        writer.leaf("incidents", said.emergencyId)
        writeInfo(said, &writer)
        writer.finish()
        return writer.take()
    }

    private static func writeInfo(_ said: DispatchMessage, _ writer: inout XMLWriter) {
        writer.open("info")
        writer.leaf("language", "en")
        writer.leaf("category", "Health")
        writer.leaf("event", "Medical emergency")
        writer.leaf("responseType", said.msgType == .cancel ? "AllClear" : "Assess")
        writer.leaf("urgency", said.urgency.capitalized)
        writer.leaf("severity", said.severity == DispatchMessage.worse ? "Extreme" : said.severity.capitalized)
        writer.leaf("certainty", said.certainty.capitalized)
        writer.leaf("onset", time(said.firstBreachAt))
        writer.leaf("expires", time(said.expires))
        writer.leaf("senderName", said.sender.organisation)
        writer.leaf("headline", said.headline)
        if let notes = said.subject.medicalNotes { writer.leaf("description", notes) }
        if let contact = said.subject.telephone ?? said.sender.contact { writer.leaf("contact", contact) }
        for (name, value) in parameters(said) {
            writer.open("parameter")
            writer.leaf("valueName", name)
            writer.leaf("value", value)
            writer.close()
        }
        writeArea(said.location, &writer)
        writer.close()
    }

    /// What CAP has no element for, by the names of the JSON.
    private static func parameters(_ said: DispatchMessage) -> [(String, String)] {
        var parameters = [
            ("seq", String(said.seq)), ("firstBreachAt", said.firstBreachAt), ("decidedAt", said.decidedAt),
            ("subject.pid", said.subject.pid), ("ack.url", said.ack.url), ("ack.deadline", said.ack.deadline),
            ("location.method", said.location.method), ("location.trusted", String(said.location.trusted)),
        ]
        let optional: [(String, String?)] = [
            ("ack.code", said.ack.code), ("firstTriedAt", said.firstTriedAt), ("takenBy", said.takenBy),
            ("subject.name", said.subject.name),
            ("subject.telephone", said.subject.telephone),
            ("subject.language", said.subject.language), ("subject.birthYear", said.subject.birthYear.map(String.init)),
            ("subject.sex", said.subject.sex), ("location.measuredAt", said.location.measuredAt),
            ("location.ageS", said.location.ageS.map(String.init)), ("location.accuracyM", said.location.accuracyM.map(written)),
            ("location.altitudeM", said.location.altitudeM.map(written)), ("location.address", said.location.address?.text),
        ]
        parameters += optional.compactMap { name, value in value.map { (name, $0) } }
        parameters += said.location.previous.map {
            ("location.previous", "\(written($0.lat)),\(written($0.lon)) \($0.measuredAt)")
        }
        parameters += (said.worse ?? []).map { ("worse", [$0.parameter, $0.side].compactMap(\.self).joined(separator: " ")) }
        parameters.append(("trigger", said.trigger.kind))
        if let threshold = said.trigger.threshold { parameters.append(("trigger.threshold", passed(threshold))) }
        if let since = said.trigger.silentSince { parameters.append(("trigger.silentSince", since)) }
        parameters += said.parameters.map { ("parameter", passed($0)) }
        parameters += said.vitals.map { ("vital", "\($0.code) \(written($0.value)) \($0.unit) \($0.at)") }
        return parameters
    }

    private static func passed(_ threshold: DispatchMessage.PassedThreshold) -> String {
        "\(threshold.metric) \(written(threshold.value)) \(threshold.unit) \(threshold.side) \(written(threshold.limit)) \(threshold.at)"
    }

    private static func writeArea(_ location: DispatchMessage.Location, _ writer: inout XMLWriter) {
        writer.open("area")
        if let latitude = location.lat, let longitude = location.lon {
            let doubt = location.trusted ? "" : ", not current or not accurate"
            writer.leaf("areaDesc", "Last known position, measured \(location.measuredAt ?? "at an unknown time")\(doubt)")
            writer.leaf("circle", "\(written(latitude)),\(written(longitude)) \(written((location.accuracyM ?? 0) / 1000))")
        } else if let address = location.address {
            writer.leaf("areaDesc", "No position is known. Home address from the profile: \(address.text)")
        } else {
            writer.leaf("areaDesc", "No position is known")
        }
        writer.close()
    }

    /// Without exponents, which CAP does not know.
    private static func written(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return String(whole) }
        var text = String(format: "%.6f", value)
        while text.hasSuffix("0") { text.removeLast() }
        return text
    }

    /// Unique to this installation: its public host.
    private static func sender(_ said: DispatchMessage) -> String {
        "sos@" + (URL(string: said.ack.url)?.host ?? "localhost")
    }

    /// CAP knows neither fractions of seconds nor `Z`.
    static func time(_ rfc3339: String) -> String {
        rfc3339.prefix(19) + "+00:00"
    }

    // MARK: Answers

    /// A CAP `Ack` accepts, an `Error` rejects, with its `note` for the reason. nil for any other document.
    static func acknowledgement(_ bytes: [UInt8]) -> Acknowledgement? {
        anyAcknowledgement(bytes).flatMap { $0.isComplete ? $0 : nil }
    }

    /// As `acknowledgement`, complete or not.
    static func anyAcknowledgement(_ bytes: [UInt8]) -> Acknowledgement? {
        guard bytes.first(where: { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }) == UInt8(ascii: "<") else { return nil }
        var limits = XMLLimits()
        limits.bytes = 64 << 10
        limits.depth = 8
        let reader = Reader()
        guard (try? XMLReading.read(bytes, limits: limits, into: reader)) != nil, reader.isAlert else { return nil }
        let result: Acknowledgement.Result
        switch reader.values["msgType"] {
        case "Ack": result = .accepted
        case "Error": result = .rejected
        default: return nil
        }
        let referred = (reader.values["references"] ?? "").split(whereSeparator: \.isWhitespace).map {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        guard let last = referred.last, last.count == 3, let identifier = reader.values["identifier"] else { return nil }
        return Acknowledgement(messageId: String(last[1]), result: result, ackId: identifier, reason: reader.values["note"])
    }

    /// As of `AcknowledgementBody`.
    static func acknowledgementFault(in bytes: [UInt8]) -> String? {
        if let given = anyAcknowledgement(bytes) { return given.faultsInWords }
        return bytes.firstRange(of: namespace.utf8) == nil ? nil : "not CAP of the msgType Ack or Error with identifier and references"
    }

    /// The leaves right under `alert`.
    private final class Reader: XMLHandler {
        private(set) var isAlert = false
        private(set) var values: [String: String] = [:]
        private var depth = 0

        func opened(_ tag: XMLTag) {
            if depth == 0 { isAlert = tag.name == "alert" && tag.namespace == CAPDocument.namespace }
            depth += 1
        }

        func closed(_ name: String, text: String) {
            depth -= 1
            guard depth == 1, values[name] == nil else { return }
            values[name] = text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}
