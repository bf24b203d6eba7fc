// Whether everybody in this service is made up.

import Foundation
import ServiceKit

/// Under the prefix `ano`. For sandboxes and for the attack suite; never beside people who exist.
struct SyntheticSettings: Hashable, Sendable {
    /// 0 for a service of real people.
    let people: Int
    let days: Int
    let seed: UInt64
    /// Whether they measure on after these days.
    let isLive: Bool
    /// Where it is written down who was made up; nil for nowhere.
    let shadow: URL?

    init(_ reader: inout SettingsReader) {
        people = reader.read(
            .integer(
                "ano.synthetic_people", default: 0, in: 0...1_000_000,
                "People who are made up at the first start, in a service that has no others; 0: none."))
        days = reader.read(.integer("ano.synthetic_days", default: 7, in: 1...90, "Past days of which made-up people have data."))
        seed = UInt64(
            reader.read(
                .integer(
                    "ano.synthetic_seed", default: 1, in: 0...Int(Int32.max), "From the same seed the same people are made up.")))
        isLive = reader.read(
            .flag(
                "ano.synthetic_live", default: false,
                "Whether made-up people go on measuring, so that hours close and subscriptions have windows, as in a sandbox."))
        shadow = reader.read(
            .optionalPath("ano.synthetic_shadow", "File in which tests find who was made up, with every value; none: nowhere."))
        for (name, isSet) in [("ano.synthetic_shadow", shadow != nil), ("ano.synthetic_live", isLive)] where people == 0 && isSet {
            reader.refuse(name, "is for a population that is made up: ano.synthetic_people says how many")
        }
    }

    var isOn: Bool { people > 0 }
}
