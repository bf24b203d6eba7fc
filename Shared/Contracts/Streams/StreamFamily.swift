// The streams that exist: who publishes them, who may consume them. One family is one publishing socket, so that a peer without a
// right to a family cannot even connect to it.

/// Streams of one publisher that are published, consumed and allowed together.
package struct StreamFamily: Hashable, Sendable {
    /// What rights, sockets and metrics call it.
    package let name: String
    package let owner: Peer
    /// Each belongs to one family alone.
    package let streams: [String]
    /// Whether the publisher can also give the current facts at once (`snapshot`), or a newcomer starts in the log.
    package let keepsState: Bool
    /// Time between heartbeats: 50 ms where an alarm may depend on a missed tail, else 250 ms.
    package let heartbeat: Duration
    /// Of the suite's own peers; further ones are named by their public files. The log waits for each of them but `trackme`, so that nobody
    /// is named who does not follow: HouseTests compare this with the code of the services.
    package let consumers: Set<Peer>
    /// Where it is published when the suite talks over TCP.
    package let tcpPort: Int
    /// Of families that keep no state: whether a newcomer is told all that the log still has, or starts at the head. The log waits for those
    /// who have never come.
    package var tellsNewcomersAll = false

    /// Carries the heads of all streams of the family.
    package var heartbeatStream: String { name + ".heartbeat" }
}

extension StreamFamily {
    /// Everything that concerns one person is in one partition, so that it stays in order.
    package static let partitions = 16

    /// `SamplesRecorded` facts: what was measured, in partitions by person.
    package static let samples = StreamFamily(
        name: "ingest.samples", owner: .ingest,
        streams: (0..<partitions).map { "ingest.samples." + ($0 < 10 ? "0\($0)" : "\($0)") },
        keepsState: false, heartbeat: .milliseconds(50), consumers: [.sosDispatcher, .sosDeputy], tcpPort: 5711)

    /// `DeviceState` and `MonitoringState` facts: which devices a person has, and whether all monitoring is paused.
    package static let devices = StreamFamily(
        name: "ingest.devices", owner: .ingest, streams: ["ingest.devices"], keepsState: true, heartbeat: .milliseconds(250),
        consumers: [.sosDispatcher, .sosDeputy], tcpPort: 5712)

    /// `EmergencyChanged` facts: each change of an emergency, from opened to closed.
    package static let emergencies = StreamFamily(
        name: "sos.emergencies", owner: .sosDispatcher, streams: ["sos.emergencies"], keepsState: false,
        heartbeat: .milliseconds(250), consumers: [.ingest, .trackme], tcpPort: 5721)

    /// `SubscriptionState` facts: who is subscribed to AutomatedSOS.
    package static let subscriptions = StreamFamily(
        name: "sos.subscriptions", owner: .sosDispatcher, streams: ["sos.subscriptions"], keepsState: true,
        heartbeat: .milliseconds(250), consumers: [.consent, .trackme], tcpPort: 5722)

    /// `EmergencyCardState` facts: what an emergency service may be told of a subscriber.
    package static let emergencyCards = StreamFamily(
        name: "consent.emergency-cards", owner: .consent, streams: ["consent.emergency-cards"], keepsState: true,
        heartbeat: .milliseconds(250), consumers: [.sosDispatcher, .sosDeputy], tcpPort: 5735)

    /// `PairFact` facts of the first SOS dispatcher for the second: settings, answers, attempts, acknowledgements.
    package static let pairOfFirst = StreamFamily(
        name: "sos.pair.first", owner: .sosDispatcher, streams: ["sos.pair.first"], keepsState: true, heartbeat: .milliseconds(50),
        consumers: [.sosDeputy], tcpPort: 5723)

    /// The same `PairFact` facts the other way.
    package static let pairOfSecond = StreamFamily(
        name: "sos.pair.second", owner: .sosDeputy, streams: ["sos.pair.second"], keepsState: true, heartbeat: .milliseconds(50),
        consumers: [.sosDispatcher], tcpPort: 5751)

    /// `DataRead` facts: which granted data left ingest, for the person's own record of who read what.
    package static let accesses = StreamFamily(
        name: "ingest.accesses", owner: .ingest, streams: ["ingest.accesses"], keepsState: false, heartbeat: .milliseconds(250),
        consumers: [.consent], tcpPort: 5713)

