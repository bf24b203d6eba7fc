// What can be wrong with the simulated suite on purpose, to show that the simulation notices. The dispatchers' code is the product's own:
// a flaw is planted where the simulation surrounds it, in what its clock, its disk, its files and its network do.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit

@testable import SOSDispatcher

enum PlantedFlaw: String, CaseIterable, Sendable {
    /// Ingest answers the device before the entries are on disk.
    case acknowledgesBeforeCommit = "acknowledges-before-commit"
    /// The consumer is told that what it asks for is gone, and goes on behind the gap.
    case dropsOnGap = "drops-on-gap"
    /// An emergency's name is another one after each start.
    case randomNames = "random-names"
    /// A message is not sent a fourth time.
    case givesUpAfterThree = "gives-up-after-three"
    /// Timers and attempts go by the wall clock.
    case wallClockTimers = "wall-clock-timers"
    /// Whatever acknowledgement comes back counts for the message that was sent.
    case believesAnyAcknowledgement = "believes-any-acknowledgement"
    /// After a restart the stream is followed from its head.
    case skipsReplayAfterRestart = "skips-replay-after-restart"
    /// How far the stream was heard is stored before what came of it.
    case positionBeforeEffect = "position-before-effect"
    /// After a restart only new messages are sent.
    case forgetsOutbox = "forgets-outbox"
    /// A call waits for the disk as long as the disk likes.
    case waitsForTheDisk = "waits-for-the-disk"
    /// A call is cancelled by values alone.
    case cancelsOnRecovery = "cancels-on-recovery"
    /// An acknowledged message is sent on.
    case repeatsAcknowledged = "repeats-acknowledged"
    /// The two dispatchers hear nothing of each other.
    case tellsTheOtherNothing = "tells-the-other-nothing"
    /// Of one person's facts alone ingest gives the last.
    case leavesOutEarlierFacts = "leaves-out-earlier-facts"
    /// Ingest gives nobody's facts alone, so that whoever is in danger waits for everybody's.
    case refusesOnePerson = "refuses-one-person"

    /// What a process that was killed finds changed in its files when it is back.
    func spoil(_ dispatcher: SimulatedDispatcher, in suite: SimulatedSuite) {
        let file = dispatcher.folder.appendingPathComponent("\(dispatcher.role.peer).db").path
        do {
            switch self {
            case .skipsReplayAfterRestart, .positionBeforeEffect:
                // Of one that was killed between the two, the other stored first.
                let heads = self == .positionBeforeEffect ? dispatcher.headsAtEnd : suite.ingest.logs.mapValues(\.count)
                try DatabaseQueue(path: file).write { db in
                    for (stream, head) in heads {
                        try db.execute(sql: "UPDATE consumer_positions SET next = ? WHERE stream = ?", arguments: [head + 1, stream])
                    }
                }
            case .forgetsOutbox:
                try DatabaseQueue(path: file).write { db in
                    try db.execute(sql: "DELETE FROM dispatch_outbox")
                    try db.execute(sql: "DELETE FROM dispatch_lines")
                }
            default: break
            }
        } catch {
            suite.violation("cannot plant \(rawValue): \(error)")
        }
    }
}

extension SimulatedSuite {
    /// The key files of one process: those of the suite, unless names are to change.
    func keys(ofProcess process: Int) throws -> URL {
        guard flaw == .randomNames else { return keys }
        let own = folder.appendingPathComponent("keys-\(process)")
        try FileManager.default.copyItem(at: keys, to: own)
        // Where there is none, another one is made.
        try FileManager.default.removeItem(at: KeyFiles(folder: own).file("emergency-identity.key", of: .sosDispatcher))
        return own
    }
}
