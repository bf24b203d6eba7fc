// What firms and their clients go through: several requests, several people, whoever thinks better of it, and who pays.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import ThirdPartyGateway

@Suite("Stories of firms and their clients", .timeLimit(.minutes(5)))
struct DealingStories {
    @Test(
        "SC-08, SHR-08, SHR-11, SHR-14, SHR-18, SHR-21: a spa asks its guest twice, the second time in vain: it is told, pays nothing for it, and what was allowed keeps flowing, nothing else"
    )
    func spa() async throws {
        try await Hospital.withRegistered { spa in
            let (guest, known) = (try await Guest(in: spa.suite), spa)
            let first = try await spa.ask(guest, ["weight", "body-temperature"])
            try await spa.allowed(guest, first)
            try await eventually("it runs") { try await known.call("GET", "/subscriptions/\(first)").json["state"] as? String == "running" }
            try await guest.weigh(81.5)
            try await eventually("weight and temperature come") {
                let values = try await known.items(first).compactMap { $0["value"] as? Double }
                return values.contains(81.5) && values.contains(36.5)
            }

            let second = try await spa.ask(guest, ["oxygen-saturation", "heart-rate"])
            #expect(try await guest.answer(second, "refuse") == 200)
            try await spa.becomes("DECLINED", second)
            try await spa.told(second.description)
            #expect(!spa.mails().contains { $0.contains(second.description) && $0.contains("EUR") })
            let unpaid = try await spa.call("GET", "/payments?request=\(second)").items
            #expect(unpaid.map { $0["status"] as? String } == ["void"], "PAY-09")
            for request in [first, second] {
                for type in ["oxygen-saturation", "heart-rate"] {
                    #expect(try await spa.data(request, type).problem == "not-entitled", "INV-04")
                }
            }
            try await guest.weigh(80.5)
            try await eventually("weight keeps flowing") { try await known.items(first).contains { $0["value"] as? Double == 80.5 } }
            let types = Set(try await spa.items(first).compactMap { $0["type"] as? String })
            #expect(types == ["weight", "body-temperature"], "the scale measures the heart rate too")
            #expect(try await spa.call("GET", "/subscriptions/\(second)").status == 404, "INV-03")
        }
    }

    @Test(
        "SC-10, SHR-19, SHR-21, ING-07: a car-sharing firm asks four clients for their positions at once; each answer counts for one, and of those who did not accept it gets nothing"
    )
    func carSharing() async throws {
        try await Hospital.withRegistered { firm in
            var clients: [Guest] = []
            for name in ["Bruno", "Dario", "Elena", "Fabio"] { clients.append(try await Guest(in: firm.suite, named: name)) }
            let sent = try await firm.call(
                "POST", "/requests/lists",
                [
                    "fiscalCodes": clients.map(\.code), "types": ["position"], "from": Timestamp.now.rfc3339, "length": "P3M",
                    "granularity": "seconds", "purpose": "Where our cars are needed",
                ])
            #expect(sent.status == 202, "\(sent.text)")
            let (known, path) = (firm, "/requests/lists/\(sent.json["list"] as? String ?? "")")
            try await eventually("everybody is asked") { try await known.call("GET", path).json["sending"] as? Int == 0 }
            let items = try await firm.call("GET", path).items
            #expect(items.map { $0["outcome"] as? String } == Array(repeating: "opened", count: 4))
            let requests = items.compactMap { ($0["request"] as? String).flatMap { RequestID($0) } }
            try #require(requests.count == 4)
            try await firm.allowed(clients[0], requests[0])
            try await firm.allowed(clients[1], requests[1])
            #expect(try await clients[2].answer(requests[2], "refuse") == 200)
            try await firm.becomes("DECLINED", requests[2])
            #expect(try await firm.status(requests[3]) == "PENDING")
            for request in requests.prefix(2) {
                try await eventually("it runs") {
                    try await known.call("GET", "/subscriptions/\(request)").json["state"] as? String == "running"
                }
            }

            for (place, client) in clients.enumerated() {
                let position = Position(latitude: 45 + Double(place) / 8, longitude: 9.25)
                let sample = Sample(type: .position, at: .now, value: nil, position: position)
                #expect(try await firm.suite.upload([sample], from: client.scale).outcome.status == 200)
            }
            for (place, request) in requests.prefix(2).enumerated() {
                try await eventually("the position of one comes") { try await !known.items(request).isEmpty }
                let seen = try await firm.items(request).compactMap { ($0["position"] as? [String: Any])?["latitude"] as? Double }
                #expect(Set(seen) == [45 + Double(place) / 8], "of this client alone")
            }
            for request in requests.suffix(2) {
                #expect(try await firm.data(request, "position").problem == "not-entitled")
                #expect(try await firm.call("GET", "/subscriptions/\(request)/items").status == 404)
            }
        }
    }

