// The registry's entries. Numbers are for ever: append, never renumber. Ranges are what a body or a device can possibly show,
// not what is healthy; pressures, rates and saturations exclude 0, which sensors send when they are off or disconnected.

// One entry a line, so that it reads as the table it is.
// swift-format-ignore
let metricTable: [MetricDefinition] = [
    scalar(1, "heart-rate", loinc: "8867-4", "/min", aboveZero...350, 0, vital: true, watched: true, bounds: Bounds(low: 45, high: 120), severe: Bounds(low: 35, high: 160), "Heart rate", "Frequenza cardiaca"),
    scalar(2, "blood-pressure-max", loinc: "8480-6", "mm[Hg]", 1...400, 0, vital: true, watched: true, bounds: Bounds(low: nil, high: 170), severe: Bounds(low: nil, high: 180), "Blood pressure, maximum", "Pressione massima"),
    scalar(3, "blood-pressure-min", loinc: "8462-4", "mm[Hg]", 1...300, 0, vital: true, watched: true, bounds: Bounds(low: nil, high: 100), severe: Bounds(low: nil, high: 120), "Blood pressure, minimum", "Pressione minima"),
    scalar(4, "oxygen-saturation", loinc: "59408-5", vitalSign: "2708-6", "%", 1...100, 0, vital: true, severe: Bounds(low: 80, high: nil), "Blood oxygen", "Ossigeno nel sangue"),
    scalar(5, "body-temperature", loinc: "8310-5", "Cel", 10...50, 1, vital: true, "Body temperature", "Temperatura corporea"),
    scalar(6, "electrocardiogram", "mV", -20...20, 3, vital: true, "Electrocardiogram", "Elettrocardiogramma"),
    scalar(7, "myocardial-signal", "mV", -20...20, 3, vital: true, "Myocardial signal", "Segnale miocardico"),
    scalar(8, "glucose", loinc: "2339-0", "mg/dL", 1...2000, 0, onDemand: true, "Glucose", "Glicemia"),
    scalar(9, "weight", loinc: "29463-7", "kg", 0.2...700, 1, onDemand: true, "Weight", "Peso"),
    scalar(10, "height", loinc: "8302-2", "cm", 10...300, 0, onDemand: true, "Height", "Altezza"),
    MetricDefinition(
        number: 11, code: "position", shape: .position, loinc: nil, vitalSign: nil, unit: "deg", possible: -180...180, precision: 5, vital: false,
        watchedByDefault: false, bounds: nil, severe: nil, isOnDemand: false, english: "Position", italian: "Posizione"),
    scalar(12, "distance", loinc: "55430-3", "m", 0...1_000_000, 0, "Distance", "Distanza"),
    scalar(13, "pace", "s/km", 0...36_000, 0, "Pace", "Passo"),
    scalar(14, "calories", loinc: "41981-2", "kcal", 0...50_000, 0, "Calories", "Calorie"),
    event(15, "shaking", "Repetitive shaking motion", "Scuotimento ripetuto"),
    scalar(16, "pulse-rate", loinc: "8889-8", "/min", aboveZero...350, 0, vital: true, "Pulse rate", "Frequenza del polso"),
    scalar(17, "respiration-rate", loinc: "9279-1", "/min", 1...150, 0, vital: true, "Respiration rate", "Frequenza respiratoria"),
    scalar(18, "blood-pressure-mean", loinc: "8478-0", "mm[Hg]", 1...350, 0, vital: true, "Blood pressure, mean", "Pressione media"),
    scalar(19, "cuff-blood-pressure-max", loinc: "76534-7", "mm[Hg]", 1...400, 0, onDemand: true, "Blood pressure by cuff, maximum", "Pressione massima al bracciale"),
    scalar(20, "cuff-blood-pressure-min", loinc: "76535-4", "mm[Hg]", 1...300, 0, onDemand: true, "Blood pressure by cuff, minimum", "Pressione minima al bracciale"),
    scalar(21, "cuff-blood-pressure-mean", loinc: "76536-2", "mm[Hg]", 1...350, 0, onDemand: true, "Blood pressure by cuff, mean", "Pressione media al bracciale"),
    scalar(22, "speed", "m/s", 0...150, 1, "Speed", "Velocità"),
    scalar(23, "cadence", "/min", 0...400, 0, "Cadence", "Cadenza"),
    event(24, "help", "Call for help", "Richiesta di aiuto"),
    event(25, "fall", "Fall", "Caduta"),
    scalar(26, "acceleration", "[g]", 0...100, 2, "Acceleration", "Accelerazione"),
]

/// ING-08 takes every heart rate greater than 0: a dying heart beats less than once a minute before it stops.
private let aboveZero = MetricDefinition.aboveZero

/// Something that happened; its number is how many seconds it lasted.
private func event(_ number: UInt8, _ code: String, _ english: String, _ italian: String) -> MetricDefinition {
    MetricDefinition(
        number: number, code: code, shape: .event, loinc: nil, vitalSign: nil, unit: "s", possible: 0...3600, precision: 0, vital: false,
        watchedByDefault: false, bounds: nil, severe: nil, isOnDemand: false, english: english, italian: italian)
}

private func scalar(
    _ number: UInt8, _ code: String, loinc: String? = nil, vitalSign: String? = nil, _ unit: String, _ possible: ClosedRange<Double>,
    _ precision: Int, vital: Bool = false, watched: Bool = false, onDemand: Bool = false, bounds: Bounds? = nil, severe: Bounds? = nil,
    _ english: String, _ italian: String
) -> MetricDefinition {
    MetricDefinition(
        number: number, code: code, shape: .scalar, loinc: loinc, vitalSign: vitalSign, unit: unit, possible: possible,
        precision: precision, vital: vital, watchedByDefault: watched, bounds: bounds, severe: severe, isOnDemand: onDemand,
        english: english, italian: italian)
}

extension Metric {
    package static let heartRate = registered(1)
    package static let bloodPressureMax = registered(2)
    package static let bloodPressureMin = registered(3)
    package static let oxygenSaturation = registered(4)
    package static let bodyTemperature = registered(5)
    package static let electrocardiogram = registered(6)
    package static let myocardialSignal = registered(7)
    package static let glucose = registered(8)
    package static let position = registered(11)
    package static let distance = registered(12)
    package static let shaking = registered(15)
    package static let pulseRate = registered(16)
    package static let respirationRate = registered(17)
    package static let help = registered(24)
    package static let fall = registered(25)
    package static let acceleration = registered(26)

    private static func registered(_ number: UInt8) -> Metric {
        guard let metric = Metric(number: number) else { preconditionFailure("metric \(number) is not in the table") }
        return metric
    }
}
