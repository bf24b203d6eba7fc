// One person's data through all services and the gateway's own door: registered, asked, allowed, paid, fetched, withdrawn.

import Contracts
import Foundation
import FoundationNetworking
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import ThirdPartyGateway

@Suite("Stories of third parties")
struct GatewayStories {
    @Test(
        "SC-30, SC-47: a hospital asks a patient, who accepts; before paying it gets nothing, then pages and files; the patient sees each read; SHR-16: withdrawn, nothing more"
    )
    func followsAPatient() async throws {
        try await Hospital.withRegistered { hospital in
            let guest = try await Guest(in: hospital.suite)
            try await guest.weigh(81.5)
            let request = try await hospital.ask(guest, ["weight", "body-temperature"])
            #expect(try await hospital.data(request, "weight").problem == "not-entitled")
            #expect(try await guest.answer(request, "accept") == 200)
            try await hospital.becomes("APPROVED", request)
            #expect(try await hospital.data(request, "weight").problem == "payment-outstanding", "PAY-04, INV-20")
            #expect(try await guest.accesses().isEmpty)
            try await hospital.pay(request)
            let (known, said) = (hospital, request.description)
            try await eventually("the weight is handed out") { try await known.values(request, "weight").contains(81.5) }
            #expect(try await hospital.data(request, "heart-rate").problem == "not-entitled", "SHR-11")
            try await eventually("SHR-09: the mail names the request and the amount") {
                known.mails().contains { $0.contains(said) && $0.contains("12.00 EUR") && !$0.contains(guest.code) }
            }
            // SHR-14: what is weighed later is there too.
            try await guest.weigh(80.5)
            try await eventually("the weight keeps flowing") { try await known.values(request, "weight").contains(80.5) }

            let begun = try await hospital.call("POST", "/requests/\(request)/files", ["format": "fhir"])
            #expect(begun.status == 202, "\(begun.text)")
            let path = "/requests/\(request)/files/\(begun.json["file"] as? String ?? "")"
            try await eventually("the file is written") { try await known.call("GET", path).json["state"] as? String == "done" }
            let part = try #require((try await hospital.call("GET", path).json["parts"] as? [[String: Any]])?.first)
            let file = try await hospital.call("GET", "\(path)/parts/\(part["name"] as? String ?? "")")
            #expect(Hex.encode(Digest.sha256([UInt8](file.body))) == part["sha256"] as? String)
            #expect(file.text.contains("29463-7") && !file.text.contains(guest.code))
            try await eventually("SHR-24: the patient sees who read what") {
                let seen = try await guest.accesses()
                return !seen.isEmpty && seen.allSatisfy { $0.name == "Ospedale Maggiore" }
            }

            let grant = try #require(try await hospital.call("GET", "/requests/\(request)").json["grant"] as? String)
            let gone = try await hospital.suite.say(
                "DELETE", hospital.suite.consent + "/consent/v1/grants/\(grant)", as: guest.token)
            #expect(gone.status == 200)
            try await eventually("nothing leaves any more") { try await known.data(request, "weight").status != 200 }
            try await hospital.becomes("REVOKED", request)
            #expect(try await hospital.data(request, "weight").problem == "not-entitled")
            #expect(try await hospital.call("GET", "\(path)/parts/\(part["name"] as? String ?? "")").problem == "not-entitled")
            try await eventually("SHR-15: it is told by mail") {
                known.mails().contains { $0.contains(said) && ($0.contains("non sono pi") || $0.contains("no longer available")) }
            }
        }
    }

