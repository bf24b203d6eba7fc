// Whether this machine's clock is wrong, told by the devices of people who send: one of them may err, most of them alike do not.

import Contracts

/// Compares what devices' clocks say, or what they measured last, with when it was received. Where those of most people who send now are
/// off by about as much, it is this machine that is. People count and not devices: nobody raises the alarm or outvotes others by having
/// many. All times but the offsets are steady ones, of any beginning: the clock in doubt measures nothing here.
struct ClockDoubt: Sendable {
    struct Finding: Hashable, Sendable {
        /// How far this machine is ahead; negative where it is behind.
        var offset: Duration
        /// Of how many people the devices say so, of those who send now.
        var people: Int
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
    static let mostOfOne = 8

    private struct Device {
        let person: Int64
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

    /// Of what an upload says by `sentAt` and by the newest of its times: where one of them is right, this machine is.
    static func leastOff(_ offsets: [Duration]) -> Duration? { offsets.min { $0.magnitude < $1.magnitude } }

    /// An upload has come.
    /// - Parameter offset: to its receipt from when its device wrote it, or from the newest of its times.
    mutating func note(_ device: Int64, of person: Int64, offset: Duration, at now: Duration) {
        guard var known = devices[device] else {
            guard devices.count < Self.most, devices.values.count(where: { $0.person == person }) < Self.mostOfOne else { return }
            devices[device] = Device(person: person, offset: offset, first: offset, since: now, heard: now)
            return
        }
        if (offset - known.first).magnitude > Self.wavering { (known.first, known.since) = (offset, now) }
        (known.offset, known.heard) = (offset, now)
        devices[device] = known
    }

    /// Says what is to be thought now.
    mutating func look(at now: Duration) -> Finding? {
        devices = devices.filter { now - $0.value.heard <= Self.memory }
        let proven = devices.values.filter { now - $0.heard <= Self.sendingFor && $0.isProven }.map { ($0.person, $0.offset) }
        // Of one person's devices the one that is least off counts.
        let offsets = Dictionary(proven, uniquingKeysWith: { $0.magnitude <= $1.magnitude ? $0 : $1 }).values.sorted()
        guard !offsets.isEmpty else {
            // Devices that send seldom do not end it by being silent.
            if now - lastEvidence > Self.memory { finding = nil }
            return finding
        }
        lastEvidence = now
        let median = offsets[offsets.count / 2]
        let alike = offsets.count { ($0 - median).magnitude <= Self.likeness }
        let isWrong = median.magnitude > Self.bound && alike * 2 > offsets.count
        finding = isWrong ? Finding(offset: median, people: alike, sending: offsets.count) : nil
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
        let who = "the devices of \(people) of \(sending) people"
        return isAhead
            ? "\(what): what \(who) measure now is as old as that, and without sentAt nobody is watched by what is older than sos.max_age_s"
            : "\(what): what \(who) measure now lies ahead of it, and what lies further ahead than ing.clock_skew_s is refused"
    }
}
