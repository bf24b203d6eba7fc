// Processes that stand still for good, under `trackme up` and `trackme watch`: noticed, killed, started again, and help is called meanwhile.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Processes that hang")
    struct HangTests {
        /// Who stands still, when, and what is promised from the first try of the critical entry's upload to the acknowledgement.
        private struct Halt {
            let name: String
            let who: [@Sendable (RealSuite) -> ServiceProcess?]
            /// After the first try, in milliseconds.
            let moment: ClosedRange<Int>
            let promise: Duration
            /// Of the machine, as far as it counts.
            let slowness: Double
        }

        private static let (call, restart) = (MachinePace.mostSlownessOfCall, MachinePace.mostSlownessOfRestart)
        private static let halts = [
            Halt(name: "ingest", who: [\.ingest], moment: -200...200, promise: .milliseconds(6500), slowness: restart),
            Halt(name: "the first dispatcher", who: [\.sos], moment: 0...3400, promise: .seconds(5), slowness: call),
            Halt(name: "the second dispatcher", who: [\.deputy], moment: 0...3400, promise: .seconds(5), slowness: call),
            Halt(
                name: "both dispatchers", who: [\.sos, \.deputy], moment: 0...3400, promise: .milliseconds(6500), slowness: restart),
        ]

        /// Each of these is waited for on purpose: the time to say "I am fine".
        private static let prompt = Duration.milliseconds(3500)
        /// Uploads a second, of all together.
        private static let uploadsPerSecond = 100

        @Test(
            "F24: SOS-41, SOS-15, INV-22: ingest, a dispatcher or both halted under uploads: one call, acknowledged within 5 s, or 6.5 s, of the device's first try",
            .timeLimit(.minutes(30)))
        func halted() async throws {
            try await RealSuite.with(SuiteShape(hasDeputy: true, isSupervised: true)) { suite in
                var chance = FaultChance(of: "F24")
                let pace = MachinePace()
                defer { pace.end() }
                let people = try await suite.addPeople(max(10, Self.halts.count * FaultSizes.halts))
                let load = try LoadGenerator(
                    people, to: suite, interval: .milliseconds(1000 * people.count / Self.uploadsPerSecond))
                load.start()
                for wearer in load.wearers {
                    try await eventually("the second supervises too") {
                        try await suite.ask(ReadSupervision(person: wearer.person), at: .sosDeputy).subscribed
                    }
                }
                var outages: [ClosedRange<Timestamp>] = []
                var took: [[Int64]] = Self.halts.map { _ in [] }
                for cycle in 0..<FaultSizes.halts {
                    for (index, halt) in Self.halts.enumerated() {
                        try await load.untilAcknowledged(20)
                        let wearer = load.wearers[cycle * Self.halts.count + index]
                        let begun = Timestamp.now
                        let moment = Duration.milliseconds(Int.random(in: halt.moment, using: &chance))
                        if moment < .zero {
                            try await suite.halt(halt.who)
                            // The moment of the fault is what this test varies.
                            try await Task.sleep(for: .zero - moment)
                        }
                        await wearer.fallIll()
                        if moment >= .zero {
                            try await Task.sleep(for: moment)  // Likewise.
                            try await suite.halt(halt.who)
                        }
                        let passed = try await suite.firstTryToAcknowledgement(of: wearer, load)
                        outages.append(begun ... .now)
                        took[index].append(passed.wholeMilliseconds)
                        let bound = pace.allowed(halt.promise, waiting: Self.prompt, most: halt.slowness)
                        #expect(passed < bound, "\(halt.name) halted, \(moment) after")
                        try await suite.untilSupervisedAgain()
                        try await suite.expectBothTimes(of: wearer, load)
                    }
                }
                let report = try await suite.judge(load, outages: outages)
                let figures = zip(Self.halts, took).map { "\($0.name): max \($1.max() ?? 0) ms of \($1.count)" }
                print("figure: F24: first try to acknowledged, halted \(figures.joined(separator: ", "))")
                print("figure: F24: machine \((pace.slowness * 10).rounded() / 10) times as slow as a quiet one; \(report.figures.line)")
                #expect(report.violations.isEmpty, "\(report.summary)")
            }
        }

        @Test(
            "R6, SOS-41, NFR-08: each service halted under `trackme up` is back within two seconds, and the others stay as they are",
            .timeLimit(.minutes(5)))
        func backWithinTwoSeconds() async throws {
            try await RealSuite.with(SuiteShape(hasAccounts: true, hasDeputy: true, isSupervised: true)) { suite in
                let pace = MachinePace()
                defer { pace.end() }
                let services = [suite.ingest, suite.sos, suite.deputy, suite.consent, suite.notifier, suite.gateway].compactMap { $0 }
                var took: [String] = []
                for service in services {
                    let before = try services.map { try suite.processID(of: $0) }
                    let begun = ContinuousClock.now
                    kill(try suite.processID(of: service), SIGSTOP)
                    try await eventually("\(service.name) is another process") {
                        (try? suite.processID(of: service)).map { !before.contains($0) } ?? false
                    }
                    try await service.untilReady()
                    let back = ContinuousClock.now - begun
                    took.append("\(service.name) \(back.wholeMilliseconds)")
                    #expect(back < pace.allowed(.seconds(2), waiting: .seconds(1)), "\(service.name)")
                    let changed = try zip(services, before).filter { try suite.processID(of: $0) != $1 }.map(\.0.name)
                    #expect(changed == [service.name])
                }
                print("figure: halted, back after \(took.joined(separator: ", ")) ms")
            }
        }

        @Test("SOS-41: a supervisor that stood still itself kills nobody for the beats that it missed", .timeLimit(.minutes(5)))
        func haltedSupervisor() async throws {
            try await RealSuite.with(SuiteShape(hasDeputy: true, isSupervised: true)) { suite in
                let services = [suite.ingest, suite.sos, suite.deputy].compactMap { $0 }
                let before = try services.map { try suite.processID(of: $0) }
                suite.supervisor?.signal(SIGSTOP)
                // Long enough for five bounds of silence.
                try await Task.sleep(for: .seconds(5))
                suite.supervisor?.signal(SIGCONT)
                // It lives again when it notices what happens now.
                kill(before[2], SIGSTOP)
                try await eventually("the second dispatcher is another process") {
                    (try? suite.processID(of: services[2])).map { $0 != before[2] } ?? false
                }
                #expect(try services.prefix(2).map { try suite.processID(of: $0) } == Array(before.prefix(2)))
            }
        }

        @Test("SOS-41: in a container, `trackme watch` kills a service that hangs and starts it again", .timeLimit(.minutes(5)))
        func watched() async throws {
            try await RealSuite.with(SuiteShape(isWatched: true)) { suite in
                let pace = MachinePace()
                defer { pace.end() }
                let before = try suite.processID(of: suite.ingest)
                let begun = ContinuousClock.now
                kill(before, SIGSTOP)
                try await eventually("ingest is another process") {
                    (try? suite.processID(of: suite.ingest)).map { $0 != before } ?? false
                }
                try await suite.ingest.untilReady()
                let back = ContinuousClock.now - begun
                print("figure: halted under a watch of its own, back after \(back.wholeMilliseconds) ms")
                #expect(back < pace.allowed(.seconds(2), waiting: .seconds(1)))
                #expect(suite.ingest.ends.isEmpty, "the watch itself went on")
            }
        }
    }
}

