// Sentences behind many short reads under grants: each stretch taken, and all that was taken recorded in one transaction.

import Contracts
import GRDB
import ServiceKit
import Storage

struct GrantedRangeStore: Sendable {
    /// Entries that one stretch gives at most, so that a backlog of one person does not keep the others waiting.
    private static let mostOfStretch = 2000

    let accesses: GrantedAccessStore

    enum Taken: Sendable {
        case read(GrantedStretch, readTo: Timestamp)
        case denied(ReadDenial)

        var hasSamples: Bool {
            if case .read(let stretch, _) = self { !stretch.granules.isEmpty } else { false }
        }
    }

    /// - Parameter room: bytes that are left of the answer; what is taken is taken off.
    func take(
        _ db: Database, _ stretch: ReadSampleRanges.Stretch, now: Timestamp, silence: Duration, room: inout Int
    ) throws -> Taken {
        let fit = min(Self.mostOfStretch, room / GrantedPage.bytes(of: stretch.type))
        let asked = ReadSamples(
            grant: stretch.grant, organisation: stretch.organisation, type: stretch.type, from: stretch.from, to: stretch.to, after: nil,
            limit: max(1, fit))
        do {
            let taken = try accesses.take(db, asked, limit: fit, now: now, silence: silence)
            room -= taken.granules.count * GrantedPage.bytes(of: asked.type)
            return .read(taken, readTo: fit > 0 ? taken.readTo : stretch.from)
        } catch let denial as ReadDenial {
            return .denied(denial)
        } catch is KeyDestroyed {
            return .denied(.nothingLeft)
        } catch is DamagedKey {
            return .denied(.keyDamaged)
        }
    }

    /// Judges each stretch again and writes down what is about to leave (SHR-24).
    /// - Returns: what may leave.
    func record(_ db: Database, _ taken: [Taken], now: Timestamp, silence: Duration, trace: String) throws -> [Taken] {
        var appending = StreamLog.Appending()
        let judged = try taken.map { one -> Taken in
            guard case .read(let stretch, _) = one else { return one }
            let denial = try accesses.record(db, stretch, in: &appending, now: now, silence: silence, trace: trace)
            return denial.map(Taken.denied) ?? one
        }
        try appending.finish(db)
        return judged
    }
}
