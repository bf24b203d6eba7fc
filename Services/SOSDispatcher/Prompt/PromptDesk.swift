// Shows people their prompts, tells their devices, and takes their answers (SOS-13, SOS-14, SOS-21).

import Contracts
import Foundation
import Logging
import ServiceKit

actor PromptDesk {
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
    private let messenger: Messenger
    private let capabilities: Capabilities
    private let letters: PersonLetters
    private let abortWindow: Duration
    private let logger: Logger
    private var doors: [[UInt8]: Door] = [:]
    /// The latest answer of each emergency that was answered.
    private var answered: [EmergencyID: Answered] = [:]
    /// Event streams of each person.
    nonisolated let watchers = Watchers<PersonID>(limit: 10)
    nonisolated let tidings = TidingsQueue()

    init(
        supervision: SupervisionService, emergencies: SOSStore, store: PromptStore, messenger: Messenger, capabilities: Capabilities,
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
            group.addTask { await self.tidings.run { await self.follow($0) } }
            group.addTask {
                while !Task.isCancelled {
                    await self.forgetOld()
                    // Links end by the clock, not by an event.
                    try? await Task.sleep(for: Self.upkeep)
                }
            }
        }
    }

    func follow(_ heard: [Tiding]) async {
        for tiding in heard {
            if let emergency = tiding.emergency { follow(tiding, of: emergency) }
            watchers.notify(tiding.person)
            guard let message = await message(about: tiding) else { continue }
            // Nobody's message waits for another's commit. The outbox gets it, or the notifier itself.
            Task { [messenger] in try? await messenger.send([message]) }
        }
    }

    private func follow(_ tiding: Tiding, of emergency: EmergencyID) {
        switch tiding.kind {
        case .opened, .askedAgain, .doubted, .fell, .lateCritical:
            // Nothing was answered before, or it is asked anew: the store need not be asked.
            answered[emergency] = Answered()
            openDoor(emergency, of: tiding.person, closedAt: nil)
        case .transient, .muted, .closed, .doubtEnded, .fallEnded: openDoor(emergency, of: tiding.person, closedAt: tiding.at)
        default: openDoor(emergency, of: tiding.person, closedAt: nil)
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

    private func message(about tiding: Tiding) async -> SendMessage? {
        guard !tiding.isKept else { return nil }
        let (name, language) = await supervision.address(of: tiding.person)
        guard [.opened, .goesOn, .askedAgain, .doubted, .fell, .lateCritical].contains(tiding.kind) else {
            return letters.letter(about: tiding, name: name, language)
        }
        guard let emergency = tiding.emergency, let prompt = await supervision.prompt(of: tiding.person, abortWindow: abortWindow),
            prompt.emergency == emergency
        else { return nil }
        return letters.prompt(emergency, since: prompt.t0, about: tiding, language)
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

    /// In force when it returns, and stored. The same answer again gets the first reply; another one counts by itself, so that
    /// "I need help" after "I am fine" is never swallowed.
    func answer(_ answer: AnswerPrompt.Answer, to emergency: EmergencyID, by person: PersonID) async throws -> PromptStore.Given {
        let last = answered[emergency]
        // A call for help may be repeated: what is one and the same, supervision knows.
        if let last, last.answer == answer, answer != .help, let reply = last.reply { return try await reply.value }
        let reply = Task { try await give(answer, to: emergency, by: person, isFirst: last == nil) }
        answered[emergency] = Answered(answer: answer, reply: reply)
        do {
            let given = try await reply.value
            if given.asksBack, answered[emergency]?.reply == reply { answered[emergency] = Answered() }
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
        if isFirst, answer != .help, let known = try? await store.latest(of: emergency), known.answer == answer { return known }
        let at = Timestamp.now
        let reply = try await supervision.answerPrompt(person, about: emergency, answer) { reply in
            if reply.asksBack == true { return nil }
            return PromptStore.remembering(
                .init(answer: answer, at: at, alreadyDispatched: reply.alreadyDispatched), of: emergency, by: person)
        }
        return PromptStore.Given(
            answer: answer, at: at, alreadyDispatched: reply.alreadyDispatched, asksBack: reply.asksBack ?? false)
    }

    /// Without the name of an emergency: the one that is open or asked about is meant. Where there is none, help is called for, and all
    /// else says that an alarm of the contacts was nothing (SOS-35).
    func answer(
        _ answer: AnswerPrompt.Answer, by person: PersonID
    ) async throws -> (emergency: EmergencyID?, given: PromptStore.Given) {
        if let asked = await supervision.asked(of: person) { return (asked, try await self.answer(answer, to: asked, by: person)) }
        let reply = try await supervision.answerPrompt(person, answer) { _ in nil }
        return (reply.emergency, PromptStore.Given(answer: answer, at: .now, alreadyDispatched: reply.alreadyDispatched))
    }
}
