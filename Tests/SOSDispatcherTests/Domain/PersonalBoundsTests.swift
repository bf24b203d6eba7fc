// Bounds fitted to a history: the rule of CON-27, its limits, and what is not enough.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Personalised bounds")
struct PersonalBoundsTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let defaults: [Metric: Bounds] = [
        .heartRate: Bounds(low: 45, high: 120), .bloodPressureMax: Bounds(low: nil, high: 170),
        .bloodPressureMin: Bounds(low: nil, high: 100),
    ]

    /// Minutes of `days` days, each with this mean, least and greatest.
    private static func minutes(
        days: Int, perDay: Int = 30, _ value: (_ index: Int) -> (least: Double, mean: Double, greatest: Double)
    ) -> [HistoryMinute] {
        (0..<days * perDay).map { index in
            let at = now - .seconds(Int64(days - index / perDay) * 86_400 - Int64(index % perDay) * 60)
            let (least, mean, greatest) = value(index)
            return HistoryMinute(at: at, least: least, mean: mean, greatest: greatest, count: 60)
        }
    }

    private static func fit(
        _ minutes: [HistoryMinute], _ metric: Metric = .heartRate, _ rules: PersonalRules = PersonalRules()
    ) -> PersonalFit {
        PersonalFit([metric: minutes], defaults: defaults, rules: rules, at: now)
    }

    @Test(
        "SOS-07, CON-27: mean ± 4 standard deviations, never further than 20 % from the default, inside the operator's limits",
        arguments: [
            // Means alternate by ± spread, so that the deviation is the spread.
            (75, 6, 51, 99), (75, 5, 54, 96), (75, 10, 36, 115), (75, 12, 36, 123), (75, 30, 36, 144), (60, 1, 54, 96), (100, 10, 54, 140),
        ] as [(Double, Double, Double, Double)])
    func rule(mean: Double, spread: Double, low: Double, high: Double) {
        let minutes = Self.minutes(days: 30) { index in
            let value = mean + (index.isMultiple(of: 2) ? spread : -spread)
            return (value, value, value)
        }
        #expect(Self.fit(minutes).bounds[.heartRate] == Bounds(low: low, high: high))
    }

    @Test("SOS-07: no personalised bound lies outside what the operator holds safe, whatever the history says")
    func safe() {
        var rules = PersonalRules()
        rules.safe = [.heartRate: Bounds(low: 42, high: 125), .bloodPressureMax: Bounds(low: nil, high: 150)]
        let wild = Self.minutes(days: 30) { index in index.isMultiple(of: 2) ? (30, 30, 30) : (200, 200, 200) }
        #expect(Self.fit(wild, .heartRate, rules).bounds[.heartRate] == Bounds(low: 42, high: 125))
        let high = Self.minutes(days: 30) { _ in (180, 190, 200) }
        #expect(Self.fit(high, .bloodPressureMax, rules).bounds[.bloodPressureMax] == Bounds(low: nil, high: 150))
    }

    @Test(
        "SOS-07, MYD-09: with too little history the defaults stay, and the days that there are are told",
        arguments: [(0, 30, 0), (1, 500, 1), (9, 100, 9), (10, 5, 10)])
    func tooLittle(days: Int, perDay: Int, told: Int) {
        let fit = Self.fit(Self.minutes(days: days, perDay: perDay) { _ in (70, 75, 80) })
        #expect(fit.bounds.isEmpty && !fit.isEnough && fit.days == told)
        #expect(Self.fit(Self.minutes(days: 10, perDay: 6) { _ in (70, 75, 80) }).isEnough, "ten days with an hour in all are enough")
    }

    @Test("CON-27: a metric without a default stays off, and so does a side without one")
    func withoutDefault() {
        let history = Self.minutes(days: 30) { _ in (90, 95, 99) }
        #expect(Self.fit(history, .oxygenSaturation).bounds.isEmpty)
        let pressure = Self.fit(Self.minutes(days: 30) { _ in (110, 120, 130) }, .bloodPressureMax).bounds[.bloodPressureMax]
        #expect(pressure?.low == nil && pressure?.high != nil)
    }

    @Test("The spread out of minutes is never smaller than that of the entries, and equal where minutes hold one entry")
    func spread() throws {
        var random = SystemRandomNumberGenerator()
        for seed in 0..<200 {
            var (entries, minutes): ([Double], [HistoryMinute]) = ([], [])
            for minute in 0..<50 {
                let count = seed.isMultiple(of: 2) ? 1 : Int.random(in: 1...60, using: &random)
                let values = (0..<count).map { _ in Double.random(in: 40...180, using: &random) }
                entries += values
                minutes.append(
                    HistoryMinute(
                        at: Self.now + .seconds(Int64(minute) * 60), least: values.min() ?? 0, mean: values.reduce(0, +) / Double(count),
                        greatest: values.max() ?? 0, count: count))
            }
            let mean = entries.reduce(0, +) / Double(entries.count)
            let deviation = (entries.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(entries.count)).squareRoot()
            let spread = try #require(Spread(minutes))
            #expect(abs(spread.mean - mean) < 1e-9)
            #expect(spread.deviation >= deviation - 1e-9)
            if seed.isMultiple(of: 2) { #expect(abs(spread.deviation - deviation) < 1e-9) }
        }
        #expect(Spread([]) == nil)
    }
}