    @Test(
        "SHR-23: whoever looks at types, prices and a quote, fills in the form and leaves before it is sent whole has asked nobody, owes nothing and is in nobody's way"
    )
    func leaving() async throws {
        try await Hospital.withRegistered { firm in
            let guest = try await Guest(in: firm.suite)
            let form = Hospital.form(guest.code, ["weight"], from: .now, ["length": "P1M"])
            #expect(try await firm.call("GET", "/data-types").status == 200)
            #expect(try await firm.call("GET", "/prices").status == 200)
            var quote = form
            for name in ["fiscalCode", "length", "purpose"] { quote[name] = nil }
            quote["to"] = (Timestamp.now + .seconds(30 * 86_400)).rfc3339
            #expect(try await firm.call("POST", "/quotes", quote).status == 200)
            for name in ["fiscalCode", "types", "from", "granularity", "purpose"] {
                var unfinished = form
                unfinished[name] = nil
                #expect(try await firm.call("POST", "/requests", unfinished).status == 422, "\(name)")
            }
            let bytes = RawConnection.request(
                "POST", "/thirdparty/v1/requests", headers: ["Authorization": "Bearer \(firm.token ?? "")"],
                json: try JSONSerialization.data(withJSONObject: form))
            try await RawConnection.breakOff(bytes, port: firm.port)

            // What comes afterwards is the first of its kind everywhere.
            let other = try await firm.ask(guest, ["weight"])
            #expect(try await firm.call("GET", "/requests").items.map { $0["request"] as? String } == [other.description])
            #expect(try await firm.call("GET", "/payments").items.map { $0["request"] as? String } == [other.description])
            try await eventually("the guest is notified") { try await !guest.inbox("request-received").isEmpty }
            #expect(try await guest.inbox("request-received").count == 1)
        }
    }

    // MARK: Who pays

    /// What a document says of one operation, as far as money goes.
    private struct Operation {
        let method: String
        let path: String
        /// Of the callers that it admits; empty where everybody may come.
        let schemes: Set<String>
        let isAboutMoney: Bool

        static let money = ["Amount", "Payment", "PayBody", "Invoice", "Prices", "Quote"]

        /// All of a service.
        static func all(_ document: [String: Any]) -> [Operation] {
            let schemas = (document["components"] as? [String: Any])?["schemas"] as? [String: Any] ?? [:]
            let paths = document["paths"] as? [String: [String: [String: Any]]] ?? [:]
            return paths.flatMap { path, operations in
                operations.map { method, operation in
                    let security = operation["security"] as? [[String: Any]] ?? []
                    let answers = operation["responses"] as? [String: Any] ?? [:]
                    let named = names(in: operation, schemas)
                    return Operation(
                        method: method.uppercased(), path: path, schemes: Set(security.flatMap(\.keys)).subtracting(["sessionCookie"]),
                        isAboutMoney: answers["402"] != nil || named.contains { name in money.contains { name.hasPrefix($0) } })
                }
            }
        }

        /// The schemas that a value refers to, at first or at second hand.
        private static func names(in value: Any, _ schemas: [String: Any]) -> Set<String> {
            var (found, waiting): (Set<String>, [Any]) = ([], [value])
            while let next = waiting.popLast() {
                if let object = next as? [String: Any] {
                    if let reference = object["$ref"] as? String, let name = reference.split(separator: "/").last.map(String.init),
                        found.insert(name).inserted, let schema = schemas[name]
                    {
                        waiting.append(schema)
                    }
                    waiting += object.values
                } else if let list = next as? [Any] {
                    waiting += list
                }
            }
            return found
        }
    }

    @Test(
        "PAY-11: a person pays for nothing: in no service's document does a person's route know of money, no route about money takes a person's token, and the one who asked has the only bill"
    )
    func individuals() async throws {
        try await Hospital.withRegistered { firm in
            let (guest, suite) = (try await Guest(in: firm.suite), firm.suite)
            let gateway = "http://127.0.0.1:\(firm.port)"
            // Prices are told to everybody; nothing is owed by reading them.
            let told: Set = ["GET /thirdparty/v1/prices", "POST /thirdparty/v1/quotes"]
            var charged = 0
            for document in [
                suite.consent + "/consent", suite.server + "/ingest", suite.notifier + "/notify", suite.sos + "/sos",
                gateway + "/thirdparty",
            ] {
                let said = try await suite.say("GET", document + "/openapi.json")
                let operations = Operation.all(try JSONSerialization.jsonObject(with: said.body) as? [String: Any] ?? [:])
                #expect(operations.count > 5, "\(document) is read")
                for operation in operations where operation.isAboutMoney {
                    let name = "\(operation.method) \(operation.path)"
                    guard !told.contains(name) else { continue }
                    charged += 1
                    #expect(!operation.schemes.isEmpty && operation.schemes.isSubset(of: ["clientCredentials", "member"]), "\(name)")
                    let path = operation.path.replacing("/{payment}", with: "/\(PaymentID.random())")
                        .replacing("/{invoice}", with: "/2026-000001").replacing("/{request}", with: "/\(RequestID.random())")
                        .replacing("/{file}", with: "/\(JobID.random())").replacing("/{part}", with: "/data-0001.csv")
                    let body = operation.method == "GET" ? nil : ["method": "card", "format": "csv"]
                    let refused = try await suite.say(operation.method, gateway + path, body, as: guest.token)
                    #expect(refused.status == 403, "\(name)")
                }
            }
            #expect(charged >= 6, "the search for money finds it")

            // What a person does with the own data, and with those who ask for them, has no price.
            try await guest.weigh(80.5)
            for path in [
                suite.server + "/ingest/v1/entries?type=weight", suite.server + "/ingest/v1/health-status",
                suite.notifier + "/notify/v1/inbox",
                suite.consent + "/consent/v1/policy", suite.consent + "/consent/v1/accesses",
            ] {
                #expect(try await suite.say("GET", path, as: guest.token).status == 200, "\(path)")
            }
            let request = try await firm.ask(guest, ["weight"])
            try await firm.allowed(guest, request)
            let bills = try await firm.call("GET", "/payments").items
            #expect(bills.map { $0["request"] as? String } == [request.description])
            let invoice = try #require(bills.first?["invoice"] as? String)
            let buyer = try await firm.call("GET", "/invoices/\(invoice)").json["buyer"] as? [String: Any]
            #expect(buyer?["name"] as? String == "Ospedale Maggiore")
            #expect(!firm.mails(to: guest.email).contains { $0.contains("EUR") })
        }
    }
}
