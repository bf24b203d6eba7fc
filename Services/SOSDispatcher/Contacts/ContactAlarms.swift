// Tells emergency contacts, again and again down the list until somebody is on the way, and hears what they say (SOS-22, SOS-23).

import Contracts
import Foundation
import Logging
import ServiceKit

/// Holds every alarm whose links still open. What it decides is stored together with the messages that follow from it, so that a
/// crash neither loses nor doubles one; where the disk refuses, messages go out all the same.
actor ContactAlarms {
    private static let diskPause = Duration.seconds(1)
    /// How long an answer waits for the disk after its case is stored.
    private static let storeTimeout = Duration.seconds(2)
    private static let upkeep = Duration.seconds(3600)

    private struct Unsaved {
        var sent: [(message: Contracts.MessageID, notice: ContactCase.Notice)] = []
        var messages: [SendMessage] = []
        var notes: [AuditNote] = []
    }

    private let supervision: SupervisionService
    private let emergencies: SOSStore
    private let store: ContactStore
    private let messenger: MessageEffects
    private let capabilities: Capabilities
    private let rules: ContactEscalation.Rules
    let clock: SteadyClock
    let pair: PairState
    private let logger: Logger
    var cases: [OccasionID: ContactCase] = [:]
    private var doors: [[UInt8]: (occasion: OccasionID, position: Int)] = [:]
    private var unsaved: [OccasionID: Unsaved] = [:]
    private var saves: [OccasionID: Task<Void, Never>] = [:]
    private var diskRefuses = false
    /// Nobody is called again before it runs: somebody may have answered at the other dispatcher meanwhile.
    private var isRunning = false
    private let wakeUp = WakeUpSignal()
    nonisolated let events = SupervisionEventQueue()

    init(
        supervision: SupervisionService, emergencies: SOSStore, store: ContactStore, messenger: MessageEffects, capabilities: Capabilities,
        rules: ContactEscalation.Rules, clock: SteadyClock, pair: PairState, logger: Logger
    ) {
        (self.supervision, self.emergencies, self.store, self.messenger) = (supervision, emergencies, store, messenger)
        (self.capabilities, self.rules, self.clock, self.pair, self.logger) = (capabilities, rules, clock, pair, logger)
    }

    // MARK: Running

    /// Opens what was open before the last stop; what happened to it meanwhile is read up.
    func resume() async {
        for alarm in (try? await store.load(at: .now)) ?? [] where !alarm.isDead(at: .now) { keep(alarm) }
        for alarm in cases.values where alarm.end == nil { await readUp(alarm) }
    }

    /// What is told while nobody runs it waits.
    func run() async {
        isRunning = true
        hearWords()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.events.run { await self.follow($0) } }
            group.addTask { await self.watchTime() }
        }
    }

    private func watchTime() async {
        var expireAt = ContinuousClock.now
        while !Task.isCancelled {
            if diskRefuses {
                // Not again at once: the write failed with a retryable error.
                try? await Task.sleep(for: Self.diskPause)
                for occasion in Array(unsaved.keys) { await save(occasion).value }
            }
            for alarm in cases.values where ContactEscalation.nextCall(alarm, rules).map({ $0.at <= clock.now }) ?? false {
                settle(alarm.id, [])
            }
            if ContinuousClock.now >= expireAt {
                expireAt = .now + Self.upkeep
                for alarm in cases.values where alarm.isDead(at: .now) { drop(alarm) }
                for alarm in cases.values where alarm.kind == .shaking && alarm.beganAt + ContactCase.shakingLife <= .now {
                    change(alarm.id) { $0.ended(.over, at: .now) }
                }
                try? await store.expire(at: .now)
            }
            let next = cases.values.compactMap { ContactEscalation.nextCall($0, rules)?.at }.min()
            let wait = next.map { max(.milliseconds(10), $0 - clock.now) } ?? Self.upkeep
            await wakeUp.wait(atMost: min(wait, Self.upkeep))
        }
    }

    // MARK: What happens to the person

    func follow(_ heard: [SupervisionEvent]) async {
        for event in heard {
            switch event.kind {
            case .dispatched: await begin(.emergency, event, at: event.at)
            case .gotWorse: if event.worse?.isNewsToContacts == true { change(event) { $0.worsened(at: event.at) } }
            case .doubted, .lateCritical: await begin(.concern, event, at: event.episode?.trigger.at ?? event.at)
            case .fallUnanswered: await begin(.fall, event, at: event.episode?.trigger.at ?? event.at)
            case .helpTooLate: await begin(.concern, event, at: event.since ?? event.at)
            case .doubtEnded, .fallEnded: change(event) { $0.ended(.over, at: event.at) }
            case .shakingAlarm: await begin(.shaking, event, at: event.since ?? event.at)
            case .silenceContacts: await begin(.silence, event, at: event.since ?? event.at)
            case .goesOn:
                await goesOn(event)
            case .acknowledged: change(event) { $0.informed(at: event.at) }
            case .cancelled: change(event) { $0.ended(.falseAlarm, at: event.at) }
            case .closed: change(event) { $0.ended(.over, at: event.at) }
            case .shakingCalledOff: end(.shaking, of: event.person, .falseAlarm, at: event.at)
            // A sign of life.
            case .signalReturned, .paused, .resumed: end(.silence, of: event.person, .over, at: event.at)
            case .unsubscribed:
                for kind in [ContactCase.Kind.silence, .shaking] { end(kind, of: event.person, .over, at: event.at) }
            case .opened, .confirmed, .askedAgain, .fell, .located, .helpArrived, .transient, .muted, .signalLost, .charging,
                .subscribed:
                break
            }
        }
    }

    private func end(_ kind: ContactCase.Kind, of person: PersonID, _ end: ContactCase.End, at time: Timestamp) {
        for alarm in cases.values where alarm.person == person && alarm.kind == kind { change(alarm.id) { $0.ended(end, at: time) } }
    }

    private func goesOn(_ event: SupervisionEvent) async {
        guard let emergency = event.emergency, let record = try? await emergencies.emergency(emergency),
            let dispatchedAt = record.dispatchedAt
        else { return }
        if cases[Self.occasion(emergency)] == nil, record.state != .stoodDown { await begin(.emergency, event, at: dispatchedAt) }
        if let alarm = cases[Self.occasion(emergency)] { await readUp(alarm) }
    }

    /// Brings a case up to what the emergency's record says.
    private func readUp(_ alarm: ContactCase) async {
        // A silence or a seizure: the last process may have ended before it told anybody.
        if alarm.emergency == nil { settle(alarm.id, []) }
        guard let emergency = alarm.emergency, let record = try? await emergencies.emergency(emergency) else { return }
        var wasCancelled = record.state == .stoodDown
        if record.closedAt != nil, let steps = try? await emergencies.audit(of: "\(emergency)") {
            wasCancelled = steps.last { ["cancelled", "dispatched"].contains($0.action) }?.action == "cancelled"
        }
        change(alarm.id) { known in
            var isNew = record.acknowledgedAt.map { known.informed(at: $0) } ?? false
            if wasCancelled { isNew = known.ended(.falseAlarm, at: record.closedAt ?? .now) || isNew }
            if let closed = record.closedAt { isNew = known.ended(.over, at: closed) || isNew }
            return isNew
        }
        // Even where nothing is new, something may not have been sent.
        settle(alarm.id, [])
    }

    private func begin(_ kind: ContactCase.Kind, _ event: SupervisionEvent, at time: Timestamp) async {
        let occasion = event.emergency.map(Self.occasion) ?? capabilities.occasion(event.name)
        if cases[occasion] != nil {
            change(occasion) { [now = clock.now] in
                let becomesEmergency = kind == .emergency && $0.becomesEmergency(event.emergency)
                return $0.takenUpAgain(at: time, now, evenIfOpen: becomesEmergency)
            }
            return hearWords(of: occasion)
        }
        let facts = await supervision.contactFacts(of: event.person)
        let begun = ContactCase(kind, event, named: occasion, facts, at: time, alertedAt: clock.now)
        guard let begun, cases[occasion] == nil else { return }
        keep(begun)
        hearWords(of: occasion)
        settle(occasion, [note("contacts-alerted", by: "dispatcher", "\(facts.contacts.count) contacts", of: occasion)])
    }

    static func occasion(_ emergency: EmergencyID) -> OccasionID {
        OccasionID(bits: emergency.bits)
    }

    private func change(_ event: SupervisionEvent, _ body: (inout ContactCase) -> Bool) {
        if let emergency = event.emergency { change(Self.occasion(emergency), body) }
    }

    private func change(_ occasion: OccasionID, _ body: (inout ContactCase) -> Bool) {
        guard var alarm = cases[occasion], body(&alarm) else { return }
        cases[occasion] = alarm
        settle(occasion, [])
    }

    // MARK: What contacts say

    /// What a capability opens; nil where it opens nothing, or not any more.
    func open(_ capability: String) -> (alarm: ContactCase, position: Int)? {
        guard let door = doors[Capabilities.digest(capability)], let alarm = cases[door.occasion], !alarm.isDead(at: .now) else {
            return nil
        }
        return (alarm, door.position)
    }

    enum Reception: Sendable {
        /// It is stored, and those whom it concerns are told.
        case taken
        /// Those are told, but the disk refuses.
        case unstored
        case opensNothing
    }

    /// What is said after the end is kept too, and told to nobody. The same again changes nothing.
    func answer(_ answer: ContactCase.Answer, by capability: String) async -> Reception {
        guard let (alarm, position) = open(capability) else { return .opensNothing }
        var changed = alarm
        if changed.answered(answer, by: position, at: .now) {
            cases[alarm.id] = changed
            tell(.answered(answer), by: position, of: changed)
            settle(alarm.id, [note("contact-answered", by: "contact \(position + 1)", answer.rawValue, of: alarm.id)])
        }
        await save(alarm.id).value
        // Both dispatchers must know it whatever happens next: it keeps the other from calling on.
        let isTold = await supervision.journal.commit(within: Self.storeTimeout)
        return unsaved[alarm.id] == nil && isTold ? .taken : .unstored
    }

    // MARK: Forgetting

    /// Nothing more is told or stored about the person.
    func forget(_ person: PersonID) {
        for alarm in cases.values where alarm.person == person { drop(alarm) }
    }

    private func keep(_ alarm: ContactCase) {
        cases[alarm.id] = alarm
        for position in alarm.contacts.indices {
            doors[Capabilities.digest(capabilities.contact(position, of: alarm.id))] = (alarm.id, position)
        }
    }

    private func drop(_ alarm: ContactCase) {
        (cases[alarm.id], unsaved[alarm.id], saves[alarm.id]) = (nil, nil, nil)
        for position in alarm.contacts.indices { doors[Capabilities.digest(capabilities.contact(position, of: alarm.id))] = nil }
    }

    // MARK: Telling

    func note(_ action: String, by actor: String, _ detail: String, of occasion: OccasionID) -> AuditNote {
        let object = cases[occasion].map(store.object(of:)) ?? ""
        return AuditNote(at: .now, actor: actor, action: action, object: object, detail: detail)
    }

    /// Sends what follows from the case as it is, and begins to store both.
    func settle(_ occasion: OccasionID, _ notes: [AuditNote]) {
        guard var alarm = cases[occasion] else { return }
        var rules = rules
        if !isRunning { rules.rounds = 0 }
        let due = ContactEscalation.take(&alarm, rules, at: clock.now)
        cases[occasion] = alarm
        let letters = ContactLetters(capabilities: capabilities)
        var pending = unsaved[occasion] ?? Unsaved()
        for notice in due {
            if case .call(let number) = notice.matter { tell(.called(number), by: notice.to, of: alarm) }
            let message = letters.letter(notice, of: alarm)
            pending.sent.append((message.message, notice))
            pending.messages.append(message)
        }
        pending.notes += notes
        pending.notes += due.filter { if case .call = $0.matter { true } else { false } }.map {
            note("contact-called-again", by: "dispatcher", "contact \($0.to + 1), \($0.word)", of: occasion)
        }
        unsaved[occasion] = pending
        if !due.isEmpty {
            logger.notice(
                "contacts are notified", metadata: ["emergency": "\(alarm.emergency.map { "\($0)" } ?? "-")", "messages": "\(due.count)"])
        }
        save(occasion)
    }

    /// Ends when everything of the case is stored, or could not be. One after the other, so that no older state of a case is stored
    /// over a newer one.
    @discardableResult
    private func save(_ occasion: OccasionID) -> Task<Void, Never> {
        let before = saves[occasion]
        if unsaved[occasion] == nil, let before { return before }
        let save = Task {
            await before?.value
            await saveNow(occasion)
        }
        saves[occasion] = save
        return save
    }

    private func saveNow(_ occasion: OccasionID) async {
        guard let alarm = cases[occasion], let pending = unsaved.removeValue(forKey: occasion) else { return }
        do {
            guard let remember = try store.saving(alarm, pending.sent, pending.notes, at: .now) else { return drop(alarm) }
            try await messenger.send(pending.messages, remember: remember)
            diskRefuses = false
        } catch {
            diskRefuses = true
            guard cases[occasion] != nil else { return }
            // Together with whatever has come since.
            let later = unsaved[occasion] ?? Unsaved()
            unsaved[occasion] = Unsaved(
                sent: pending.sent + later.sent, messages: pending.messages + later.messages, notes: pending.notes + later.notes)
        }
        wakeUp.notify()
    }
}

extension SupervisionService {
    /// Whom the person wants told, how the person is called, and where they were last.
    func contactFacts(of person: PersonID) -> ContactCase.Facts {
        people[person].map { ContactCase.Facts($0.subscriber) } ?? ContactCase.Facts()
    }

    func latestPlace(of person: PersonID) -> LatestPlaces.Place? {
        people[person]?.subscriber.places.places.first
    }
}
