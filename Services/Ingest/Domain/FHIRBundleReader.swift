// Observations of FHIR R4 as entries: from a Bundle of any sender, one resource after the other, nothing kept of the rest.

import Contracts
import Foundation

/// Why an Observation is no entry here.
enum FHIRFault: Hashable, Sendable {
    case unreadable
    /// No code that the registry knows.
    case unknownCode(named: String?)
    /// Neither `effectiveDateTime` nor `effectiveInstant` with date, time and offset.
    case noTime
    /// Entered in error, cancelled, or not there yet.
    case notFinal
    case noValue
    case wrongUnit(Metric)

    /// What a person reads.
    var detail: String {
        switch self {
        case .unreadable: "The resource is not an Observation of FHIR R4 as far as it is read here."
        case .unknownCode(let name): "There is no metric for the code \(name ?? "of this resource"); GET /ingest/v1/metrics lists them."
        case .noTime: "effectiveDateTime must hold date, time and offset."
        case .notFinal: "Its status says that it does not hold (entered-in-error, cancelled, registered, unknown)."
        case .noValue: "It has no valueQuantity."
        case .wrongUnit(let metric): "\(metric.code) is measured in \(metric.definition.unit) (UCUM)."
        }
    }

    /// The kebab-case name behind `urn:trackme:problem:`.
    var name: String {
        switch self {
        case .unknownCode: "unknown-metric"
        case .wrongUnit: "wrong-unit"
        case .unreadable, .noTime, .notFinal, .noValue: "malformed-entry"
        }
    }
}

/// Takes a whole Bundle, or one Observation, apart. Each resource is decoded by itself, so that memory holds the text and one of them.
enum FHIRBundleReader {
    enum Reading: Hashable, Sendable {
        /// Not yet judged by the rules that every entry must keep.
        case sample(Sample)
        case refused(FHIRFault)
    }

    /// Gives `each` what became of every Observation, with the place of its resource in the Bundle; other resources are skipped.
    /// - Throws: `JSONFault` where the text is not JSON that is read (`CheckedJSON`); `NotABundle` where it is no Bundle and no Observation.
    static func read(_ bytes: UnsafeRawBufferPointer, _ each: (_ index: Int, Reading) -> Void) throws {
        try CheckedJSON.check(bytes)
        var cursor = JSONCursor(bytes, range: 0..<bytes.count)
        var entries: [Range<Int>]?
        var isObservation = false
        try cursor.members { name, cursor throws(JSONFault) in
            switch cursor.string(name) {
            case "entry": entries = try cursor.places()
            case "resourceType" where cursor.peek() == UInt8(ascii: "\""):
                isObservation = cursor.string(try cursor.text()) == "Observation"
            default: try cursor.skipValue(depth: 1)
            }
        }
        if isObservation {
            for reading in readings(bytes, 0..<bytes.count) ?? [] { each(0, reading) }
            return
        }
        guard let entries else { throw NotABundle() }
        for (index, range) in entries.enumerated() {
            var inner = JSONCursor(bytes, range: range)
            guard inner.peek() == UInt8(ascii: "{") else {
                each(index, .refused(.unreadable))
                continue
            }
            var resource: Range<Int>?
            try inner.members { name, cursor throws(JSONFault) in
                let from = cursor.at
                try cursor.skipValue(depth: 1)
                if cursor.string(name) == "resource" { resource = from..<cursor.at }
            }
            for reading in resource.flatMap({ readings(bytes, $0) }) ?? [] { each(index, reading) }
        }
    }

    struct NotABundle: Error {}

    /// `nil` for a resource that is no Observation.
    private static func readings(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> [Reading]? {
        let data = Data(bytes[range])
        let decoder = JSONDecoder()
        guard let kind = try? decoder.decode(FHIRKind.self, from: data) else { return [.refused(.unreadable)] }
        guard kind.resourceType == "Observation" else { return nil }
        guard let observation = try? decoder.decode(FHIRObservation.self, from: data) else { return [.refused(.unreadable)] }
        return observation.readings
    }
}

extension JSONCursor {
    /// Those of an array's elements.
    fileprivate mutating func places() throws(JSONFault) -> [Range<Int>] {
        var places: [Range<Int>] = []
        try elements { cursor throws(JSONFault) in
            let from = cursor.at
            try cursor.skipValue(depth: 2)
            places.append(from..<cursor.at)
        }
        return places
    }
}

/// Which resource it is.
private struct FHIRKind: Decodable {
    var resourceType: String
}

/// As much of an Observation as becomes an entry.
struct FHIRObservation: Decodable {
    struct Coding: Decodable {
        var system: String?
        var code: String?
    }

