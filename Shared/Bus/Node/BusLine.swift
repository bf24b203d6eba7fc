// What a service needs of its place on the bus, whoever carries the frames.

package import Contracts

/// `BusNode` does it over sockets, the simulation of `Tests/Simulation` in one thread and its own time. Bounds, order and errors are those
/// that `BusNode` says of each.
package protocol BusLine: Sendable {
    func publisher(of family: StreamFamily, at endpoint: String, epoch: String, heads: [String: Int64]) async throws(BusError) -> Publisher
    func answer(at endpoint: String, _ methods: Methods) async throws(BusError)
    func client(of peer: Peer, at endpoint: String, serverKey: String) async throws(BusError) -> BusClient
    /// Of all the family's streams.
    func inbox(of family: StreamFamily, at endpoint: String, serverKey: String) async throws(BusError) -> StreamInbox
    func selfTest() async throws(BusError)
    func shutdown() async
}

extension BusNode: BusLine {
    package func inbox(of family: StreamFamily, at endpoint: String, serverKey: String) async throws(BusError) -> StreamInbox {
        try await inbox(of: family, streams: nil, at: endpoint, serverKey: serverKey)
    }
}
