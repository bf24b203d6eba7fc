// One fact as the log keeps it.

package import Contracts

/// A row of the log. `body` is the owner's: a sealed payload, or the name of the chunk from which the payload is rendered again.
package struct StreamRow: Hashable, Sendable {
    package let stream: String
    /// From 1, without gaps in its stream.
    package let sequence: Int64
    /// Kind and version of the payload, or `StreamHeader.erased`.
    package let type: String
    /// Nil where the fact is about nobody, or about a person who has been erased.
    package let subject: PersonID?
    /// When the fact was made, by the publisher's clock.
    package let at: Timestamp
    /// May be empty.
    package let trace: String
    package let body: [UInt8]

    package var isErased: Bool { type == StreamHeader.erased }

    /// As it is published and replayed; `head` is the stream's last sequence now.
    package func header(epoch: String, head: Int64) -> StreamHeader {
        StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: head, type: type, subject: subject?.description ?? "", at: at,
            trace: trace)
    }
}
