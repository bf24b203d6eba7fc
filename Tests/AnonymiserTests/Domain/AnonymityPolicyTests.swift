// The declared settings and their bounds.

import Testing

@testable import Anonymiser

@Suite("AnonymityPolicy")
struct AnonymityPolicyTests {
    @Test("the defaults are a policy that can be used, with 1001 people behind each table")
    func defaults() throws {
        let policy = try AnonymityPolicy().checked()

        #expect(policy.fewestIndividuals == 1001 && policy.fewestPerClass == 50 && policy.entrySize == 10)
        #expect(policy.fewestDiffering == 1001 && policy.differenceJitter == 50 && policy.releasesPerPersonDay == 8)
        #expect(policy.admittedCohorts == 64 && policy.refusedCohorts == 256 && policy.individualsPerTable == 8)
    }

    @Test("each setting is refused by its name just outside its bounds, and taken at their ends unless others forbid it")
    func bounds() {
        #expect(Set(AnonymityPolicy.settings.map(\.name)).count == AnonymityPolicy.settings.count)
        for setting in AnonymityPolicy.settings {
            for value in [setting.bounds.lowerBound - 1, setting.bounds.upperBound + 1] {
                var policy = AnonymityPolicy()
                policy[keyPath: setting.path] = value
                #expect(policy.faults == [.outOfBounds(setting.name, setting.bounds)])
            }
            for value in [setting.bounds.lowerBound, setting.bounds.upperBound] {
                var policy = AnonymityPolicy()
                policy[keyPath: setting.path] = value
                #expect(!policy.faults.contains(.outOfBounds(setting.name, setting.bounds)))
            }
        }
    }

    @Test(
        "settings that do not fit each other are refused",
        arguments: [
            (\AnonymityPolicy.flattened, 13, AnonymityPolicy.Fault.classTooSmall(atLeast: 52)),
            (\.entrySize, 26, .classTooSmall(atLeast: 52)),
            (\.releaseMicroRho, 30_000, .rhoNotWhole("release_micro_rho")),
            (\.organisationDayMicroRho, 40_000, .budgetsDisagree("organisation_day_micro_rho")),
            (\.everybodyDayMicroRho, 90_000, .budgetsDisagree("everybody_day_micro_rho")),
            (\.everybodyDayMicroRho, 425_000, .budgetsDisagree("everybody_day_micro_rho")),
            (\.everybodyDayMicroRho, 800_000, .budgetsDisagree("everybody_day_micro_rho")),
        ] as [(any WritableKeyPath<AnonymityPolicy, Int> & Sendable, Int, AnonymityPolicy.Fault)])
    func crossed(path: any WritableKeyPath<AnonymityPolicy, Int> & Sendable, value: Int, fault: AnonymityPolicy.Fault) {
        var policy = AnonymityPolicy()
        policy[keyPath: path] = value

        #expect(policy.faults.contains(fault))
        #expect(throws: AnonymityPolicy.Fault.self) { try policy.checked() }
    }
}