    struct Concept: Decodable {
        var coding: [Coding]?

        var metric: Metric? {
            let codings = coding ?? []
            let own = codings.lazy.filter { $0.system == FHIRCodes.metrics }.compactMap { $0.code }
            if let metric = own.compactMap({ Metric(code: $0) }).first { return metric }
            return codings.lazy.filter { $0.system == FHIRCodes.loinc }.compactMap { $0.code }.compactMap { FHIRCodes.byLOINC[$0] }.first
        }

        /// Named in the answer where it is like a code.
        var named: String? {
            coding?.compactMap(\.code).first { $0.utf8.count <= 40 && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 } }
        }

        func part() -> FHIRCodes.Part? {
            coding?.first { $0.system == FHIRCodes.metrics }?.code.flatMap { FHIRCodes.Part(rawValue: $0) }
        }
    }

    struct Quantity: Decodable {
        var value: Double?
        var system: String?
        var code: String?
        var unit: String?

        /// Judged by the UCUM code, else by the unit's text.
        func isIn(unitOf metric: Metric) -> Bool {
            guard system == nil || system == FHIRCodes.ucum, let written = code ?? unit else { return false }
            return MetricCatalogue.registry.isUnit(of: metric, written)
        }
    }

    struct Component: Decodable {
        var code: Concept
        var valueQuantity: Quantity?
    }

    struct Extension: Decodable {
        var url: String
        var valueDecimal: Double?
        var `extension`: [Extension]?
    }

    var status: String?
    var code: Concept
    var effectiveDateTime: String?
    var effectiveInstant: String?
    var valueQuantity: Quantity?
    var component: [Component]?
    var `extension`: [Extension]?
}

extension FHIRObservation {
    private static let holding: Set<String> = ["final", "amended", "corrected", "preliminary"]

    /// One for a single value or a position, one a component for a panel.
    var readings: [FHIRBundleReader.Reading] {
        guard Self.holding.contains(status ?? "") else { return [.refused(.notFinal)] }
        guard let at = (effectiveDateTime ?? effectiveInstant).flatMap({ Timestamp(rfc3339: $0) }) else { return [.refused(.noTime)] }
        if code.metric == .position { return [position(at)] }
        if let metric = code.metric { return [value(of: metric, valueQuantity, at)] }
        let parts = (component ?? []).filter { $0.code.metric != nil }
        guard !parts.isEmpty else { return [.refused(.unknownCode(named: code.named))] }
        return parts.compactMap { part in part.code.metric.map { value(of: $0, part.valueQuantity, at) } }
    }

    private func value(of metric: Metric, _ quantity: Quantity?, _ at: Timestamp) -> FHIRBundleReader.Reading {
        guard let quantity, let value = quantity.value else { return .refused(.noValue) }
        guard quantity.isIn(unitOf: metric) else { return .refused(.wrongUnit(metric)) }
        return .sample(Sample(type: metric, at: at, value: value, position: place))
    }

    private func position(_ at: Timestamp) -> FHIRBundleReader.Reading {
        func part(_ name: FHIRCodes.Part) -> Double? {
            (component ?? []).first { $0.code.part() == name }?.valueQuantity?.value
        }
        guard let latitude = part(.latitude), let longitude = part(.longitude) else { return .refused(.noValue) }
        let place = Position(latitude: latitude, longitude: longitude, altitude: part(.altitude), accuracy: part(.accuracy))
        return .sample(Sample(type: .position, at: at, value: nil, position: place))
    }

    /// Where it was measured, by this suite's extension.
    private var place: Position? {
        guard let parts = `extension`?.first(where: { $0.url == FHIRCodes.position })?.extension else { return nil }
        func part(_ name: FHIRCodes.Part) -> Double? { parts.first { $0.url == name.rawValue }?.valueDecimal }
        guard let latitude = part(.latitude), let longitude = part(.longitude) else { return nil }
        return Position(latitude: latitude, longitude: longitude, altitude: part(.altitude), accuracy: part(.accuracy))
    }
}
