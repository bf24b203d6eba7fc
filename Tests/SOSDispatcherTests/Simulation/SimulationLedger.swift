// What is written down on the way, beside what the services themselves remember.

import Contracts

@testable import SOSDispatcher

struct SimulationLedger {
    /// A message to one integrator.
    struct Line: Hashable {
        var message: DispatchID
        var integrator: String
    }

    /// A message to one integrator, by one process.
    private struct Delivery: Hashable {
        var message: DispatchID
        var process: Int
        var integrator: String
    }

    var violations: [String] = []
    var attempts = 0
    /// When a message first left a dispatcher, and when it first came to an integrator.
    private(set) var firstTried: [DispatchID: Int64] = [:]
    private(set) var firstReceived: [DispatchID: Int64] = [:]
    private var tries: [Delivery: Int] = [:]
    /// Of each message to each integrator, whoever sent it.
    private(set) var trials: [Line: [Int64]] = [:]
    /// When a process was first told that a message is taken.
    private var tellings: [Delivery: Int64] = [:]
    private(set) var firstTold: [DispatchID: Int64] = [:]
    /// When an integrator first said that it does not take the message: it is another's turn.
    private(set) var rejected: [Line: Int64] = [:]
    /// When an integrator first called a dispatcher about a message: before that has it on disk, it may count already.
    private(set) var offered: [Line: Int64] = [:]
    /// When a dispatcher confirmed that an integrator does not take any more what it had taken.
    private(set) var takenBack: [Line: Int64] = [:]
    /// Who said something to the prompt, and whom a dispatcher has answered.
    private(set) var said: [PersonID: Int64] = [:]
    var answered: Set<PersonID> = []
    /// Who has been told of the prompt, or of the call, and will answer.
    var warned: Set<PersonID> = []
    /// When they were not running.
    var downs: [PairRole: [Span]] = [:]
    var ingestDowns: [Span] = []

    /// Emergencies that had to be called for, and the longest times until the first attempt and the first acknowledgement, without what
    /// nobody could help.
    var emergencies = 0
    /// Stores that were restored from a copy.
    var restores = 0
    var slowestCall: Int64 = 0
    /// Of the emergencies, those that were called for before everybody's backlog had been heard.
    var calledAhead = 0

    /// Which try of this process it is.
    mutating func tried(_ id: DispatchID, _ process: Int, to integrator: String, at time: Int64) -> Int {
        firstTried[id] = firstTried[id] ?? time
        tries[Delivery(message: id, process: process, integrator: integrator), default: 0] += 1
        return tries[Delivery(message: id, process: process, integrator: integrator)] ?? 0
    }

    /// It was on its way, and not only meant to be.
    mutating func left(_ id: DispatchID, to integrator: String, at time: Int64) {
        trials[Line(message: id, integrator: integrator), default: []].append(time)
    }

    mutating func rejected(_ id: DispatchID, by integrator: String, at time: Int64) {
        let line = Line(message: id, integrator: integrator)
        rejected[line] = rejected[line] ?? time
    }

    mutating func offered(_ id: DispatchID, by integrator: String, at time: Int64) {
        let line = Line(message: id, integrator: integrator)
        offered[line] = offered[line] ?? time
    }

    /// Whoever was told that it is taken may send it again.
    mutating func takenBack(_ id: DispatchID, by integrator: String, at time: Int64) {
        rejected(id, by: integrator, at: time)
        takenBack[Line(message: id, integrator: integrator)] = time
        tellings = tellings.filter { $0.key.message != id || $0.key.integrator != integrator }
    }

    mutating func received(_ id: DispatchID, at time: Int64) {
        firstReceived[id] = firstReceived[id] ?? time
    }

    mutating func told(_ id: DispatchID, _ process: Int, _ integrator: String, at time: Int64) {
        let errand = Delivery(message: id, process: process, integrator: integrator)
        tellings[errand] = tellings[errand] ?? time
        firstTold[id] = firstTold[id] ?? time
    }

    /// Whether the process has known for some time that the integrator has taken the message.
    func isTold(_ id: DispatchID, _ process: Int, _ integrator: String, at time: Int64) -> Bool {
        tellings[Delivery(message: id, process: process, integrator: integrator)].map { $0 + 50 < time } ?? false
    }

    mutating func said(_ person: PersonID, at time: Int64) {
        said[person] = said[person] ?? time
    }
}