    @Test(
        "SHR-13, SHR-14: a window into the future keeps delivering, by page and by webhook after its handshake; SHR-16: withdrawn, grant.revoked and nothing more"
    )
    func subscribes() async throws {
        try await Hospital.withRegistered { hospital in
            let guest = try await Guest(in: hospital.suite)
            try await HospitalHook.with { hook in
                let endpoint = try await hospital.call("POST", "/endpoints", ["url": await hook.url])
                #expect(endpoint.status == 201, "\(endpoint.text)")
                let verified = try await hospital.call("POST", "/endpoints/\(endpoint.json["id"] as? String ?? "")/verification")
                #expect(verified.json["state"] as? String == "active", "\(verified.text)")
                let request = try await hospital.ask(guest, ["weight"])
                #expect(try await guest.answer(request, "accept") == 200)
                try await hospital.becomes("APPROVED", request)
                #expect(try await hospital.call("GET", "/subscriptions/\(request)").status == 404, "INV-20: nothing before it is paid")
                try await hospital.pay(request)
                let (known, path) = (hospital, "/subscriptions/\(request)")
                try await eventually("it runs") { try await known.call("GET", path).json["state"] as? String == "running" }
                try await guest.weigh(80.5)
                try await eventually("the weight is on the page") {
                    try await known.call("GET", path + "/items").items.contains { $0["value"] as? Double == 80.5 }
                }
                try await eventually("the weight was pushed") { hook.values.contains(80.5) }
                let numbers = try await known.call("GET", path + "/items?after=0").items.compactMap { $0["number"] as? Int }
                #expect(!numbers.isEmpty && numbers == Array(1...max(1, numbers.count)))
                try await guest.weigh(81)
                let later = try await eventually("what comes later is on the page behind the others") {
                    let items = try await known.call("GET", path + "/items?after=\(numbers.count)").items
                    return items.isEmpty ? nil : items.map { ($0["number"] as? Int ?? 0, $0["value"] as? Double ?? 0) }
                }
                #expect(later.map(\.0) == [numbers.count + 1] && later.map(\.1) == [81])
                let grant = try #require(try await hospital.call("GET", path).json["grant"] as? String)
                _ = try await hospital.suite.say("DELETE", hospital.suite.consent + "/consent/v1/grants/\(grant)", as: guest.token)
                try await eventually("grant.revoked is pushed") { hook.types.contains("grant.revoked") }
                try await guest.weigh(79)
                #expect(try await known.call("GET", path + "/items").problem == "subscription-over")
                #expect(!hook.values.contains(79))
            }
        }
    }

    @Test(
        "SC-29, SC-08, SC-10: a patient refuses: the asker is told, gets nothing and pays nothing; another request goes on by itself; SHR-03: a stranger's code is told"
    )
    func refuses() async throws {
        try await Hospital.withRegistered { hospital in
            let guest = try await Guest(in: hospital.suite)
            try await guest.weigh(70)
            let table = """
                fiscalCode,types,from,to,granularity,purpose
                \(guest.code),weight,\((Timestamp.now - .seconds(86_400)).rfc3339),P1M,seconds,A plan
                \(guest.code),heart-rate,\((Timestamp.now - .seconds(86_400)).rfc3339),P1M,seconds,A plan
                VRDLGI75C12F205U,weight,\((Timestamp.now - .seconds(86_400)).rfc3339),P1M,seconds,A plan
                """
            let sent = try await hospital.call("POST", "/requests/lists", table, type: "text/csv")
            #expect(sent.status == 202, "\(sent.text)")
            let (known, path) = (hospital, "/requests/lists/\(sent.json["list"] as? String ?? "")")
            try await eventually("the list is settled") { try await known.call("GET", path).json["sending"] as? Int == 0 }
            let items = try await hospital.call("GET", path).items
            #expect(items.map { $0["outcome"] as? String } == ["opened", "opened", "no-such-person"])
            let requests = items.compactMap { ($0["request"] as? String).flatMap { RequestID($0) } }
            try #require(requests.count == 2)
            #expect(try await guest.answer(requests[0], "accept") == 200)
            #expect(try await guest.answer(requests[1], "refuse") == 200)
            try await hospital.becomes("APPROVED", requests[0])
            try await hospital.becomes("DECLINED", requests[1])
            try await hospital.pay(requests[0])
            try await eventually("the weight is handed out") { try await known.values(requests[0], "weight").contains(70) }
            #expect(try await hospital.data(requests[1], "heart-rate").problem == "not-entitled")
            #expect(try await hospital.data(requests[0], "heart-rate").problem == "not-entitled", "INV-04")
            let owed = try await hospital.call("GET", "/payments?show=open").items
            #expect(!owed.contains { $0["request"] as? String == requests[1].description }, "PAY-09")
            let refused = requests[1].description
            try await eventually("SHR-08: it is told by mail, without a reason") {
                known.mails().contains { $0.contains(refused) && !$0.contains("12.00 EUR") }
            }
            let again = try await hospital.call(
                "POST", "/requests",
                [
                    "fiscalCode": guest.code, "types": ["weight"], "from": Timestamp.now.rfc3339, "length": "P1D", "granularity": "hours",
                    "purpose": "Again",
                ])
            #expect(again.problem == "open-request-covers-this", "SHR-18")
            #expect(again.text.contains(requests[0].description))
            #expect(try await hospital.call("POST", "/requests/\(requests[0])/end").json["status"] as? String == "ENDED")
            #expect(try await hospital.data(requests[0], "weight").problem == "not-entitled")
        }
    }
}
