// Whether this machine's clock is wrong, told by the devices that send: one of them may err, most of them alike do not.

import Contracts

/// Compares what devices measured last with when it was received. Where most of those that send now are off by about as much, it is this
/// machine that is. All times but the offsets are steady ones, of any beginning: the clock in doubt measures nothing here.
struct ClockDoubt: Sendable {
    struct Finding: Hashable, Sendable {
        /// How far this machine is ahead; negative where it is behind.
        var offset: Duration
        /// How many devices say so, of those that send now.
        var devices: Int
        var sending: Int
    }

    /// From there on supervision passes over what a device measures (`sos.max_age_s`) and ingest refuses it (`ing.clock_skew_s`), as both
    /// are unless set otherwise.
    static let bound = Duration.seconds(60)
    /// A device sends now for so long after an upload.
    static let sendingFor = Duration.seconds(60)
    /// What is sent out of a backlog is old as well, but ever less so: an offset counts that has stayed within `wavering` for `proof`.
    static let wavering = Duration.seconds(10)
    static let proof = Duration.seconds(20)
    /// How far offsets of one cause lie from their median.
    static let likeness = Duration.seconds(30)
    /// How long a device is remembered, and a finding that nobody repeats or disproves.
    static let memory = Duration.seconds(900)
    /// No more devices are listened to at once: so many tell enough.
    static let most = 1000

    private struct Device {
        var offset: Duration
        /// The offset that the later ones are compared with, and since when they are about the same.
        var first: Duration
        var since: Duration
        var heard: Duration

        var isRight: Bool { offset.magnitude <= ClockDoubt.bound }
        var isProven: Bool { isRight || heard - since >= ClockDoubt.proof }
    }

    private var finding: Finding?
    private var devices: [Int64: Device] = [:]
    private var lastEvidence = Duration.zero

    /// An upload has come.
    /// - Parameter offset: from the newest of its times to its receipt.
    mutating func note(_ device: Int64, offset: Duration, at now: Duration) {
        guard var known = devices[device] else {
            if devices.count < Self.most { devices[device] = Device(offset: offset, first: offset, since: now, heard: now) }
            return
        }
        if (offset - known.first).magnitude > Self.wavering { (known.first, known.since) = (offset, now) }
        (known.offset, known.heard) = (offset, now)
        devices[device] = known
    }

    /// Says what is to be thought now.
    mutating func look(at now: Duration) -> Finding? {
        devices = devices.filter { now - $0.value.heard <= Self.memory }
        let offsets = devices.values.filter { now - $0.heard <= Self.sendingFor && $0.isProven }.map(\.offset).sorted()
        guard !offsets.isEmpty else {
            // Devices that send seldom do not end it by being silent.
            if now - lastEvidence > Self.memory { finding = nil }
            return finding
        }
        lastEvidence = now
        let median = offsets[offsets.count / 2]
        let alike = offsets.count { ($0 - median).magnitude <= Self.likeness }
        let isWrong = median.magnitude > Self.bound && alike * 2 > offsets.count
        finding = isWrong ? Finding(offset: median, devices: alike, sending: offsets.count) : nil
        return finding
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}

extension ClockDoubt.Finding: CustomStringConvertible {
    /// For the operator; nothing of any person.
    var description: String {
        let isAhead = offset > .zero
        let what = "the clock of this machine seems to be \(abs(offset.components.seconds)) s \(isAhead ? "ahead" : "behind")"
        let who = "\(devices) of \(sending) devices"
        return isAhead
            ? "\(what): what \(who) measure now is as old as that, and nobody is watched by what is older than sos.max_age_s"
            : "\(what): what \(who) measure now lies ahead of it, and what lies further ahead than ing.clock_skew_s is refused"
    }
}
