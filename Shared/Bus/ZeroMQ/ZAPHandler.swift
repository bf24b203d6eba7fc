// Decides for every bound socket of the process which CURVE keys may come in (rfc.zeromq.org/spec/27).

import CZeroMQ
import Foundation
import Synchronization

/// One thread per process on `inproc://zeromq.zap.01`. It must be started before any socket binds, and refuses every domain,
/// mechanism and key that it does not know; sockets that enforce their domain refuse everybody while it is not there.
final class ZAPHandler: Sendable {
    /// The name of the peer that holds this public key, if it may come in.
    typealias Admission = @Sendable (_ publicKey: String) -> String?

    static let shared = ZAPHandler()

    private struct State {
        var domains: [String: Admission] = [:]
        var domainsMade = 0
        var isRunning = false
        var shallStop = false
    }

    private let state = Mutex(State())

    private init() {}

    /// Starts the thread unless it runs.
    func start() throws(BusError) {
        let mustStart = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard mustStart else { return }
        let bound = Handover<BusError?>()
        let thread = Thread { [self] in
            let socket: Socket
            do throws(BusError) {
                socket = try Socket(inProcess: ZMQ_REP)
                guard zmq_bind(socket.handle, "inproc://zeromq.zap.01") == 0 else {
                    throw BusError(.zeromq, "somebody else in this process decides about CURVE keys")
                }
            } catch {
                state.withLock { $0.isRunning = false }
                return bound.give(error)
            }
            bound.give(nil)
            serve(socket)
        }
        thread.name = "bus-zap"
        thread.start()
        if let error = bound.take() { throw error }
    }

    /// Gives one bound socket a domain of its own: nodes of the same name may live in one process.
    func makeDomain(_ name: String, _ admission: @escaping Admission) -> String {
        state.withLock { state in
            state.domainsMade += 1
            let domain = "\(name)#\(state.domainsMade)"
            state.domains[domain] = admission
            return domain
        }
    }

    func forget(domain: String) {
        state.withLock { $0.domains[domain] = nil }
    }

    /// For the test of what happens when the thread is dead.
    func stopForTest() {
        state.withLock { $0.shallStop = true }
        // Tests only: the thread reads the flag at its next turn.
        while state.withLock({ $0.isRunning }) { usleep(1000) }
    }

    private func serve(_ socket: Socket) {
        while !state.withLock({ $0.shallStop }) {
            guard socket.waitForInput(milliseconds: 100), let request = socket.receive(framesAtMost: 7) else { continue }
            _ = socket.send(answer(to: request.frames))
        }
        socket.close()
        state.withLock { ($0.shallStop, $0.isRunning) = (false, false) }
    }

    /// Request: version, request id, domain, address, routing id, mechanism, credentials.
    func answer(to frames: [[UInt8]]) -> [[UInt8]] {
        let requestID = frames.count > 1 ? frames[1] : []
        func reply(_ status: String, _ text: String, user: String) -> [[UInt8]] {
            [Array("1.0".utf8), requestID, Array(status.utf8), Array(text.utf8), Array(user.utf8), []]
        }
        guard frames.count == 7, frames[0] == Array("1.0".utf8), frames[5] == Array("CURVE".utf8), let key = Z85.encode(key: frames[6])
        else { return reply("400", "only CURVE", user: "") }
        let domain = String(decoding: frames[2], as: UTF8.self)
        guard let admission = state.withLock({ $0.domains[domain] }), let user = admission(key) else {
            return reply("400", "unknown key", user: "")
        }
        return reply("200", "OK", user: user)
    }
}

/// One value from a new thread to the one that started it.
final class Handover<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    func give(_ given: Value) {
        value.withLock { $0 = given }
        isThere.signal()
    }

    /// Blocks until the value is there.
    func take() -> Value {
        isThere.wait()
        guard let given = value.withLock({ $0 }) else { preconditionFailure("the semaphore is signalled after the value is set") }
        return given
    }
}
