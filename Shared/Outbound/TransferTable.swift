// What the loop's thread does: begins, ends and times transfers.

import CCurl
import Contracts
import Logging

struct TransferTable {
    /// Idle easy handles that are kept.
    private static let mostSpare = 512
    private static let longestPoll = 1000
    /// How late a waiting request may learn that its time is over.
    private static let waitingPoll = 20

    private let settings: OutboundSettings
    private let multi: MultiHandle
    private let logger: Logger
    private var waiting: [Transfer] = []
    /// Of `waiting`: those before have been begun.
    private var begun = 0
    private var running: [UnsafeMutableRawPointer: EasyHandle] = [:]
    private var spare: [EasyHandle] = []

    init(_ settings: OutboundSettings, multi: MultiHandle, logger: Logger) {
        (self.settings, self.multi, self.logger) = (settings, multi, logger)
    }

    mutating func run(_ loop: TransferLoop) {
        while true {
            let work = loop.takeWork()
            waiting += work.submitted
            for transfer in work.cancelled { cancel(transfer, loop) }
            guard !work.isStopping else { break }
            beginWaiting(loop)
            multi.perform()
            endFinished(loop)
            // A place that became free is filled before the next wait.
            if hasWaiting, running.count < settings.parallel { continue }
            multi.poll(milliseconds: Int32(hasWaiting ? Self.waitingPoll : Self.longestPoll))
        }
        stop(loop)
    }

    private var hasWaiting: Bool { begun < waiting.count }

    private mutating func beginWaiting(_ loop: TransferLoop) {
        while hasWaiting, running.count < settings.parallel {
            let transfer = waiting[begun]
            begun += 1
            guard !transfer.isCancelled else {
                end(transfer, .failure(.cancelled), loop)
                continue
            }
            let remaining = transfer.deadline - .now
            guard remaining > .zero else {
                end(transfer, .failure(.timeout), loop)
                continue
            }
            let easy = spare.popLast() ?? EasyHandle()
            easy.prepare(transfer, settings, remaining: remaining)
            running[easy.pointer] = easy
            multi.add(easy)
        }
        if !hasWaiting {
            waiting.removeAll(keepingCapacity: true)
            begun = 0
        } else {
            dropExpired(loop)
        }
    }

    private mutating func dropExpired(_ loop: TransferLoop) {
        let now = ContinuousClock.now
        var left: [Transfer] = []
        left.reserveCapacity(waiting.count - begun)
        for transfer in waiting[begun...] {
            if transfer.deadline > now { left.append(transfer) } else { end(transfer, .failure(.timeout), loop) }
        }
        waiting = left
        begun = 0
    }

    private mutating func endFinished(_ loop: TransferLoop) {
        while let (pointer, code) = multi.nextEnded() {
            guard let easy = running.removeValue(forKey: pointer), let transfer = easy.transfer else { continue }
            multi.remove(easy)
            transfer.note(status: easy.status, requestBytes: easy.requestBytes)
            let outcome: Transfer.Outcome =
                code == CURLE_OK
                ? .success(transfer.response(status: easy.status)) : .failure(transfer.verdict ?? OutboundError(code, of: transfer.command))
            setAside(easy)
            end(transfer, outcome, loop)
        }
    }

    private mutating func cancel(_ transfer: Transfer, _ loop: TransferLoop) {
        if let (pointer, easy) = running.first(where: { $0.value.transfer === transfer }) {
            multi.remove(easy)
            transfer.note(status: easy.status, requestBytes: easy.requestBytes)
            running[pointer] = nil
            setAside(easy)
        } else if let index = waiting[begun...].firstIndex(where: { $0 === transfer }) {
            waiting.remove(at: index)
        } else {
            return
        }
        end(transfer, .failure(.cancelled), loop)
    }

    private mutating func setAside(_ easy: EasyHandle) {
        easy.reset()
        if spare.count < Self.mostSpare { spare.append(easy) }
    }

    private func end(_ transfer: Transfer, _ outcome: Transfer.Outcome, _ loop: TransferLoop) {
        loop.finished()
        transfer.finish(outcome)
    }

    private mutating func stop(_ loop: TransferLoop) {
        for easy in running.values {
            multi.remove(easy)
            if let transfer = easy.transfer { end(transfer, .failure(.cancelled), loop) }
        }
        for transfer in waiting[begun...] { end(transfer, .failure(.cancelled), loop) }
        running.removeAll()
        spare.removeAll()
        loop.ended()
        multi.close()
        logger.debug("outbound thread ended")
    }
}

extension OutboundError {
    init(_ code: CURLcode, of command: TransferCommand) {
        switch code {
        case CURLE_URL_MALFORMAT: self = .malformed
        case CURLE_LOGIN_DENIED:
            // No request has a log-in: libcurl then speaks of a name in its URL, which is not allowed there.
            if case .mail = command { self = .logInRefused } else { self = .malformed }
        case CURLE_COULDNT_RESOLVE_HOST: self = .unresolved
        case CURLE_COULDNT_CONNECT: self = .connect
        case CURLE_OPERATION_TIMEDOUT: self = .timeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            self = .tls
        default: self = .other(Int(code.rawValue))
        }
    }
}