    /// `DataArrived` facts, of people alone whom an active grant concerns: that there is something new, never what.
    package static let arrivals = StreamFamily(
        name: "ingest.arrivals", owner: .ingest, streams: ["ingest.arrivals"], keepsState: false, heartbeat: .milliseconds(250),
        consumers: [.thirdPartyGateway], tcpPort: 5714)

    /// `CohortHourSummed` and `CohortHoursClosed` facts: sums of closed hours of people who share anonymously, never samples.
    package static let cohortHours = StreamFamily(
        name: "ingest.cohort", owner: .ingest, streams: ["ingest.cohort"], keepsState: false, heartbeat: .milliseconds(250),
        consumers: [.anonymiser], tcpPort: 5715, tellsNewcomersAll: true)

    /// What every service needs to know who is who: `SigningKeyState`, `SessionEnded`, `LapsedSessionsRevoked` and `PersonErased` facts.
    package static let accounts = StreamFamily(
        name: "consent.accounts", owner: .consent, streams: [signingKeysStream, sessionsStream, erasuresStream], keepsState: true,
        heartbeat: .milliseconds(250), consumers: [.ingest, .sosDispatcher, .sosDeputy, .notifier, .thirdPartyGateway, .anonymiser],
        tcpPort: 5731)
    /// `SigningKeyState` facts.
    package static let signingKeysStream = "consent.signing-keys"
    /// `SessionEnded` and `LapsedSessionsRevoked` facts.
    package static let sessionsStream = "consent.sessions"
    /// `PersonErased` facts.
    package static let erasuresStream = "consent.erasures"

    /// `PersonState` facts: whose data may be acquired.
    package static let people = StreamFamily(
        name: "consent.people", owner: .consent, streams: ["consent.people"], keepsState: true, heartbeat: .milliseconds(250),
        consumers: [.ingest], tcpPort: 5732)

    /// `GrantState` facts. Whoever holds data denies when this family has been silent for `grantSilence`.
    package static let grants = StreamFamily(
        name: "consent.grants", owner: .consent, streams: ["consent.grants"], keepsState: true, heartbeat: .milliseconds(250),
        consumers: [.ingest, .thirdPartyGateway], tcpPort: 5733)
    /// Longest time without news from consent in which a grant can be relied on.
    package static let grantSilence = Duration.seconds(5)

    /// `CohortProfileState` facts: who shares anonymously, and by what attributes they can be chosen.
    package static let cohortProfiles = StreamFamily(
        name: "consent.cohort", owner: .consent, streams: ["consent.cohort"], keepsState: true, heartbeat: .milliseconds(250),
        consumers: [.anonymiser], tcpPort: 5736)

    /// `GroupWindowClosed` facts: which windows of subscriptions to groups were released, and which were withheld; never entries.
    package static let groupWindows = StreamFamily(
        name: "anonymiser.windows", owner: .anonymiser, streams: ["anonymiser.windows"], keepsState: false,
        heartbeat: .milliseconds(250), consumers: [.thirdPartyGateway], tcpPort: 5781)

    /// `RequestState` facts: what became of third parties' requests.
    package static let requests = StreamFamily(
        name: "consent.requests", owner: .consent, streams: ["consent.requests"], keepsState: true, heartbeat: .milliseconds(250),
        consumers: [.trackme, .thirdPartyGateway], tcpPort: 5734)

    /// `MessageSettled` facts: which messages arrived and which never will.
    package static let deliveries = StreamFamily(
        name: "notify.deliveries", owner: .notifier, streams: ["notify.deliveries"], keepsState: false, heartbeat: .milliseconds(250),
        consumers: [.consent, .sosDispatcher, .sosDeputy], tcpPort: 5741)

    /// All but those of integrators, which come and go while the dispatcher runs.
    package static let all: [StreamFamily] = [
        .samples, .devices, .accesses, .arrivals, .cohortHours, .accounts, .people, .grants, .requests, .emergencyCards, .cohortProfiles,
        .emergencies, .subscriptions, .pairOfFirst, .pairOfSecond, .deliveries, .groupWindows,
    ]

    /// The partition that holds all facts about this person. Everybody of one shard is in the same.
    package static func samplesStream(of person: PersonID) -> String {
        samples.streams[VirtualShard(of: person).number % partitions]
    }
}
