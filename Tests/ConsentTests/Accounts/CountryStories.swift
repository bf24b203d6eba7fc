// An installation that is not Italian: what people type is read as its country says, and who registered before is still there.

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct CountryStories {
    private static let places = """
        # code, name, Land, region, from, until, English name
        09162000\tMünchen\tBY\tBayern\t1875-01-01\t\tMunich
        11000000\tBerlin\tBE\tBerlin\t1920-10-01\t\t
        Z115\tAustria\tEE\t\t1955-05-15\t\tAustria

        """
    private static let german = [
        "fiscalCode": "86 095 742 719", "cityOfBirth": "11000000", "cityOfResidence": "09162000", "phone": "030 1234567",
    ]

    private static func environment(in folder: URL) throws -> [String: String] {
        let file = folder.appendingPathComponent("places.tsv")
        try Data(places.utf8).write(to: file)
        return ["TRACKME_COUNTRY_CODE": "DE", "TRACKME_COUNTRY_PLACES": file.path]
    }

    @Test(
        "NFR-21: country, identifier and list of places are configuration: in Germany a person registers as Germans do, and nobody as in Italy"
    )
    func german() async throws {
        try await withTemporaryFolder { folder in
            try await AccountHarness.run(in: folder, Self.environment(in: folder)) { harness in
                let italian = try await harness.register(Applicant.form())
                #expect(italian.status == 422 && Set(italian.pointers) == ["/fiscalCode", "/cityOfBirth", "/cityOfResidence"])
                let answer = try await harness.register(Applicant.form(Self.german))
                try #require(answer.status == 201, "\(answer.text)")
                let person = try answer.decoded(as: RegistrationItem.self).person
                let profile = try await harness.request("GET", "/consent/v1/profile", token: "\(person)").decoded(as: ProfileItem.self)
                #expect(profile.fiscalCode == "86095742719" && profile.phone == "+49301234567")
                #expect(profile.cityOfResidence?.name == "München" && profile.cityOfResidence?.country == "Deutschland")
                let found = try await harness.request("GET", "/consent/v1/places?prefix=Muni").decoded(as: Page<PlaceItem>.self)
                #expect(found.items.map(\.code) == ["09162000"])
                #expect(try await harness.request("GET", "/consent/v1/places?prefix=Roma").decoded(as: Page<PlaceItem>.self).items.isEmpty)
                #expect(try await harness.request("GET", "/consent/v1/places/Z115").decoded(as: PlaceItem.self).country == "Austria")
                // What looks like another's number is nobody's user name.
                let named = try await harness.register(
                    Applicant.form(email: "b@example.org", Self.german.merging(["userName": "12345678901"]) { $1 }))
                #expect(Set(named.pointers) == ["/userName"])
            }
        }
    }

    @Test("NFR-21: who registered before the country changed stays readable, is found by the old identifier, and changes what may change")
    func before() async throws {
        try await withTemporaryFolder { folder in
            let person = try await AccountHarness.run(in: folder) { harness in
                try await harness.register(Applicant.form(["phone": "333 1234567"])).decoded(as: RegistrationItem.self).person
            }
            try await AccountHarness.run(in: folder, Self.environment(in: folder)) { harness in
                let profile = try await harness.request("GET", "/consent/v1/profile", token: "\(person)").decoded(as: ProfileItem.self)
                #expect(profile.fiscalCode == Applicant.fiscalCode() && profile.phone == "+393331234567")
                #expect(profile.cityOfBirth?.name == "Roma" && profile.cityOfBirth?.country == "Italia")
                let found = try await harness.opened.store.read { db in
                    try harness.parts.sharingPeople.withFiscalCode(db, Applicant.fiscalCode().lowercased(), .now)
                }
                #expect(found?.person == person)
                let moved = try await harness.request(
                    "PATCH", "/consent/v1/profile", token: "\(person)", json: ["cityOfResidence": "11000000", "phone": "0171 7654321"])
                #expect(moved.status == 200, "\(moved.text)")
                #expect(try moved.decoded(as: ProfileItem.self).phone == "+491717654321")
                let back = try await harness.request("PATCH", "/consent/v1/profile", token: "\(person)", json: ["cityOfResidence": "F205"])
                #expect(Set(back.pointers) == ["/cityOfResidence"], "the earlier list is read and no longer offered")
            }
        }
    }

    @Test("NFR-21: a country without a list of places, and a list that is none, stop the start and are named")
    func withoutPlaces() async throws {
        var reader = SettingsReader(environment: ["TRACKME_COUNTRY_CODE": "DE"])
        _ = ConsentSettings(&reader)
        let error = #expect(throws: SettingsError.self) { try reader.finish(prefixes: ConsentAssembly.prefixes) }
        #expect(error?.faults.count == 1 && error?.description.hasPrefix("TRACKME_COUNTRY_PLACES") == true)
        try await withTemporaryFolder { folder in
            let environment = try Self.environment(in: folder)
            try Data("Berlin\n".utf8).write(to: folder.appendingPathComponent("places.tsv"))
            let fault = await #expect(throws: AccountModule.NoPlaces.self) {
                try await AccountHarness.run(in: folder, environment) { _ in }
            }
            #expect(fault?.description.contains("places.tsv: line 1") == true)
        }
    }
}
