// Whom an emergency goes to, by the place where it is.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Integrators' areas")
struct IntegratorChoiceTests {
    private static let milan = ServiceArea.Corner(latitude: 45.4642, longitude: 9.19)
    private static let italy = ServiceArea(polygon: corners((47, 6), (47, 14), (41, 19), (36, 16), (38, 8), (43.5, 7)))
    private static let fiji = ServiceArea(polygon: corners((-15, 176), (-15, -178), (-20, -178), (-20, 176)))

    private static func corners(_ pairs: (Double, Double)...) -> [ServiceArea.Corner] {
        pairs.map { ServiceArea.Corner(latitude: $0.0, longitude: $0.1) }
    }

    private static func circle(_ latitude: Double, _ longitude: Double, _ radius: Double) -> ServiceArea {
        ServiceArea(circle: .init(centre: .init(latitude: latitude, longitude: longitude), radiusKm: radius))
    }

    @Test(
        "SOS-17: a place lies in an area or not, also across the 180th meridian",
        arguments: [
            (italy, 45.4642, 9.19, true), (italy, 48.85, 2.35, false), (italy, 46.9, 6.1, true), (italy, 35.9, 14.5, false),
            (fiji, -18, 179, true), (fiji, -18, -179, true), (fiji, -18, 175, false), (fiji, -18, -177, false), (fiji, -21, 180, false),
            (circle(45.4642, 9.19, 10), 45.4642, 9.19, true), (circle(45.4642, 9.19, 10), 45.53, 9.19, true),
            (circle(45.4642, 9.19, 10), 45.60, 9.19, false), (circle(0, 179.95, 20), 0, -179.95, true), (ServiceArea(), -89, 12, true),
        ])
    func contains(area: ServiceArea, latitude: Double, longitude: Double, expected: Bool) {
        #expect(area.contains(.init(latitude: latitude, longitude: longitude)) == expected)
    }

    @Test("Areas are about as large as they are on Earth")
    func sizes() {
        // A degree by a degree at 45° north has 8,770 km².
        let degree = ServiceArea(polygon: Self.corners((44.5, 9), (44.5, 10), (45.5, 10), (45.5, 9)))
        #expect((8600...8900).contains(degree.squareKm))
        #expect((800_000...1_000_000).contains(Self.italy.squareKm))
        #expect(ServiceArea().squareKm == .infinity)
        #expect((314...315).contains(Self.circle(0, 0, 10).squareKm))
    }

    @Test("SOS-17, CON-30: the smallest area first, then everywhere, then the nearest; without a place everywhere first")
    func order() {
        let candidates = [
            IntegratorChoice.Candidate(id: "default", area: ServiceArea(), priority: 100),
            .init(id: "italy", area: Self.italy, priority: 100), .init(id: "milan", area: Self.circle(45.4642, 9.19, 30), priority: 100),
            .init(id: "fiji", area: Self.fiji, priority: 100), .init(id: "world", area: ServiceArea(), priority: 50),
        ]
        #expect(IntegratorChoice.order(candidates, for: Self.milan) == ["milan", "italy", "world", "default", "fiji"])
        #expect(IntegratorChoice.order(candidates, for: .init(latitude: -18, longitude: 179)).first == "fiji")
        #expect(IntegratorChoice.order(candidates, for: .init(latitude: 41.9, longitude: 12.5)).first == "italy")
        #expect(
            IntegratorChoice.order(candidates, for: .init(latitude: 48.85, longitude: 2.35)) == [
                "world", "default", "italy", "milan", "fiji",
            ])
        #expect(Array(IntegratorChoice.order(candidates, for: nil).prefix(2)) == ["world", "default"])
        #expect(Set(IntegratorChoice.order(candidates, for: nil)) == Set(candidates.map(\.id)))
    }

    @Test(
        "What cannot be an integrator is refused with what to do",
        arguments: [
            IntegratorSettings(name: "Milan", url: "https://a.example"), IntegratorSettings(name: "", url: "https://a.example"),
            IntegratorSettings(name: "a"), IntegratorSettings(name: "a", url: "ftp://a.example"),
            IntegratorSettings(name: "a", url: "https://user@a.example"), IntegratorSettings(name: "a", number: "021234"),
            IntegratorSettings(name: "a", secondURL: "https://a.example", number: "+39021234567"),
            IntegratorSettings(name: "a", area: circle(91, 0, 10), url: "https://a.example"),
            IntegratorSettings(name: "a", area: circle(0, 0, 0), url: "https://a.example"),
            IntegratorSettings(name: "a", area: ServiceArea(polygon: corners((0, 0), (1, 1))), url: "https://a.example"),
            IntegratorSettings(name: "a", area: ServiceArea(polygon: corners((0, 0), (1, 1), (2, 2))), url: "https://a.example"),
            IntegratorSettings(name: "a", url: "https://a.example", priority: -1),
            IntegratorSettings(name: "a", url: "https://a.example", drillEveryHours: 0),
        ])
    func refused(settings: IntegratorSettings) {
        #expect(IntegratorRules.fault(of: settings) != nil)
    }

    @Test("One way to be reached is enough")
    func taken() {
        for settings in [
            IntegratorSettings(name: "a-1", url: "https://a.example:8443/sos"), IntegratorSettings(name: "a", number: "+39021234567"),
            IntegratorSettings(name: "a", peer: "a-desk"), IntegratorSettings(name: "a", area: Self.fiji, url: "http://10.0.0.1/x"),
        ] {
            #expect(IntegratorRules.fault(of: settings) == nil)
        }
    }
}
