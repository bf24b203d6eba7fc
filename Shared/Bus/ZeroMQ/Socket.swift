// One ZeroMQ socket. It belongs to the thread that made it; the compiler sees to that, because it is not Sendable.

import CZeroMQ
import Contracts
import Glibc

final class Socket {
    let handle: UnsafeMutableRawPointer
    /// Where it is bound, with the port that a wildcard became; nil for a socket that connects.
    private(set) var endpoint: String?
    private var isOpen = true

    /// A socket of the table's kind with all its options.
    init(_ kind: SocketKind, _ security: SocketSecurity) throws(BusError) {
        handle = try Context.shared.get().makeSocket(kind.type)
        for option in kind.options { try set(option) }
        switch security {
        case .admitting(let keys, let domain):
            try set(SocketOption(ZMQ_CURVE_SERVER, 1))
            try set(ZMQ_CURVE_SECRETKEY, keys.secretKey)
            try set(ZMQ_ZAP_DOMAIN, domain)
            try set(SocketOption(zapEnforceDomain, 1))
        case .trusting(let serverKey, let keys):
            guard Z85.isKey(serverKey) else { throw BusError(.invalidKey, "a server's key is 40 characters of Z85") }
            try set(ZMQ_CURVE_SERVERKEY, serverKey)
            try set(ZMQ_CURVE_PUBLICKEY, keys.publicKey)
            try set(ZMQ_CURVE_SECRETKEY, keys.secretKey)
        }
    }

    /// A socket that stays inside the process: ZAP, monitors.
    init(inProcess type: Int32) throws(BusError) {
        handle = try Context.shared.get().makeSocket(type)
        try set(SocketOption(ZMQ_LINGER, 0))
    }

    deinit {
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        zmq_close(handle)
    }

    // MARK: Options

    func set(_ option: SocketOption) throws(BusError) {
        var wide = option.value
        var narrow = Int32(truncatingIfNeeded: option.value)
        let result =
            option.isWide
            ? zmq_setsockopt(handle, option.number, &wide, MemoryLayout<Int64>.size)
            : zmq_setsockopt(handle, option.number, &narrow, MemoryLayout<Int32>.size)
        guard result == 0 else { throw BusError(.zeromq, "option \(option.number): \(lastZeroMQError())") }
    }

    func set(_ option: Int32, _ text: String) throws(BusError) {
        guard zmq_setsockopt(handle, option, text, text.utf8.count) == 0 else {
            throw BusError(.zeromq, "option \(option): \(lastZeroMQError())")
        }
    }

    func value(of option: SocketOption) -> Int64? {
        var wide: Int64 = 0
        var narrow: Int32 = 0
        var size = option.isWide ? MemoryLayout<Int64>.size : MemoryLayout<Int32>.size
        if option.isWide {
            return zmq_getsockopt(handle, option.number, &wide, &size) == 0 ? wide : nil
        }
        return zmq_getsockopt(handle, option.number, &narrow, &size) == 0 ? Int64(narrow) : nil
    }

    /// Every subscription is a prefix of stream names.
    func subscribe(to stream: String) throws(BusError) {
        try set(ZMQ_SUBSCRIBE, stream)
    }

    // MARK: Endpoints

    func bind(to endpoint: String) throws(BusError) {
        try checkEndpoint(endpoint)
        try set(Context.shared.get().threads(lookingUp: nil))
        guard zmq_bind(handle, endpoint) == 0 else { throw BusError(.bind, "cannot bind \(endpoint): \(lastZeroMQError())") }
        self.endpoint = actualEndpoint ?? endpoint
    }

    func connect(to endpoint: String) throws(BusError) {
        try checkEndpoint(endpoint)
        try set(Context.shared.get().threads(lookingUp: namedHost(of: endpoint)))
        guard zmq_connect(handle, endpoint) == 0 else {
            throw BusError(.invalidEndpoint, "cannot connect to \(endpoint): \(lastZeroMQError())")
        }
    }

