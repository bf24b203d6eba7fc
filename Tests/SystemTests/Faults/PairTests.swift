// Two real dispatchers: the first is killed or stopped at every point around an alert, and help is called all the same, once.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("Faults: the first of two dispatchers", .serialized)
struct PairTests {
    /// The second's own time, and what a loaded machine may add to it.
    private static let bound = Duration.seconds(5)

    @Test(
        "SOS-15, SOS-28, INV-22: the first dispatcher killed or stopped at any time around an alert: help is called within 5 s, under one id",
        arguments: [(SIGKILL, 0), (SIGKILL, 1500), (SIGKILL, 3450), (SIGSTOP, 500), (SIGSTOP, 3300)])
    func firstIsGone(signal: Int32, after milliseconds: Int64) async throws {
        try await RealSuite.with(SuiteShape(hasDeputy: true)) { suite in
            let person = try await suite.addPerson(supervised: true)
            try await eventually("the second supervises too") {
                let reply = try await SuiteConnection.with(suite.layout) {
                    try await $0.ask(ReadSupervision(person: person.person), at: .sosDeputy)
                }
                return reply.subscribed
            }
            suite.sos.abandon()
            let t0 = Timestamp.now
            let upload = Task { try await Self.fail(person, at: suite.server) }
            try await Task.sleep(for: .milliseconds(milliseconds))  // The moment of the fault is what this test varies.
            suite.sos.signal(signal)
            try await upload.value
            let called = try await eventually("the desk is called") { try DeskLedger.entries(suite.deskLedger).first { $0.kind == "alert" } }
            #expect(called.receivedAt - t0 < Self.bound)
            #expect(called.receivedAt - t0 >= .milliseconds(3400))
            let emergencies = try await SuiteConnection.with(suite.layout) {
                try await $0.ask(ListEmergencies(person: person.person, limit: 10), at: .sosDeputy)
            }.emergencies
            #expect(emergencies.map(\.state) == ["dispatched"])
            // The first is back: it takes over, and calls nobody anew.
            if signal == SIGSTOP { suite.sos.signal(SIGCONT) } else { suite.sos.start() }
            try await eventually("the first knows") {
                try await suite.ask(ListEmergencies(person: person.person, limit: 10)).emergencies.map(\.state) == ["dispatched"]
            }
            let ids = try DeskLedger.entries(suite.deskLedger).map(\.messageId)
            #expect(Set(ids).count == 1)
        }
    }
}