extension RealSuite {
    /// The process that listens on this service's port, whoever started it.
    func processID(of service: ServiceProcess) throws -> pid_t {
        let wanted = Data("\0TRACKME_HTTP_PORT=\(service.port)\0".utf8)
        let found = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.filter { process in
            guard let environment = FileManager.default.contents(atPath: "/proc/\(process)/environ"),
                let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
            else { return false }
            return (Data([0]) + environment).range(of: wanted) != nil && ["trackme", "setpriv"].allSatisfy { !program.hasSuffix("/" + $0) }
        }
        guard found.count == 1 else { throw Tool.Fault(description: "\(found.count) processes are \(service.name)") }
        return found[0]
    }

    /// SIGSTOP to all of these at once.
    func halt(_ who: [@Sendable (RealSuite) -> ServiceProcess?]) async throws {
        let processes = try who.compactMap { $0(self) }.map { try processID(of: $0) }
        for process in processes { kill(process, SIGSTOP) }
    }

    /// From the first try of this person's first critical upload until a desk has acknowledged the call.
    func firstTryToAcknowledgement(of wearer: Wearer, _ load: LoadGenerator) async throws -> Duration {
        let person = wearer.person
        let tried = try await eventually("the critical entry was sent") { load.ledger.firstTry(of: person) }
        let emergency = try await eventually("the emergency is known", within: .seconds(40)) {
            try? await ask(ListEmergencies(person: person, limit: 1)).emergencies.first
        }
        let taken = try await eventually("it is acknowledged", within: .seconds(40)) {
            DeskLine.read(deskLedger).first { $0.emergency == emergency.emergency && $0.isAcknowledgement }
        }
        return taken.receivedAt - tried
    }

    /// The person's only emergency, whose timeline begins with the device's first try and names the receipt.
    func expectBothTimes(of wearer: Wearer, _ load: LoadGenerator) async throws {
        let person = wearer.person
        let emergencies = try await ask(ListEmergencies(person: person, limit: 10)).emergencies
        let emergency = try #require(emergencies.first)
        #expect(emergencies.count == 1)
        let steps = try await ask(ReadTimeline(emergency: emergency.emergency)).steps
        #expect(steps.first?.event == "first-tried" && steps.first?.at == load.ledger.firstTry(of: person), "\(steps)")
        #expect(steps.contains { $0.event == "alerted" && $0.at >= emergency.t0 - .milliseconds(1) }, "\(steps)")
        let messages = Set(DeskLine.read(deskLedger).filter { $0.emergency == emergency.emergency && $0.sequence == 0 }.map(\.messageId))
        #expect(messages.count == 1)
    }

    /// All that a halt could have ended.
    func untilSupervisedAgain() async throws {
        for service in [ingest, sos, deputy].compactMap({ $0 }) { try await service.untilReady() }
    }
}