    /// What a wildcard port became.
    private var actualEndpoint: String? {
        var text = [CChar](repeating: 0, count: 256)
        var size = text.count
        guard zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, &text, &size) == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Gives a bound endpoint back and waits until it is free: the I/O thread closes the listener and unlinks an ipc file some
    /// time after `zmq_close`, which would take the file of whoever binds the same path in between.
    func releaseEndpoint() {
        guard isOpen, let endpoint else { return }
        self.endpoint = nil
        let address = "inproc://released-\(UInt(bitPattern: handle))"
        guard zmq_socket_monitor(handle, address, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CLOSE_FAILED) == 0 else { return }
        let monitor = try? Socket(inProcess: ZMQ_PAIR)
        // Events to a monitor that is gone would block the I/O thread: first no more events, then no more monitor.
        defer {
            zmq_socket_monitor(handle, nil, 0)
            monitor?.close()
        }
        guard let monitor, zmq_connect(monitor.handle, address) == 0, zmq_unbind(handle, endpoint) == 0 else { return }
        _ = monitor.waitForInput(milliseconds: Int(BusLimits.shutdownGrace.wholeMilliseconds))
    }

    // MARK: Messages

    /// Sends all frames or none, without waiting. False where there is no room or nobody to send to.
    func send(_ frames: [[UInt8]]) -> Bool {
        for (index, frame) in frames.enumerated() {
            let more = index + 1 < frames.count ? ZMQ_SNDMORE : 0
            var result: Int32
            repeat {
                result = frame.withUnsafeBytes { zmq_send(handle, $0.baseAddress, $0.count, ZMQ_DONTWAIT | more) }
            } while result < 0 && zmq_errno() == EINTR
            // libzmq refuses at the first frame or not at all, except towards a peer that goes in the middle of a message.
            if result < 0 { return false }
        }
        return true
    }

    /// The next whole message, or nil where none waits. A message of too many frames comes back without them.
    func receive(framesAtMost limit: Int = 8) -> Message? {
        var frames: [[UInt8]] = []
        var user: String?
        var isMore = true
        while isMore {
            var part = zmq_msg_t()
            zmq_msg_init(&part)
            defer { zmq_msg_close(&part) }
            var result: Int32
            repeat {
                result = zmq_msg_recv(&part, handle, ZMQ_DONTWAIT)
            } while result < 0 && zmq_errno() == EINTR
            guard result >= 0 else { return nil }
            isMore = zmq_msg_more(&part) != 0
            guard frames.count < limit else { continue }
            // Frame 0 of a ROUTER has no metadata after a poll in 4.3.4: only later ones count.
            if !frames.isEmpty, user == nil, let name = zmq_msg_gets(&part, "User-Id") { user = String(cString: name) }
            frames.append([UInt8](UnsafeRawBufferPointer(start: zmq_msg_data(&part), count: zmq_msg_size(&part))))
        }
        return Message(frames: frames, user: user)
    }

    /// Blocks the calling thread. For threads that own a single socket.
    func waitForInput(milliseconds: Int) -> Bool {
        var item = zmq_pollitem_t(socket: handle, fd: 0, events: Int16(ZMQ_POLLIN), revents: 0)
        return zmq_poll(&item, 1, milliseconds) > 0
    }
}

struct Message {
    var frames: [[UInt8]]
    /// The peer that the ZAP handler recognised, read from a frame after the first; nil where it is not known.
    var user: String?
}

/// Only what can be protected and what fits into a socket address.
private func checkEndpoint(_ endpoint: String) throws(BusError) {
    if endpoint.hasPrefix("tcp://") { return }
    guard endpoint.hasPrefix("ipc://") else { throw BusError(.invalidEndpoint, "\(endpoint) is neither tcp:// nor ipc://") }
    guard endpoint.utf8.count - 6 <= BusLimits.ipcPathBytes else {
        throw BusError(.invalidEndpoint, "\(endpoint) is longer than \(BusLimits.ipcPathBytes) bytes; put the data into a shorter folder")
    }
}

/// The host of `tcp://host:port` where it is a name; nil for an address in numbers and for ipc.
private func namedHost(of endpoint: String) -> String? {
    guard endpoint.hasPrefix("tcp://"), let colon = endpoint.lastIndex(of: ":") else { return nil }
    let host = String(endpoint.dropFirst(6).prefix(upTo: colon))
    var address = in6_addr()
    let isNumbers = inet_pton(AF_INET, host, &address) == 1 || host.hasPrefix("[")
    return isNumbers ? nil : host
}
