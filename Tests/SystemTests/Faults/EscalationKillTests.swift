// `kill -9` of the dispatcher while nobody answers: before and after the next emergency service is called, and between calls to contacts.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Killed while nobody answers")
    struct EscalationKillTests {
        private static let carla = "+393330000071"
        private static let rounds = 2

        /// Another emergency service, responsible everywhere, asked after the one of the settings.
        private struct Neighbour {
            let port: Int
            let ledger: URL
            private let secret: URL
            private let suite: RealSuite

            init(in suite: RealSuite) async throws {
                self.suite = suite
                port = try FreePorts.find(1)[0]
                ledger = suite.root.appendingPathComponent("neighbour.jsonl")
                secret = suite.root.appendingPathComponent("neighbour.secret")
                let settings = IntegratorSettings(
                    name: "neighbour", area: ServiceArea(), url: "http://127.0.0.1:\(port)\(DeskService.path)", priority: 900)
                let added = try await suite.ask(AddIntegrator(settings: settings, replaces: false))
                _ = FileManager.default.createFile(
                    atPath: secret.path, contents: Data(added.webhookSecret.utf8), attributes: [.posixPermissions: 0o600])
            }

            func desk(_ mode: String) throws -> ServiceProcess {
                let command = ChildCommand(
                    executable: ServiceExecutable.folder.appendingPathComponent("trackme").path,
                    arguments: [
                        "desk", "--port", "\(port)", "--ledger", ledger.path, "--data", suite.data.path, "--secret-file", secret.path,
                        "--mode", mode,
                    ], environment: suite.layout.environment)
                return try ServiceProcess(
                    "neighbour", port: port, command: command, log: suite.root.appendingPathComponent("neighbour.log"))
            }
        }

        @Test(
            "F05: SOS-19, SOS-22, SOS-28, INV-15: kill -9 around each escalation: the next service and the contacts are called on, each once",
            .timeLimit(.minutes(5)))
        func escalation() async throws {
            let company = try TextPeer()
            defer { company.end() }
            let dispatcher = [
                "TRACKME_SOS_NEXT_INTEGRATOR_S": "2", "TRACKME_SOS_CONTACT_CALL_S": "2", "TRACKME_SOS_CONTACT_ROUNDS": "\(Self.rounds)",
            ]
            let notifier = ["TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(company.port)/messages"]
            let shape = SuiteShape(
                environment: [.sosDispatcher: dispatcher, .notifier: notifier], hasAccounts: true, deskMode: "silent")
            try await RealSuite.with(shape) { suite in
                let neighbour = try await Neighbour(in: suite)
                let silent = try neighbour.desk("silent")
                silent.start()
                try await silent.untilReady()
                let anna = try await Family(in: suite, contacts: [("Carla", Self.carla)])
                @Sendable func calls() -> Int { company.messages(to: Self.carla).count { $0.channel == "call" } }

                try await anna.beat(31)
                let emergency = try await eventually("the alert") { [anna] in
                    try await suite.ask(ListEmergencies(person: anna.person, limit: 1)).emergencies.first?.emergency
                }
                _ = try await suite.ask(AnswerPrompt(person: anna.person, answer: .help))
                try await eventually("the first service is called") { !DeskLine.read(suite.deskLedger).isEmpty }
                var chance = FaultChance(of: "kills of an escalation")
                // The fault itself: somewhere before the next one's turn.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...1500, using: &chance)))
                var recoveries = RecoveryTimes()
                recoveries.add(try await suite.sos.killAndRecover())
                try await eventually("the next service is called as well") { !DeskLine.read(neighbour.ledger).isEmpty }
                recoveries.add(try await suite.sos.killAndRecover())
                try await eventually("the contact is called again") { calls() >= 2 }
                recoveries.add(try await suite.sos.killAndRecover())
                try await eventually("and again, as often as is set") { calls() >= 1 + Self.rounds }
                let before = [suite.deskLedger, neighbour.ledger].map { DeskLine.read($0).count }
                try await eventually("both services are called on") {
                    DeskLine.read(suite.deskLedger).count > before[0] && DeskLine.read(neighbour.ledger).count > before[1]
                }

                try await silent.stop(with: SIGKILL)
                let taking = try neighbour.desk("accept")
                taking.start()
                try await eventually("the first service is told who has the call") {
                    DeskLine.read(suite.deskLedger).contains { $0.messageId == "\(emergency)-1000000" }
                }
                let texts = try await eventually("the contact is told that it was taken") {
                    let texts = company.messages(to: Self.carla).filter { $0.channel == "sms" }
                    return texts.count >= 2 ? texts : nil
                }
                let steps = try await suite.ask(ReadTimeline(emergency: emergency)).steps
                print("figure: F05: kill -9 around an escalation, 3 cycles: \(recoveries.line)")
                #expect(steps.count { $0.event == "called-in-addition" } == 1)
                #expect(steps.count { $0.event == "acknowledged" } == 1 && steps.count { $0.event == "released" } == 1)
                #expect(steps.count { $0.event == "contact-called-again" } == Self.rounds)
                #expect(calls() == 1 + Self.rounds, "nobody is rung up twice for one thing")
                #expect(texts.count == 2 && Set(texts.map(\.text)).count == 2)
                #expect(Set(DeskLine.read(neighbour.ledger).map(\.messageId)) == ["\(emergency)-0"])
                #expect(Set(DeskLine.read(suite.deskLedger).map(\.messageId)) == ["\(emergency)-0", "\(emergency)-1000000"])
                let bodies = (DeskLine.read(suite.deskLedger) + DeskLine.read(neighbour.ledger)).filter { $0.sequence == 0 }
                #expect(Set(bodies.map(\.sha256)).count == 1 && bodies.allSatisfy(\.verified), "the same bytes, whoever gets them when")
                #expect(try await suite.ask(ListEmergencies(person: nil, limit: 10)).emergencies.map(\.emergency) == [emergency])
                #expect(try await suite.ask(VerifyAudit()).firstBroken == nil)
                try await taking.stop()
            }
        }
    }
}
