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
            ["TRACKME_COUNTRY_EMERGENCY_NUMBERS": "call me"], ["TRACKME_COUNTRY_NUMBERS": "112"],
        ])
    func refused(environment: [String: String]) {
        let faults = faults(environment)
        #expect(faults.count == 1)
        #expect(environment.keys.contains { faults.first?.hasPrefix($0) == true })
    }

    @Test("NFR-21: a country that is not known stops the start, and the refusal names those that are")
    func unknownCountry() {
        #expect(faults(["TRACKME_COUNTRY_CODE": "XX"]) == ["TRACKME_COUNTRY_CODE=XX: must be one of IT, DE"])
        #expect(faults(["TRACKME_COUNTRY_CODE": "DE"]).isEmpty)
    }

    @Test(
        "NFR-21: both pages of an emergency tell people to call the configured number, whatever the country's own",
        arguments: [
            ([:], "call 112.", "chiama il 112."), (["TRACKME_COUNTRY_CODE": "DE"], "call 112.", "chiama il 112."),
            (
                ["TRACKME_COUNTRY_CODE": "DE", "TRACKME_COUNTRY_EMERGENCY_NUMBERS": "144, 117"], "call 144 or 117.",
                "chiama il 144 o il 117."
            ),
        ])
    func emergencyNumber(environment: [String: String], english: String, italian: String) async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let dispatcher = try await stage.start(environment)
            let visitor = await Visitor(of: dispatcher)
            for path in ["/sos/v1/prompt/page/AAAAAAAAAAAAAAAAAAAAAA", "/sos/c/AAAAAAAAAAAAAAAAAAAAAA"] {
                #expect(try await visitor.open(path).text.contains(english), "\(path)")
                #expect(try await visitor.open(path, in: "it-IT").text.contains(italian), "\(path)")
            }
            await dispatcher.stop()
        }
    }

    @Test("NFR-21: a contact's number without a country is the installation's")
    func contact() {
        let form = ContactForm(name: "Anna", telephone: "030 1234567", email: nil, language: nil)
        #expect(form.contact("ctc_1", in: Country(.germany), language: .english)?.telephone == "+49301234567")
        #expect(form.contact("ctc_1", in: .italy, language: .english)?.telephone == "+390301234567")
    }
}
