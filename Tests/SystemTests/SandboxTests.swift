// What a third party's developer types first: the sandbox, and the first calls of docs/third-parties.

import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("The sandbox")
    struct SandboxTests {
        private struct Kit: Decodable, Sendable {
            var baseURL: String
            var tokenURL: String
            var clientID: String
            var clientSecret: String
            var fiscalCode: String
            var from: String
        }

        private struct Token: Decodable {
            var access_token: String
        }

        private struct Made: Decodable {
            var request: String
            var status: String
            var delivery: String
        }

        private struct Items<Item: Decodable & Sendable>: Decodable, Sendable {
            var items: [Item]
        }

        private struct Due: Decodable, Sendable {
            var payment: String
            var status: String
        }

        private struct Value: Decodable, Sendable {
            var type: String
            var value: Double?
        }

        @Test("ORG-19, SHR-20: from a sandbox to the first data by the calls of docs/third-parties", .timeLimit(.minutes(3)))
        func firstData() async throws {
            try await withTemporaryFolder { folder in
                let process = Process()
                process.executableURL = ServiceExecutable.folder.appendingPathComponent("trackme")
                process.arguments = ["sandbox", "--json", "--days", "1", "--data", folder.path]
                let output = folder.appendingPathComponent("sandbox.json")
                let complaints = folder.appendingPathComponent("sandbox.err")
                for file in [output, complaints] { #expect(FileManager.default.createFile(atPath: file.path, contents: nil)) }
                process.standardOutput = try FileHandle(forWritingTo: output)
                process.standardError = try FileHandle(forWritingTo: complaints)
                try process.run()
                defer { if process.isRunning { process.terminate() } }
                let kit = try await eventually("the sandbox is ready", within: .seconds(90)) {
                    guard process.isRunning else { throw Tool.Fault(description: Self.text(complaints)) }
                    return try? JSONDecoder().decode(Kit.self, from: Data(contentsOf: output))
                }
                try await course(kit)
                process.interrupt()
                try await eventually("the sandbox ends") { !process.isRunning }
                #expect(process.terminationStatus == 0, "\(Self.text(complaints))")
            }
        }

        private func course(_ kit: Kit) async throws {
            let credentials = Data("\(kit.clientID):\(kit.clientSecret)".utf8).base64EncodedString()
            let token: Token = try await Self.call(
                "POST", kit.tokenURL, authorization: "Basic \(credentials)", form: "grant_type=client_credentials")
            let (root, bearer) = (kit.baseURL + "/thirdparty/v1", "Bearer \(token.access_token)")
            let end = Date().addingTimeInterval(86_400).formatted(.iso8601)
            let form = """
                {"fiscalCode":"\(kit.fiscalCode)","types":["heart-rate"],"from":"\(kit.from)","to":"\(end)","granularity":"seconds",
                 "purpose":"Trying out the interface"}
                """
            let made: Made = try await Self.call("POST", root + "/requests", authorization: bearer, json: form)
            #expect(made.status == "PENDING" || made.status == "APPROVED")
            let path = root + "/requests/\(made.request)"
            try await eventually("she accepts") {
                let now: Made = try await Self.call("GET", path, authorization: bearer)
                return now.status == "APPROVED"
            }
            let due: Items<Due> = try await Self.call("GET", root + "/payments?request=\(made.request)", authorization: bearer)
            let payment = try #require(due.items.first)
            let paid: Due = try await Self.call(
                "POST", root + "/payments/\(payment.payment)/attempts", authorization: bearer, json: #"{"method":"card"}"#)
            #expect(paid.status == "paid")
            let data: Items<Value> = try await eventually("there are data") {
                try? await Self.call("GET", path + "/data?type=heart-rate&limit=10", authorization: bearer)
            }
            #expect(data.items.count == 10)
            #expect(data.items.allSatisfy { $0.type == "heart-rate" && Wearable.healthyHeart.contains($0.value ?? 0) })
            try await eventually("what comes next is delivered") {
                let feed: Items<Value>? = try? await Self.call(
                    "GET", root + "/subscriptions/\(made.request)/items?after=0", authorization: bearer)
                return feed?.items.isEmpty == false
            }
        }

        private static func call<Answer: Decodable>(
            _ method: String, _ address: String, authorization: String, json: String? = nil, form: String? = nil
        ) async throws -> Answer {
            let client = HarnessClient(address)
            let type = json == nil ? "application/x-www-form-urlencoded" : "application/json"
            let body = (json ?? form).map { Data($0.utf8) }
            let headers = ["Authorization": authorization]
            let answer = try await client.send(
                client.request(method, "", body: body, type: body == nil ? nil : type, headers: headers))
            guard (200...299).contains(answer.status) else {
                throw Tool.Fault(description: "\(method) \(address): \(answer.status) \(answer.text)")
            }
            return try answer.decoded()
        }

        private static func text(_ file: URL) -> String {
            String((try? String(contentsOf: file, encoding: .utf8))?.suffix(2000) ?? "")
        }
    }
}
