// Continuous glucose readings as Nightscout and its uploaders exchange them: the entries of its API v1.

import Contracts
import Foundation
import HTTPKit

/// One entry; what is not read here (trend, noise, raw values) is skipped.
private struct NightscoutEntry: Decodable {
    /// `sgv` is a reading of the sensor, `mbg` one of a meter; `cal` and others are no measurements.
    var type: String?
    /// Milliseconds since 1970.
    var date: Double?
    var dateString: String?
    /// mg/dL, both.
    var sgv: Double?
    var mbg: Double?

    var at: Timestamp? {
        if let date, let whole = Int64(exactly: date.rounded()) { return Timestamp(milliseconds: whole) }
        return dateString.flatMap { Timestamp(rfc3339: $0) }
    }
}

/// An item of the array whose form may be wrong without hurting the others.
private struct Attempt: Decodable {
    let entry: NightscoutEntry?

    init(from decoder: any Decoder) throws {
        entry = try? NightscoutEntry(from: decoder)
    }
}

extension MakerSource {
    /// Sensor values below this are codes of the sensor's own faults, not glucose.
    private static let leastSensorGlucose = 39.0

    static let nightscout = MakerSource(
        name: "nightscout", described: "Nightscout API v1, `entries` (cgm-remote-monitor, swagger.yaml)", metrics: [.glucose],
        schema: .array(
            of: .object(
                .optional("type", .string(), "`sgv` and `mbg` are taken, others passed over."),
                .optional("date", .number(), "Milliseconds since 1970."),
                .optional("dateString", .string(), "ISO 8601, if there is no date."),
                .optional("sgv", .number(), "Of the sensor, mg/dL."), .optional("mbg", .number(), "Of a meter, mg/dL.")),
            count: 0...UploadLimits.entries
        ).named("NightscoutEntries"),
        example: [["type": "sgv", "date": 1_768_005_060_000, "dateString": "2026-01-10T00:31:00.000Z", "sgv": 123, "direction": "Flat"]],
        read: readNightscout)

    private static func readNightscout(
        _ bytes: UnsafeRawBufferPointer, _ rules: EntryRules
    ) throws(UploadFault) -> ScannedUpload {
        if let fault = UploadFault.ofText(bytes) { throw fault }
        guard let items = try? JSONDecoder().decode([Attempt].self, from: Data(bytes)) else { throw .notEntries }
        guard items.count <= UploadLimits.entries else { throw .tooManyEntries }
        var document = MakerDocument(rules: rules)
        for item in items { take(item.entry, into: &document) }
        return document.upload
    }

    private static func take(_ entry: NightscoutEntry?, into document: inout MakerDocument) {
        guard let entry else { return document.refuse(.notAnObject) }
        // Early uploaders left the type out and sent readings only.
        let (value, isSensor): (Double?, Bool) =
            switch entry.type {
            case "sgv", nil: (entry.sgv, true)
            case "mbg": (entry.mbg, false)
            default: (nil, false)
            }
        switch entry.type {
        case "sgv", "mbg", nil: break
        default: return document.pass()
        }
        guard let value else { return document.refuse(.missing(.value)) }
        guard let at = entry.at else { return document.refuse(.missing(.at)) }
        guard !isSensor || value >= leastSensorGlucose else { return document.refuse(.impossibleValue(.glucose)) }
        document.take(.glucose, at: at, value: value)
    }
}
