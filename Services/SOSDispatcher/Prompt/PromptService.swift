// Shows people their prompts, tells their devices, and takes their answers (SOS-13, SOS-14, SOS-21).

import Contracts
import Foundation
import Logging
import ServiceKit

actor PromptService {
    /// How long a page's link opens after the emergency is closed.
    static let linkLife = Duration.seconds(3600)
    private static let upkeep = Duration.seconds(600)
    /// How long an alert that passed is shown to somebody who never looks, and how many of them.
    private static let passedLife = Duration.seconds(7 * 86_400)
    private static let mostPassed = 20

    /// What the link of a page opens.
    struct Door: Sendable {
        var person: PersonID
        var emergency: EmergencyID
        /// nil while it runs.
        var closedAt: Timestamp?
    }

    /// The latest answer of an emergency; empty where it is not known whether it counted, so that nothing is taken for a repetition.
    private struct Answered {
        var answer: AnswerPrompt.Answer?
        var reply: Task<PromptStore.Given, any Error>?
    }

    private let supervision: SupervisionService
    private let emergencies: SOSStore
    private let store: PromptStore
    private let messenger: MessageEffects
    private let capabilities: Capabilities
    private let letters: PersonLetters
    private let abortWindow: Duration
    private let logger: Logger
    private var doors: [[UInt8]: Door] = [:]
    /// The latest answer of each emergency that was answered.
    private var answered: [EmergencyID: Answered] = [:]
    /// Event streams of each person.
    nonisolated let watchers = Watchers<PersonID>(limit: 10)
    nonisolated let events = SupervisionEventQueue()

    init(
        supervision: SupervisionService, emergencies: SOSStore, store: PromptStore, messenger: MessageEffects, capabilities: Capabilities,
        abortWindow: Duration, logger: Logger
    ) {
        (self.supervision, self.emergencies, self.store, self.messenger) = (supervision, emergencies, store, messenger)
        (self.capabilities, self.abortWindow, self.logger) = (capabilities, abortWindow, logger)
        letters = PersonLetters(capabilities: capabilities)
    }

    // MARK: Running

    /// Opens the doors of what runs, and of what has just ended.
    func resume() async {
        for record in (try? await emergencies.emergencies(openOrClosedAfter: .now - Self.linkLife)) ?? [] {
            openDoor(record.id, of: record.person, closedAt: record.closedAt)
        }
    }

    /// What is told while nobody runs it waits.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.events.run { await self.follow($0) } }
            group.addTask {
                while !Task.isCancelled {
                    await self.forgetOld()
                    // Links end by the clock, not by an event.
                    try? await Task.sleep(for: Self.upkeep)
                }
            }
        }
    }

    func follow(_ heard: [SupervisionEvent]) async {
        for event in heard {
            if let emergency = event.emergency { follow(event, of: emergency) }
            watchers.notify(event.person)
            guard let message = await message(about: event) else { continue }
            // Nobody's message waits for another's commit. The outbox gets it, or the notifier itself.
            Task { [messenger] in try? await messenger.send([message]) }
        }
    }

    private func follow(_ event: SupervisionEvent, of emergency: EmergencyID) {
        switch event.kind {
        case .opened, .askedAgain, .doubted, .fell, .lateCritical:
            // Nothing was answered before, or it is asked anew: the store need not be asked.
            answered[emergency] = Answered()
            openDoor(emergency, of: event.person, closedAt: nil)
        case .transient, .muted, .closed, .doubtEnded, .fallEnded: openDoor(emergency, of: event.person, closedAt: event.at)
        default: openDoor(emergency, of: event.person, closedAt: nil)
        }
    }

    private func openDoor(_ emergency: EmergencyID, of person: PersonID, closedAt: Timestamp?) {
        let digest = Capabilities.digest(capabilities.prompt(emergency))
        doors[digest] = Door(person: person, emergency: emergency, closedAt: closedAt)
    }

    private func forgetOld() {
        let now = Timestamp.now
        for (digest, door) in doors where door.closedAt.map({ now >= $0 + Self.linkLife }) ?? false {
            doors[digest] = nil
            answered[door.emergency] = nil
        }
    }

    /// Nothing more is shown or told about the person.
    func forget(_ person: PersonID) {
        for (digest, door) in doors where door.person == person {
            doors[digest] = nil
            answered[door.emergency] = nil
        }
    }

    // MARK: Telling the person

    private func message(about event: SupervisionEvent) async -> SendMessage? {
        guard !event.isKept else { return nil }
        let (name, language) = await supervision.address(of: event.person)
        guard [.opened, .goesOn, .askedAgain, .doubted, .fell, .lateCritical].contains(event.kind) else {
            return letters.letter(about: event, name: name, language)
        }
        guard let emergency = event.emergency, let prompt = await supervision.prompt(of: event.person, abortWindow: abortWindow),
            prompt.emergency == emergency
        else { return nil }
        return letters.prompt(emergency, since: prompt.t0, about: event, language)
    }

    // MARK: Looking

    /// What there is to see wherever the person looks; nil where there is nothing.
    func prompt(of person: PersonID) async -> PromptState? {
        await supervision.prompt(of: person, abortWindow: abortWindow)
    }

    /// Alerts that passed before anybody was called: each is shown until the person has seen it, for a week at most.
    func passed(of person: PersonID) async throws -> [EmergencyRecord] {
        try await store.unseen(of: person, endedAfter: .now - Self.passedLife, limit: Self.mostPassed)
    }

    func see(_ emergency: EmergencyID, by person: PersonID) async throws {
        try await store.see(emergency, by: person, at: .now)
    }

    /// What the page of a link shows.
    enum Page: Sendable {
        case open(PromptState)
        /// It is over: how it ended, and whether the call had gone out.
        /// - Parameter mutedUntil: when "I am fine" ends, by the wall clock; nil where nothing is muted.
        case over(EmergencyRecord.State, dispatched: Bool, mutedUntil: Timestamp?)
    }

    /// nil for a link that opens nothing, or not any more.
    func page(_ capability: String) async throws -> (door: Door, page: Page)? {
        guard let door = door(capability) else { return nil }
        if let prompt = await supervision.prompt(of: door.person, abortWindow: abortWindow), prompt.emergency == door.emergency {
            return (door, .open(prompt))
        }
        let record = try await emergencies.emergency(door.emergency)
        // Whoever opens it sees it; where the disk refuses, it is shown once more.
        if record?.state == .transient { try? await see(door.emergency, by: door.person) }
        let mutedUntil = await supervision.subscriber(of: door.person)?.supervision.mutedUntil.values.max()
        return (door, .over(record?.state ?? .closed, dispatched: record?.dispatchedAt != nil, mutedUntil: mutedUntil))
    }

    func door(_ capability: String) -> Door? {
        doors[Capabilities.digest(capability)].flatMap { door in
            door.closedAt.map { .now >= $0 + Self.linkLife } ?? false ? nil : door
        }
    }

    // MARK: Answering

    /// In force when it returns, and stored. The same answer again gets the first reply, as long as nothing has happened since that it
    /// would change. Where help was called for since, supervision asks it back. Another answer counts by itself, so that "I need help" after
    /// "I am fine" is never swallowed.
    func answer(_ answer: AnswerPrompt.Answer, to emergency: EmergencyID, by person: PersonID) async throws -> PromptStore.Given {
        // A call for help may be repeated: what is one and the same, supervision knows.
        while answer != .help, let known = answered[emergency], known.answer == answer, let reply = known.reply {
            let given = try await reply.value
            // Two that come together are one: the second is not the first said again.
            if given.asksBack { return given }
            // Help may have been called for since, at the other dispatcher or with a device: what goes on is not answered yet.
            guard await supervision.awaits(answer, about: emergency, of: person) else {
                return try await again(given, of: emergency, by: person)
            }
            // Of two who ask meanwhile, the second waits for the first.
            guard answered[emergency]?.reply == reply else { continue }
            break
        }
        let last = answered[emergency]
        let reply = Task { try await give(answer, to: emergency, by: person, isFirst: last == nil) }
        answered[emergency] = Answered(answer: answer, reply: reply)
        do {
            let given = try await reply.value
            if given.asksBack, answered[emergency]?.reply == reply { answered[emergency] = last }
            return given
        } catch {
            if answered[emergency]?.reply == reply { answered[emergency] = Answered() }
            throw error
        }
    }

    private func give(
        _ answer: AnswerPrompt.Answer, to emergency: EmergencyID, by person: PersonID, isFirst: Bool
    ) async throws -> PromptStore.Given {
        // After a restart only the store knows; where it cannot be read the answer counts.
        if isFirst, answer != .help, let known = try? await store.latest(of: emergency), known.answer == answer,
            await !supervision.awaits(answer, about: emergency, of: person)
        {
            return try await again(known, of: emergency, by: person)
        }
        let at = Timestamp.now
        do {
            let reply = try await supervision.answerPrompt(person, about: emergency, answer) { reply in
                if reply.asksBack == true { return nil }
                return PromptStore.remembering(
                    .init(answer: answer, at: at, alreadyDispatched: reply.alreadyDispatched), of: emergency, by: person)
            }
            return PromptStore.Given(
                answer: answer, at: at, alreadyDispatched: reply.alreadyDispatched, asksBack: reply.asksBack ?? false,
                calledFor: answer == .help ? reply.emergency : nil)
        } catch let failure as Failure where failure.code == .conflict {
            // A retry that came by another door than the first try, which has ended it.
            guard let known = await given(answer, to: emergency, by: person) else { throw failure }
            return try await again(known, of: emergency, by: person)
        }
    }

    /// The receipt once more, but not while something else is asked or called for: it would seem to answer that.
    private func again(
        _ given: PromptStore.Given, of emergency: EmergencyID, by person: PersonID
    ) async throws -> PromptStore.Given {
        guard await !supervision.hasMovedOn(from: emergency, of: person) else { throw Failure(.conflict, "another emergency has begun") }
        return given
    }

    /// What the other dispatcher was given, as it has told it; nil where that was something else.
    private func given(
        _ answer: AnswerPrompt.Answer, to emergency: EmergencyID, by person: PersonID
    ) async -> PromptStore.Given? {
        guard let at = await supervision.timeOf(answer, in: emergency, of: person) else { return nil }
        let dispatchedAt = (try? await emergencies.emergency(emergency))?.dispatchedAt
        return PromptStore.Given(answer: answer, at: at, alreadyDispatched: dispatchedAt.map { $0 <= at } ?? false)
    }

    /// Without the name of an emergency: the one that is open or asked about is meant. Where there is none, help is called for, and all
    /// else says that an alarm of the contacts was nothing (SOS-35).
    func answer(
        _ answer: AnswerPrompt.Answer, by person: PersonID
    ) async throws -> (emergency: EmergencyID?, given: PromptStore.Given) {
        if let asked = await supervision.asked(of: person, answer) {
            let given = try await self.answer(answer, to: asked, by: person)
            return (given.calledFor ?? asked, given)
        }
        let reply = try await supervision.answerPrompt(person, answer) { _ in nil }
        return (reply.emergency, PromptStore.Given(answer: answer, at: .now, alreadyDispatched: reply.alreadyDispatched))
    }
}
