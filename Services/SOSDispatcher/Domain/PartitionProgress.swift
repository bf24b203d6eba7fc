// How far ingest's stream has been heard, by partition.

import Contracts

/// Where each partition was begun, how far it has been judged, and whether more of it is known to exist than has been heard.
struct PartitionProgress: Sendable {
    /// The epochs.
    private var begun: [String: String] = [:]
    /// Whether all of where they were begun is on disk.
    var isBeginningStored = true
    /// How far each has been judged.
    private(set) var reached: [String: StreamPosition] = [:]
    /// Those with facts that are known to exist and have not been heard yet, and since when.
    private var behind: [String: Timestamp] = [:]

    var hasBegunEverywhere: Bool { StreamFamily.samples.streams.allSatisfy { begun[$0] != nil } }

    /// As the file has it: nothing of that is still to be stored.
    mutating func restore(_ positions: [StreamPosition]) {
        for position in positions { begun[position.stream] = position.epoch }
    }

    /// A partition that is begun, or begins another epoch, is to be stored.
    mutating func begin(_ positions: [StreamPosition]) {
        for position in positions where begun[position.stream] != position.epoch {
            begun[position.stream] = position.epoch
            isBeginningStored = false
        }
    }

    mutating func judged(to positions: [StreamPosition]) {
        for position in positions { reached[position.stream] = position }
    }

    mutating func heard(_ headers: [StreamHeader], at now: Timestamp) {
        for header in headers {
            behind[header.stream] = header.head > header.sequence ? behind[header.stream] ?? now : nil
        }
    }

    /// Since when facts are missing of the partition that the person's facts are in; nil where none are.
    func behindSince(of person: PersonID) -> Timestamp? { behind[StreamFamily.samplesStream(of: person)] }

    /// Where what is not judged yet begins in the partition that the person's facts are in; nil while it is not known.
    func place(of person: PersonID) -> StreamPosition? { reached[StreamFamily.samplesStream(of: person)] }
}
