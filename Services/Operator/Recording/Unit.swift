// Units that recordings use, and how their numbers become numbers of the registry's unit.

/// `registry value = number × scale + offset`.
struct UnitConversion: Hashable, Sendable {
    var unit: String
    var scale = 1.0
    var offset = 0.0

    func callAsFunction(_ number: Double) -> Double {
        // A number that is already in the right unit stays bit for bit what the file has.
        scale == 1 && offset == 0 ? number : number * scale + offset
    }

    /// The conversion from a unit as a header writes it (`mmHg`, `kph`, `°F`, in lower case) to a metric's UCUM unit; nil where
    /// the two do not measure the same thing.
    static func from(_ written: String, to ucum: String) -> UnitConversion? {
        guard let (kind, unit, scale, offset) = known[written], kind.contains(ucum) else { return nil }
        if let special = specials[Pair(written: written, ucum: ucum)] { return special }
        return UnitConversion(unit: unit, scale: scale, offset: offset)
    }

    /// Whether a header's last word is a unit at all, so that the words before it are the name.
    static func isUnit(_ word: String) -> Bool { known[word] != nil }

    private struct Pair: Hashable {
        var written: String
        var ucum: String
    }

    private static let specials: [Pair: UnitConversion] = [
        // 1 mmol of glucose weighs 180.156 mg.
        Pair(written: "mmoll", ucum: "mg/dL"): UnitConversion(unit: "mmol/L", scale: 18.0156)
    ]

    private static let known: [String: (to: Set<String>, unit: String, scale: Double, offset: Double)] = [
        "bpm": (["/min"], "/min", 1, 0), "pm": (["/min"], "/min", 1, 0), "rpm": (["/min"], "/min", 1, 0),
        "spm": (["/min"], "/min", 1, 0), "min": (["/min"], "/min", 1, 0), "brpm": (["/min"], "/min", 1, 0),
        "hz": (["/min"], "Hz", 60, 0),
        "mmhg": (["mm[Hg]"], "mm[Hg]", 1, 0), "kpa": (["mm[Hg]"], "kPa", 7.500_616_827, 0),
        "%": (["%"], "%", 1, 0), "percent": (["%"], "%", 1, 0), "pct": (["%"], "%", 1, 0),
        "c": (["Cel"], "Cel", 1, 0), "cel": (["Cel"], "Cel", 1, 0), "celsius": (["Cel"], "Cel", 1, 0), "degc": (["Cel"], "Cel", 1, 0),
        "f": (["Cel"], "[degF]", 5.0 / 9, -160.0 / 9), "fahrenheit": (["Cel"], "[degF]", 5.0 / 9, -160.0 / 9),
        "degf": (["Cel"], "[degF]", 5.0 / 9, -160.0 / 9),
        "mv": (["mV"], "mV", 1, 0), "uv": (["mV"], "uV", 0.001, 0),
        "mgdl": (["mg/dL"], "mg/dL", 1, 0), "mmoll": (["mg/dL"], "mmol/L", 1, 0),
        "kg": (["kg"], "kg", 1, 0), "lb": (["kg"], "[lb_av]", 0.453_592_37, 0), "lbs": (["kg"], "[lb_av]", 0.453_592_37, 0),
        "cm": (["cm"], "cm", 1, 0),
        "m": (["m"], "m", 1, 0), "km": (["m"], "km", 1000, 0), "mi": (["m"], "[mi_i]", 1609.344, 0), "ft": (["m"], "[ft_i]", 0.3048, 0),
        "mps": (["m/s"], "m/s", 1, 0), "ms": (["m/s"], "m/s", 1, 0), "kmh": (["m/s"], "km/h", 1 / 3.6, 0),
        "kph": (["m/s"], "km/h", 1 / 3.6, 0), "mph": (["m/s"], "[mi_i]/h", 0.447_04, 0),
        "kcal": (["kcal"], "kcal", 1, 0), "cal": (["kcal"], "kcal", 1, 0), "kj": (["kcal"], "kJ", 1 / 4.184, 0),
        "s": (["s"], "s", 1, 0), "skm": (["s/km"], "s/km", 1, 0), "minkm": (["s/km"], "min/km", 60, 0),
        "deg": (["deg"], "deg", 1, 0), "degrees": (["deg"], "deg", 1, 0),
    ]
}
