// Names that FHIR R4 and this suite's own extension of it use for what is measured.

package enum FHIRCodes {
    package static let loinc = "http://loinc.org"
    package static let ucum = "http://unitsofmeasure.org"
    package static let category = "http://terminology.hl7.org/CodeSystem/observation-category"
    /// This suite's own codes of metrics; stand beside LOINC's where there is one.
    package static let metrics = "urn:trackme:metric"
    /// An extension of Observation: where it was measured.
    package static let position = "urn:trackme:fhir:position"
    /// LOINC's panel of which 8480-6 and 8462-4 are the components.
    package static let pressurePanel = "85354-9"

    /// Parts of a position, in this suite's own codes.
    package enum Part: String, CaseIterable, Sendable {
        case latitude, longitude, altitude, accuracy

        /// UCUM.
        package var unit: String {
            switch self {
            case .latitude, .longitude: "deg"
            case .altitude, .accuracy: "m"
            }
        }
    }

    /// Of HL7's observation categories.
    package static func category(of metric: Metric) -> (code: String, display: String) {
        switch metric.code {
        case "glucose": ("laboratory", "Laboratory")
        case "weight", "height": ("vital-signs", "Vital Signs")
        // Electrodiagnostics are no vital signs to HL7, however vital they are here.
        case "electrocardiogram", "myocardial-signal": ("procedure", "Procedure")
        default: metric.definition.vital ? ("vital-signs", "Vital Signs") : ("activity", "Activity")
        }
    }

    /// The LOINC codes of a metric, that of its vital-signs profile first.
    package static func loincs(of metric: Metric) -> [String] {
        [metric.definition.vitalSign, metric.definition.loinc].compactMap(\.self)
    }

    /// Understood but not written: LOINC has no code for the voltage of an electrocardiogram, and that of the study (11524-6) is what
    /// others, and this suite's earlier exports, put in its place.
    private static let alsoRead = [("11524-6", Metric.electrocardiogram)]

    /// Every code that is understood. Of metrics that share a code the one with the lower number.
    package static let byLOINC: [String: Metric] = Dictionary(
        Metric.all.flatMap { metric in loincs(of: metric).map { ($0, metric) } } + alsoRead
    ) { first, _ in first }
}
