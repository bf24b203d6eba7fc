// The options of every socket, as one table that is applied whole and read back by a test.

import CZeroMQ

/// The four kinds of socket that are connected to other processes.
enum SocketKind: CaseIterable {
    case publisher, subscriber, client, server

    var type: Int32 {
        switch self {
        case .publisher: ZMQ_XPUB
        case .subscriber: ZMQ_SUB
        case .client: ZMQ_DEALER
        case .server: ZMQ_ROUTER
        }
    }

    var options: [SocketOption] {
        SocketOption.everywhere + own
    }

    private var own: [SocketOption] {
        switch self {
        case .publisher:
            // No XPUB_NODROP: with it one slow consumer would stall all others. VERBOSER shows each consumer's coming and going.
            SocketOption.highWater(sending: 100_000, receiving: 1000) + [
                SocketOption(ZMQ_LINGER, 0), SocketOption(ZMQ_BACKLOG, 1024),
                SocketOption(ZMQ_MAXMSGSIZE, Int64(BusLimits.factBytes)), SocketOption(ZMQ_XPUB_VERBOSER, 1, isReadable: false),
            ]
        case .subscriber:
            SocketOption.highWater(sending: 100_000, receiving: 100_000) + SocketOption.reconnecting + [
                SocketOption(ZMQ_LINGER, 0), SocketOption(ZMQ_CONNECT_TIMEOUT, 1000),
                SocketOption(ZMQ_MAXMSGSIZE, Int64(BusLimits.factBytes)),
            ]
        case .client:
            // IMMEDIATE: nothing is queued towards a process that is not there, so no question arrives late in a burst.
            SocketOption.highWater(sending: 1000, receiving: 10_000) + SocketOption.reconnecting + [
                SocketOption(ZMQ_LINGER, 500), SocketOption(ZMQ_CONNECT_TIMEOUT, 1000), SocketOption(ZMQ_IMMEDIATE, 1),
                SocketOption(ZMQ_MAXMSGSIZE, Int64(BusLimits.answerBytes)),
            ]
        case .server:
            // No ROUTER_HANDOVER: our clients have no fixed routing id that could outlive a connection, and without it nobody can
            // take over another's.
            SocketOption.highWater(sending: 10_000, receiving: 10_000) + [
                SocketOption(ZMQ_LINGER, 500), SocketOption(ZMQ_BACKLOG, 1024),
                SocketOption(ZMQ_ROUTER_MANDATORY, 1, isReadable: false), SocketOption(ZMQ_ROUTER_HANDOVER, 0, isReadable: false),
                SocketOption(ZMQ_MAXMSGSIZE, Int64(BusLimits.frameBytes)),
            ]
        }
    }
}

/// One option and its value.
struct SocketOption {
    let number: Int32
    let value: Int64
    /// libzmq cannot read some options back.
    let isReadable: Bool

    init(_ number: Int32, _ value: Int64, isReadable: Bool = true) {
        (self.number, self.value, self.isReadable) = (number, value, isReadable)
    }

    /// Times in ms. Heartbeats notice a peer that is gone without a word within 0.6 s.
    static let everywhere = [
        SocketOption(ZMQ_HEARTBEAT_IVL, 200), SocketOption(ZMQ_HEARTBEAT_TIMEOUT, 600), SocketOption(ZMQ_HEARTBEAT_TTL, 600),
        SocketOption(ZMQ_HANDSHAKE_IVL, 2000), SocketOption(ZMQ_TCP_MAXRT, 2000),
    ]

    static let reconnecting = [SocketOption(ZMQ_RECONNECT_IVL, 10), SocketOption(ZMQ_RECONNECT_IVL_MAX, 200)]

    /// Messages per peer; approximate.
    static func highWater(sending: Int64, receiving: Int64) -> [SocketOption] {
        [SocketOption(ZMQ_SNDHWM, sending), SocketOption(ZMQ_RCVHWM, receiving)]
    }

    /// libzmq takes and gives these as 64 bits, all others as 32.
    var isWide: Bool { number == ZMQ_MAXMSGSIZE || number == ZMQ_AFFINITY }
}

/// How the two ends of a connection know each other.
enum SocketSecurity {
    /// A bound socket: clients are admitted by the ZAP handler under this domain.
    case admitting(keys: CurveKeyPair, domain: String)
    /// A connecting socket: nobody but the holder of `serverKey` can be at the other end.
    case trusting(serverKey: String, keys: CurveKeyPair)
}

/// ZMQ_ZAP_ENFORCE_DOMAIN. Debian's header hides the name with the draft API, the code behind the number is there: without it a
/// missing ZAP handler would admit everybody.
let zapEnforceDomain: Int32 = 93
