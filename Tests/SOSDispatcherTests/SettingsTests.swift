// What may be set, and that nonsense stops the start.

import Contracts
import ServiceKit
import Testing

@testable import SOSDispatcher

@Suite("Settings")
struct SettingsTests {
    private func faults(_ environment: [String: String]) -> [String] {
        var reader = SettingsReader(environment: environment)
        _ = SOSAssembly.settings(&reader)
        do throws(SettingsError) {
            try reader.finish(prefixes: SOSAssembly.prefixes)
            return []
        } catch {
            return error.faults
        }
    }

    @Test("Without any setting the figures are the requirements' (SOS-05, SOS-09, SOS-12, SOS-15, SOS-19, SOS-25)")
    func defaults() {
        var reader = SettingsReader(environment: [:])
        let settings = SOSAssembly.settings(&reader)
        #expect(settings.rules == SupervisionRules())
        #expect(settings.rules.defaults[.heartRate] == Bounds(low: 45, high: 120))
        #expect(
            settings.rules.defaults[.bloodPressureMax]?.high == 170 && settings.rules.defaults[.bloodPressureMin]?.high == 100
                && settings.rules.pressureRule == .and)
        #expect(settings.rules.sustain == .seconds(3) && settings.rules.dispatchAt == .milliseconds(3500))
        #expect(settings.retry == .seconds(1))
    }

    @Test(
        "A value outside its range, or one that does not go with another, stops the start and is named",
        arguments: [
            ["TRACKME_SOS_DISPATCH_AT_S": "5"], ["TRACKME_SOS_DISPATCH_AT_S": "0"], ["TRACKME_SOS_DISPATCH_AT_S": "3,5"],
            ["TRACKME_SOS_SUSTAIN_S": "4", "TRACKME_SOS_DISPATCH_AT_S": "3.5"], ["TRACKME_SOS_RETRY_S": "0.1"],
            ["TRACKME_SOS_HR_LOW": "120"], ["TRACKME_SOS_BP_RULE": "xor"], ["TRACKME_SOS_MAX_AGE_S": "1"],
            ["TRACKME_SOS_WEBHOOK_URL": "ftp://desk"], ["TRACKME_SOS_NO_SUCH": "1"],
        ])
    func refused(environment: [String: String]) {
        let faults = faults(environment)
        #expect(faults.count == 1)
        #expect(environment.keys.contains { faults.first?.hasPrefix($0) == true })
    }
}
