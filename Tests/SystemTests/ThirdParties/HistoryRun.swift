// One random history of consent and gateway as processes: companies and people who do things, whatever is killed meanwhile.

import Contracts
import Foundation
import GRDB
import ServiceKit
import TestKit

@testable import Operator
@testable import ThirdPartyGateway

/// Whoever gets no answer asks again, under the same key where there is one, so that after each step the model knows what must be.
final class HistoryRun {
    let suite: RealSuite
    let consent: ServiceProcess
    let gateway: ServiceProcess
    var dice: SeededGenerator
    var model = HistoryModel()
    /// What was found to be otherwise.
    private(set) var violations: [String] = []
    let companies: [GatewayProgram]
    let people: [Patient]
    /// Pages that held data.
    private(set) var deliveries = 0
    /// Files that were downloaded, with what was shared then.
    var files: [(request: RequestID, path: String, shared: Set<Metric>)] = []
    private let beginning: Timestamp

    private static let day = Duration.seconds(86_400)
    /// How long services may take to tell each other what is so.
    static let patience = Duration.seconds(30)

    static func with(seed: UInt64, _ body: (HistoryRun) async throws -> Void) async throws {
        try await RealSuite.with(.thirdParties) { suite in
            guard let consent = suite.consent, let gateway = suite.gateway else { throw UnexpectedAnswer("there are no accounts") }
            let price = PriceList(currency: "EUR", perRequest: 500, usual: .init(seconds: 10, minutes: 5, hours: 1))
            _ = try await suite.ask(SetPrices(prices: price))
            let beginning = Timestamp.now
            var people: [Patient] = []
            for mark in 0..<2 {
                let patient = try await Patient.register(UInt64(mark), in: suite)
                try await fill(patient, before: beginning, suite)
                people.append(patient)
            }
            let companies = [try await GatewayProgram.found(1, in: suite), try await GatewayProgram.found(2, in: suite)]
            try await body(HistoryRun(suite, consent, gateway, companies, people, beginning, seed))
        }
    }

    /// Something of each type on each of the last days.
    private static func fill(_ patient: Patient, before beginning: Timestamp, _ suite: RealSuite) async throws {
        let samples = (1...7).flatMap { day in
            HistoryModel.metrics.map {
                Sample(type: $0, at: beginning - .seconds(day * 86_400 - 43_200), value: $0 == .bodyTemperature ? 36.5 : 96)
            }
        }
        let transport = UploadTransport.http(server: suite.server, authorities: nil)
        let body = UploadBody.batch(try samples.map(UploadBody.entry))
        try await eventually("the past is uploaded") {
            let reply = await transport.send(body, patient.device.token, "past-\(patient.person)")
            return try reply.outcome.status == 200 && JSONDecoder().decode(UploadAnswer.self, from: Data(reply.body)).rejected.isEmpty
        }
    }

    private init(
        _ suite: RealSuite, _ consent: ServiceProcess, _ gateway: ServiceProcess, _ companies: [GatewayProgram], _ people: [Patient],
        _ beginning: Timestamp, _ seed: UInt64
    ) {
        (self.suite, self.consent, self.gateway, self.companies, self.people) = (suite, consent, gateway, companies, people)
        (self.beginning, dice) = (beginning, SeededGenerator(seed: seed))
    }

