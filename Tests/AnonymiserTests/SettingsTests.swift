// The policy as an operator sets it.

import ServiceKit
import Testing

@testable import Anonymiser

@Suite("Settings of the anonymiser")
struct SettingsTests {
    private static func faults(_ environment: [String: String]) -> [String] {
        var reader = SettingsReader(environment: environment)
        _ = AnonymiserSettings(&reader)
        return reader.faults(prefixes: AnonymiserAssembly.prefixes).map(\.description)
    }

    @Test("without settings it is the policy of the requirements; what is set is stricter")
    func read() {
        var reader = SettingsReader(environment: ["TRACKME_ANO_MIN_INDIVIDUALS": "5000", "TRACKME_ANO_MARGIN": "geometric"])
        let policy = AnonymiserSettings(&reader).policy
        #expect(policy.minIndividuals == 5000 && policy.margin == .geometric)
        var other = SettingsReader(environment: ["TRACKME_ANO_DIFFERENCE_GUARD": "atoms"])
        let stricter = AnonymiserSettings(&other).policy
        #expect(stricter.guardsAtoms && !policy.guardsAtoms)
        #expect(policy.fewestDiffering == AnonymityPolicy().fewestDiffering)
        #expect(Self.faults([:]) == [])
    }

    @Test(
        "a policy that is laxer than the requirements, or whose numbers do not fit, stops the start and names the setting",
        arguments: [
            ("MIN_INDIVIDUALS", "999"), ("DIFFERENCE_GUARD", "off"), ("POSITION_GRID_M", "500"), ("RELEASE_MICRO_RHO", "30000"),
            ("FLATTENED", "20"), ("MARGIN", "none"),
        ])
    func refused(name: String, value: String) {
        let named = name == "FLATTENED" ? "CLASS_MIN" : name
        let faults = Self.faults(["TRACKME_ANO_\(name)": value])
        #expect(faults.contains { $0.hasPrefix("TRACKME_ANO_\(named)") }, "\(faults)")
    }
}
