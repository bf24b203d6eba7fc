// The one thing about a store that a simulation plays: when its disk takes a write, and whether.

/// A store with such a disk has no thread of its own: bodies run on their caller's, on the real file and in a real transaction, so that
/// nothing depends on which thread comes first.
package protocol PlayedDisk: Sendable {
    /// Calls `commit` once the disk has come to it, and gives what that gives; or throws in its place, with or without having called it,
    /// as a disk does that refuses, or of which nobody knows what it did.
    func write<Value: Sendable>(_ commit: @Sendable () throws -> Value) async throws -> Value
}