@Suite("What AutomatedSOS needs of devices")
struct AbilityTests {
    @Test(
        "SOS-02, SOS-34, CON-26: one parameter with a bound in force, in real time, and one source of positions, from any devices; what is missing is named",
        arguments: [
            ([], [.vitalParameter, .positionSource]), ([(["heart-rate"], 1000)], [.positionSource]),
            ([(["position"], 1000)], [.vitalParameter]), ([(["heart-rate", "position"], 1000)], []),
            ([(["oxygen-saturation"], nil), (["position", "distance"], 900_000)], [.vitalParameter]),
            ([(["heart-rate", "position"], 60_000)], []), ([(["heart-rate", "position"], 60_001)], [.vitalParameter]),
            ([(["glucose", "weight", "position"], 1000)], [.vitalParameter]),
        ] as [([([String], Int64?)], [NeededAbility])])
    func missing(devices: [([String], Int64?)], missing: [NeededAbility]) {
        let abilities = devices.map { ReadAbilities.Ability(metrics: $0.0.compactMap { Metric(code: $0) }, intervalMs: $0.1) }
        #expect(NeededAbility.missing(in: abilities) { Thresholds(own: [:], rules: SupervisionRules()).watches($0) } == missing)
    }

    @Test("R3, SOS-34: temperature alone joined, although nothing of it has a threshold: it does with a bound of the person's own")
    func temperatureAlone() {
        let thermometer = [ReadAbilities.Ability(metrics: [.bodyTemperature, .position], intervalMs: 1000)]
        func missing(_ own: [Metric: Bounds]) -> [NeededAbility] {
            NeededAbility.missing(in: thermometer) { Thresholds(own: own, rules: SupervisionRules()).watches($0) }
        }
        #expect(missing([:]) == [.vitalParameter])
        #expect(missing([.bodyTemperature: Bounds(low: 34, high: nil)]) == [])
    }
}

@Suite("Emergency contacts")
struct EmergencyContactTests {
    private static func contact(_ number: Int) -> EmergencyContact {
        EmergencyContact(id: "ctc_\(number)", name: "Somebody", telephone: "+39055000\(1000 + number)", email: nil, language: .italian)
    }

    @Test(
        "SOS-22: what was typed in is a contact, or every wrong field is named",
        arguments: [
            ("Anna Bianchi", "+39 055 123456", nil, []), (" Anna  Bianchi ", "055 1234567", "anna@example.org", []),
            ("", "055 1234567", nil, ["/name"]), ("Anna", "12", nil, ["/telephone"]), ("Anna", "+0551234567", nil, ["/telephone"]),
            ("Anna", "telephone", nil, ["/telephone"]), ("Anna", "0551234567", "anna", ["/email"]),
            ("Anna\nBcc", "0551234567", "a@b@c", ["/name", "/email"]), ("Anna", "0551234567", "anna@example", ["/email"]),
            (String(repeating: "a", count: 101), "0551234567", nil, ["/name"]),
        ] as [(String, String, String?, [String])])
    func form(name: String, telephone: String, email: String?, wrong: [String]) {
        let form = ContactForm(name: name, telephone: telephone, email: email, language: nil)
        #expect(form.faults(in: .italy).map(\.pointer) == wrong)
        let contact = form.contact("ctc_1", in: .italy, language: .english)
        #expect((contact == nil) == !wrong.isEmpty)
        if let contact { #expect(contact.name == "Anna Bianchi" && contact.telephone.hasPrefix("+39055") && contact.language == .english) }
    }

    @Test("SOS-22: at most ten, each number once, in the order that the person wants")
    func list() throws {
        var list: [EmergencyContact] = []
        for number in 0..<EmergencyContact.most { list = try ContactList.adding(Self.contact(number), to: list) }
        #expect(throws: ContactList.Fault.full) { try ContactList.adding(Self.contact(99), to: list) }
        var again = Self.contact(0)
        again.id = "ctc_x"
        let (few, double) = (Array(list.prefix(3)), again)
        #expect(throws: ContactList.Fault.twice) { try ContactList.adding(double, to: few) }
        let order = list.map(\.id).reversed() as [String]
        #expect(try ContactList.ordered(order, of: list).map(\.id) == order)
        let wrongs: [[String]] = [[], Array(order.dropFirst()), Array(order.dropFirst()) + [order[1]], order + ["ctc_x"]]
        for wrong in wrongs {
            #expect(throws: ContactList.Fault.notTheSame) { try ContactList.ordered(wrong, of: list) }
        }
        #expect(throws: ContactList.Fault.unknown) { try ContactList.removing("ctc_x", from: list) }
        #expect(try ContactList.removing("ctc_3", from: list).count == EmergencyContact.most - 1)
        var changed = Self.contact(2)
        changed.name = "Else"
        #expect(try ContactList.changing(changed, in: list)[2].name == "Else")
        changed.telephone = list[5].telephone
        let taken = changed
        #expect(throws: ContactList.Fault.twice) { try ContactList.changing(taken, in: list) }
    }
}
