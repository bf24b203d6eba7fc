// Which members of a message that came again are not as they were at first.

import Foundation
import Sealing

/// A hash of each member of a message's JSON, so that nothing of a person is kept for it.
struct MessageMembers: Hashable, Sendable {
    /// Stands for all of what is no JSON object.
    static let whole = "the whole"

    private let hashes: [String: [UInt8]]

    init(_ body: [UInt8]) {
        guard let members = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] else {
            hashes = [MessageMembers.whole: Digest.sha256(body)]
            return
        }
        hashes = members.compactMapValues { value in
            (try? JSONSerialization.data(withJSONObject: [value], options: .sortedKeys)).map { Digest.sha256($0) }
        }
    }

    /// The names of those that differ, or that one of the two lacks, in order.
    func differences(from other: MessageMembers) -> [String] {
        Set(hashes.keys).union(other.hashes.keys).filter { hashes[$0] != other.hashes[$0] }.sorted()
    }
}
