// What may be set, and that nonsense is named and stops a dispatcher only where its default would do harm.

import Contracts
import Foundation
import HTTPKit
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
        "A value outside its range, or one that does not go with another, is named",
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

    private func refusals(_ environment: [String: String]) -> [Bool] {
        var reader = SettingsReader(environment: environment)
        _ = SuiteSettings(&reader, peer: .sosDispatcher, httpPort: 0)
        _ = SOSAssembly.settings(&reader)
        return reader.faults(prefixes: SuiteSettings.prefixes.union(SOSAssembly.prefixes)).map(SOSAssembly.refuses)
    }

    @Test(
        "SOS-15: a wrong word in a setting stopped both dispatchers: they start with the default",
        arguments: [
            ["TRACKME_COUNTRY_CODE": "XX"], ["TRACKME_COUNTRY_EMERGENCY_NUMBERS": "call me"], ["TRACKME_SOS_NO_SUCH": "1"],
            ["TRACKME_SOS_HR_LOW": "130"], ["TRACKME_SOS_DISPATCH_AT_S": "3", "TRACKME_SOS_SUSTAIN_S": "4"],
            ["TRACKME_SOS_WEBHOOK_URL": "ftp://desk"], ["TRACKME_SOS_NUMBER": "112"], ["TRACKME_HTTP_PORT": "x"],
            ["TRACKME_HTTP_PUBLIC_ORIGIN": "here"], ["TRACKME_HTTP_CONNECTIONS": "16"], ["TRACKME_LOG_LEVEL": "loud"],
            ["TRACKME_SOS_SECOND_URL": "http://127.0.0.1:9/"], ["TRACKME_STORE_GROUP_COMMIT_MS": "x"],
            // The list of places of a country, by a name that is none.
            ["TRACKME_COUNTRY_PLACE": "/etc/trackme/places.tsv"],
        ])
    func starts(environment: [String: String]) {
        #expect(refusals(environment) == [false])
    }

    @Test(
        "A wrong word that would make an exercise a call in earnest, or begin another dispatcher or store, stops the start as ever",
        arguments: [
            ["TRACKME_SOS_MESSAGE_STATUS": "exercize"], ["TRACKME_SOS_MESSAGE_STAUS": "exercise"], ["TRACKME_SOS_STATUS": "exercise"],
            ["TRACKME_SOS_PLACE": "2"], ["TRACKME_STORE_DIRECTORY": ""], ["TRACKME_STORE_DIRECTRY": "/srv"], ["TRACKME_BUS_KEYS": ""],
            ["TRACKME_BUS_TRANSPORT": "udp"], ["TRACKME_BUS_HOSTS": "ingest"],
        ])
    func stillRefused(environment: [String: String]) {
        #expect(refusals(environment) == [true])
    }

    @Test(
        "What cannot be read has its default, also where one value does not go with another; a second address stands for a first that cannot be read"
    )
    func defaultsOfWrongOnes() {
        func settings(_ environment: [String: String]) -> (SuiteSettings, SOSDispatcher.Settings) {
            var reader = SettingsReader(environment: environment)
            return (SuiteSettings(&reader, peer: .sosDispatcher, httpPort: 0), SOSAssembly.settings(&reader))
        }
        let (suite, own) = settings([
            "TRACKME_SOS_HR_LOW": "130", "TRACKME_SOS_SUSTAIN_S": "4", "TRACKME_SOS_DISPATCH_AT_S": "3", "TRACKME_COUNTRY_CODE": "XX",
            "TRACKME_SOS_NUMBER": "112", "TRACKME_SOS_WEBHOOK_URL": "ftp://desk", "TRACKME_SOS_SECOND_URL": "http://desk.example/",
            "TRACKME_HTTP_PUBLIC_ORIGIN": "here", "TRACKME_HTTP_CONNECTIONS": "16",
        ])
        #expect(own.rules == SupervisionRules() && own.country == .italy && own.number == nil)
        #expect(own.webhookURL?.absoluteString == "http://desk.example/" && own.secondURL == nil)
        #expect(suite.publicOrigin == "https://localhost:8443")
        #expect(suite.httpLimits.connections > suite.httpLimits.concurrentRequests + suite.httpLimits.reserve)
    }

    @Test("NFR-21: a country that is not known is named, with those that are")
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
        }
    }

    @Test("NFR-21: a contact's number without a country is the installation's")
    func contact() {
        let form = ContactForm(name: "Anna", telephone: "030 1234567", email: nil, language: nil)
        #expect(form.contact("ctc_1", in: Country(.germany), language: .english)?.telephone == "+49301234567")
        #expect(form.contact("ctc_1", in: .italy, language: .english)?.telephone == "+390301234567")
    }
}
