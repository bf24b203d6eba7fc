// Acknowledgements that cannot be taken: whoever sent one reads which field is wrong.

import Contracts
import Foundation
import HTTPKit
import Outbound
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Acknowledgements that are refused, whole service", .timeLimit(.minutes(2)))
struct AcknowledgementStories {
    private static func capAcknowledgement(of id: String, named name: String) -> String {
        """
        <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>\(name)</identifier><msgType>Ack</msgType>\
        <references>sos@localhost,\(id),2026-01-10T00:00:05+00:00</references></alert>
        """
    }

    @Test("UI-14: an acknowledgement that cannot be taken is refused with the field that is wrong: an ackId of two words, above all")
    func fields() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, dispatcher in
            let id = "\(try await stage.callForHelp(.random()))-0"
            try await eventually("the call") { !desk.receipts.isEmpty }
            func json(_ fields: String) -> String { "{\"ack\":{\"messageId\":\"\(id)\",\(fields)}}" }
            let cap = CAPDocument.contentType
            let rows: [(body: String, type: String, pointers: [String])] = [
                (json("\"result\":\"accepted\",\"ackId\":\"z z\""), "application/json", ["/ack/ackId"]),
                (json("\"result\":\"accepted\",\"ackId\":\"\""), "application/json", ["/ack/ackId"]),
                (json("\"result\":\"accepted\""), "application/json", ["/ack/ackId"]),
                (json("\"result\":\"rejected\",\"ackId\":\"z z\""), "application/json", ["/ack/ackId"]),
                (json("\"result\":\"perhaps\",\"ackId\":\"a\""), "application/json", ["/ack/result"]),
                ("{\"ack\":{\"messageId\":\"emg_1-0\",\"result\":\"accepted\",\"ackId\":\"a\"}}", "application/json", ["/ack/messageId"]),
                ("{}", "application/json", ["/ack"]), ("taken", "application/json", [""]),
                (Self.capAcknowledgement(of: id, named: "z z"), cap, ["/alert/identifier"]),
                (Self.capAcknowledgement(of: "emg_1-0", named: "a"), cap, ["/alert/references"]),
            ]
            for row in rows {
                var request = OutboundRequest.post(
                    "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)/sos/v1/dispatches/\(id)/acknowledgements",
                    Array(row.body.utf8), contentType: row.type)
                request.headers.append(("Authorization", "Bearer \(dispatcher.parts.token)"))
                let answer = try await Self.sender.send(request)
                let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body))
                #expect(answer.status == 422 && problem.type == Problem.prefix + "malformed-acknowledgement", "\(row.body)")
                #expect(problem.errors?.map(\.pointer) == row.pointers, "\(row.body)")
                #expect(problem.errors?.allSatisfy { !$0.detail.isEmpty && !$0.detail.contains("z z") } == true)
            }
            #expect(try await !stage.timeline(EmergencyID(id.dropLast(2)) ?? .random()).contains("acknowledged"))
        }
    }

    @Test(
        "SOS-42: an answer that could not be read as an acknowledgement was `delivered, not acknowledged`: the timeline says why, and no word of it",
        arguments: [
            #""result":"rejected","ackId":"an na""#, #""result":"anna","ackId":"desk-1""#, #""result":"accepted","ackId":"an na""#,
        ])
    func ignoredAnswer(fields: String) async throws {
        let desk = Desk(.writes(fields))
        try await Stage.playStarted(desk) { stage, _ in
            let emergency = try await stage.callForHelp(.random())
            let step = try await eventually("the ignored answer") {
                let steps = try await stage.question(ReadTimeline(emergency: emergency)).steps
                return steps.first { $0.detail.contains(": status 200, answer ignored: ") }
            }
            #expect(!step.detail.contains("anna") && !step.detail.contains("an na"))
            #expect(try await stage.state(emergency) == "dispatching")
        }
    }

    private static let sender = HTTPSender.anywhere()
}