    func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition { violations.append(what()) }
    }

    func draw() -> HistoryStep { model.draw(&dice, people: people.count, companies: companies.count) }

    private func isDrawn(_ chance: Int) -> Bool { Int.random(in: 0..<chance, using: &dice) == 0 }

    private func known(_ id: RequestID) throws -> HistoryModel.Request {
        guard let request = model.requests[id] else { throw UnexpectedAnswer("a step of an unknown request") }
        return request
    }

    // MARK: Doing

    func perform(_ step: HistoryStep) async throws {
        switch step {
        case .open(let wanted): try await open(wanted)
        case .answer(let id, let accept): try await answer(id, accept)
        case .withdraw(let id, let grant, let type):
            let before = try known(id)
            let reply = try await people[before.person].say(
                "DELETE", "/consent/v1/grants/\(grant)" + (type.map { "/types/\($0)" } ?? ""))
            expect(reply.status == (before.status == .ended ? 409 : 200), "withdrawing of \(before.status) said \(reply.status)")
            model.withdrawn(id, type)
        case .end(let id):
            let before = try known(id)
            let reply = try await companies[before.company].insist("POST", "/requests/\(id)/end")
            let isLegal = before.status == .approved || before.status == .ended
            expect(reply.status == (isLegal ? 200 : 409), "ending of \(before.status) said \(reply.status) \(reply.problem ?? "")")
            model.ended(id)
        case .pay(let id, let isDeclined): try await pay(id, isDeclined)
        case .read(let id, let type): try await read(id, type)
        case .file(let id): try await file(id)
        case .expire(let id): try await expire(id)
        }
    }

    private func open(_ wanted: HistoryModel.Request) async throws {
        let company = companies[wanted.company]
        var form: [String: any Sendable] = [
            "fiscalCode": people[wanted.person].fiscalCode, "types": wanted.types.map(\.code).sorted(),
            "from": (beginning + Self.day * wanted.days.lowerBound).rfc3339, "to": (beginning + Self.day * wanted.days.upperBound).rfc3339,
            "granularity": "seconds", "purpose": "A study of sleep",
        ]
        let (body, key) = (GatewayProgram.body(form), UUID().uuidString)
        let opened = try await open(body, key, by: company)
        let covering = model.covering(wanted)
        if let opened {
            // INV-05, INV-07: one more, and only where nothing open is in the way.
            expect(covering == nil, "INV-05: \(opened) was opened beside \(covering.map { "\($0)" } ?? "")")
            expect(model.requests[opened] == nil, "INV-07: \(opened) was given twice")
            model.requests[opened] = wanted
        } else {
            expect(covering != nil, "INV-05: a request was refused though nothing covers it")
        }
        if isDrawn(3) {
            let again = try await open(body, key, by: company)
            expect(again == opened, "INV-07: the same key gave another answer")
        }
        if isDrawn(6) {
            form["purpose"] = "Another study"
            let other = try await company.insist("POST", "/requests", GatewayProgram.body(form), key: key)
            expect(other.status == 422, "another body under the same key said \(other.status)")
        }
    }

    /// - Returns: nil where an open request covers it.
    private func open(_ body: Data, _ key: String, by company: GatewayProgram) async throws -> RequestID? {
        let answer = try await company.insist("POST", "/requests", body, key: key)
        switch answer.status {
        case 201: return answer.text("request").flatMap { RequestID($0) }
        case 409 where answer.problem == "open-request-covers-this": return nil
        case 202:
            // Kept, and sent as soon as consent is back.
            let path = "/requests/lists/\(answer.text("list") ?? "")"
            return try await eventually("the request is sent", within: .seconds(60)) { () -> RequestID?? in
                guard let item = try await company.insist("GET", path).items.first, let outcome = item["outcome"] as? String else {
                    return nil
                }
                switch outcome {
                case "opened": return .some((item["request"] as? String).flatMap { RequestID($0) })
                case "covered": return .some(nil)
                default: return nil
                }
            }
        default: throw UnexpectedAnswer("opening", answer)
        }
    }

    private func answer(_ id: RequestID, _ accept: Bool) async throws {
        let before = try known(id)
        let reply = try await people[before.person].say(
            "POST", "/consent/v1/requests/\(id)/answer", ["answer": accept ? "accept" : "refuse"])
        let grant = reply.text("grant").flatMap { GrantID($0) }
        let wanted: Int
        switch before.status {
        case .pending:
            wanted = 200
            // INV-08: a grant exactly where it was accepted.
            expect((grant != nil) == accept, "INV-08: \(accept ? "accepting" : "refusing") gave \(grant.map { "\($0)" } ?? "no grant")")
            model.answered(id, grant: grant)
        case .declined: wanted = accept ? 409 : 200
        case .expired: wanted = 409
        case .approved, .revoked, .ended: wanted = accept ? 200 : 409
        }
        expect(reply.status == wanted, "answering \(accept) to \(before.status) said \(reply.status)")
    }

    private func expire(_ id: RequestID) async throws {
        guard try known(id).status == .pending else { return }
        // Time passes while nothing runs: the row's own time to answer is over.
        consent.abandon()
        try await consent.kill()
        try suite.spoil(
            .consent, "UPDATE sharing_requests SET answer_by = ? WHERE request = ?",
            [(Timestamp.now - .seconds(1)).milliseconds, Data(id.bytes)])
        consent.start()
        try await consent.untilReady()
        model.requests[id]?.status = .expired
        let patient = people[try known(id).person]
        try await eventually("the request has expired") {
            try await patient.say("GET", "/consent/v1/requests/\(id)").text("status") == "EXPIRED"
        }
    }

    // MARK: Money and data

    private func pay(_ id: RequestID, _ isDeclined: Bool) async throws {
        try await converge(id)
        let before = try known(id)
        let company = companies[before.company]
        let path = "/payments/\(try await company.payment(of: id))/attempts"
        let body = GatewayProgram.body(isDeclined ? ["method": "card", "paymentMethod": "sandbox_declined"] : ["method": "card"])
        let answer = try await eventually("paying is answered", within: Self.patience) {
            let answer = try await company.insist("POST", path, body)
            return answer.status == 202 || answer.problem == "payment-under-way" ? nil : answer
        }
        let wanted: (status: Int, word: String)
        switch before.payment {
        case "due": wanted = isDeclined ? (402, "payment-declined") : (200, "paid")
        case "paid": wanted = (200, "paid")
        case "not-due": wanted = (409, "payment-not-due")
        default: wanted = (409, "payment-over")
        }
        let word = answer.problem ?? answer.text("status") ?? ""
        expect(
            answer.status == wanted.status && word == wanted.word, "PAY-09: paying what is \(before.payment) said \(answer.status) \(word)")
        if before.payment == "due", word == "paid" { model.requests[id]?.isPaid = true }
    }

    private func read(_ id: RequestID, _ type: Metric) async throws {
        try await converge(id)
        try await probe(id, type)
        let stranger = companies[1 - (try known(id)).company]
        let strange = try await stranger.insist("GET", "/requests/\(id)/data?type=\(type.code)")
        expect(strange.status == 404, "INV-06: another organisation was told \(strange.status)")
    }

    /// INV-04, INV-20: data leave exactly where they may; once the gateway knows what consent said.
    func probe(_ id: RequestID, _ type: Metric) async throws {
        let request = try known(id)
        let answer = try await companies[request.company].insist("GET", "/requests/\(id)/data?type=\(type.code)&limit=1000")
        let may = request.mayHave(type)
        expect(
            (answer.status == 200) == may,
            "INV-04, INV-20: \(type) of \(id), \(request.status), paid \(request.isPaid), said \(answer.status) \(answer.problem ?? "")")
        guard answer.status == 200, may else { return }
        let window = (beginning + Self.day * request.days.lowerBound)..<(beginning + Self.day * request.days.upperBound)
        let times = answer.items.compactMap { ($0["at"] as? String).flatMap { Timestamp(rfc3339: $0) } }
        // The first step may begin before the period does.
        expect(!times.isEmpty && times.allSatisfy { window.contains($0 + .seconds(1)) }, "INV-04: \(id) gave \(times.count) values")
        model.requests[id]?.isDelivered = true
        deliveries += 1
    }

    private func file(_ id: RequestID) async throws {
        try await converge(id)
        let before = try known(id)
        let company = companies[before.company]
        let path = "/requests/\(id)/files"
        let may = before.status == .approved && before.isPaid
        // Ingest may not have heard of the grant yet; a page waits for that.
        if may, let type = before.shared.first { try await probe(id, type) }
        let begun = try await company.insist("POST", path, GatewayProgram.body(["format": "csv"]))
        expect((begun.status == 202) == may, "INV-20: a file of \(before.status), paid \(before.isPaid), said \(begun.status)")
        guard begun.status == 202, may else { return }
        let job = path + "/" + (begun.text("file") ?? "")
        let written = try await eventually("the file is written", within: .seconds(60)) {
            let shown = try await company.insist("GET", job)
            return shown.text("state") == "open" ? nil : shown
        }
        guard let name = written.list("parts").first?["name"] as? String else {
            return expect(false, "a file of \(id) is \(written.text("state") ?? "gone")")
        }
        let part = job + "/parts/\(name)"
        let downloaded = try await company.insist("GET", part)
        expect(downloaded.status == 200, "a file that is done said \(downloaded.status)")
        files.append((id, part, before.shared))
    }
}
