// What supervision tells the other dispatcher, and what follows here from what that one tells.

import Contracts
import Foundation
import ServiceKit

extension SupervisionService {
    /// An answer is told again and again until the other side has heard it; after so long the person has said something new.
    static let answersTravel = Duration.seconds(30)

    /// Knows again what the last process knew. What the other dispatcher has told meanwhile may be heard from here on.
    func restore(_ memory: SOSStore.Memory) {
        records = memory.emergencies
        progress.restore(memory.positions)
        // What only the other dispatcher has called for yet is called for here under the same number.
        for (emergency, known) in memory.outboxes where !memory.uncalled.contains(emergency) {
            sequences[emergency] = known.outbox.nextSequence
        }
        people = memory.subscribers
        // Earlier releases left the notes in the card as they were when the other dispatcher was told of a choice.
        for person in memory.subscribers.keys { people[person]?.subscriber.adoptToldNotes() }
        missingCards.note(withoutCard(among: Set(people.keys)))
        untold = Set(memory.unreadable.keys)
        var known = memory.pair
        // Their settings are not known here any more: the other side's are newer, whatever their version.
        for person in untold { known.versions[person] = nil }
        pair.load(known, settings: memory.subscribers.mapValues { SubscriberSettings($0.subscriber) })
    }

    // MARK: Telling

    /// Everything that the other side must know of what has just been decided, into the same transaction.
    func tellPair(_ effects: inout Effects) {
        for settings in pair.news(of: changes.subscribers, removed: changes.removed, at: .now) {
            changes.versions[settings.person] = settings.version
            changes.told.append(.settings(settings))
            // Stored at once: what the other side is told must not be lost on this one.
            effects.people.insert(settings.person)
        }
        for event in effects.events where event.kind == .opened && !isSynthetic(event.person) {
            guard let emergency = event.emergency, let episode = event.episode, episode.trigger.kind.isFoundByValues,
                pair.opens(emergency)
            else { continue }
            changes.told.append(
                .opened(
                    OpenedEmergency(
                        person: event.person, trigger: episode.trigger, receivedAt: episode.receivedAt, parameters: episode.parameters,
                        breaches: Set(episode.open.keys), firstTriedAt: episode.firstTriedAt)))
        }
    }

    /// `now`, but later than what the person has answered last: both sides bring the answers of one instant into one order by it. For
    /// telling alone: no machine is moved to a time that has not come.
    func timeOfAnswer(of person: PersonID, _ now: Timestamp) -> Timestamp {
        people[person]?.lastAnswerAt.map { max(now, $0 + .milliseconds(1)) } ?? now
    }

    /// The person has answered on this side.
    func tellAnswer(
        _ answer: AnswerPrompt.Answer, of person: PersonID, with outcome: Supervision.Outcome, at time: Timestamp, wall: Timestamp
    ) {
        guard let episode = outcome.episode else { return }
        // A call for help where nothing ran is named after itself, so that both sides call for one emergency.
        if episode.trigger.kind == .manual, answer == .help, episode.trigger.at == wall {
            tell(GivenAnswer(person: person, emergency: nil, answer: .help, afterMs: 0, at: episode.trigger.at))
            return
        }
        let emergency = names.emergency(of: person, episode.trigger)
        let afterMs = (time - episode.t0).wholeMilliseconds
        if answer.callsOff { noteCalledOff(episode, emergency, at: time, of: person) }
        noteAnswer(answer, at: time, of: person, in: emergency)
        var given = GivenAnswer(person: person, emergency: emergency, answer: answer, afterMs: afterMs)
        if outcome.asksBack || outcome.isConfirmed { given.asksBack = outcome.asksBack }
        tell(given)
    }

    /// The reply waits for the disk, and whoever gets none answers again at the other dispatcher: a press must be the same call there, and
    /// must not be heard before the "fine" that was said before it. What is asked back is told in its place alone: a side of an older release
    /// takes it for the first of two.
    private func tell(_ given: GivenAnswer) {
        pair.noteGiven(given)
        if given.asksBack != true { pair.tellAtOnce(.answered(given)) }
        changes.told.append(.answered(given))
    }

    private func noteAnswer(_ answer: AnswerPrompt.Answer, at time: Timestamp, of person: PersonID, in emergency: EmergencyID) {
        guard var watched = people[person] else { return }
        var known = watched.answers(in: emergency)
        known.note(answer, at: time)
        watched.note(known)
        people[person] = watched
        changes.put(watched, of: person)
    }

    // MARK: Hearing

    /// One gapless stretch of the other side's stream; everything that follows is noted in the journal with how far it was heard.
    /// - Parameters:
    ///   - further: what other subjects write because of it, in the same transaction.
    ///   - isUnstored: whether it is in no log, but what the other side's memory alone tells (`ReadUnstored`).
    /// - Returns: people who are subscribed here by it and were not before, or whose supervision has begun anew.
    func hear(
        _ facts: [PairFact], _ next: [StreamPosition], further: [SealedBatchStore.FurtherWrite] = [], isUnstored: Bool = false
    ) async -> [PersonID] {
        var effects = Effects()
        var newcomers: [PersonID] = []
        // First what is known about emergencies, then whatever lets time pass: nothing is called that was called off there.
        var answers: [GivenAnswer] = []
        for fact in facts {
            if case .attempted(let attempt) = fact {
                pair.note(fact, at: clock.steady(fromWall: attempt.at))
                continue
            }
            if case .answered(let answer) = fact, answer.emergency == nil, !isToBeHeard(answer) { continue }
            guard pair.note(fact) else { continue }
            if case .answered(let answer) = fact { answers.append(answer) }
            if fact.isKept { changes.heard.append(fact) }
        }
        var outboxes: ToldOutboxes = [:]
        // A call for help among the answers may have begun what goes on.
        if isUnstored { for case .settings(let running) in facts { goOn(with: running, &effects, &outboxes) } }
        for answer in answers {
            if answer.emergency == nil, answer.answer == .help, let at = answer.at {
                if answer.isReturned == true, isCalledOff(answer.person, pressed: at) { continue }
                change(answer.person, &effects) { $0.helpedElsewhere(at: clock.steady(fromWall: at), wall: at) }
            } else {
                takeAnswers(of: answer.person, &effects)
                if answer.answer == .help { takeHelpAfterFine(of: answer.person, &effects) }
            }
        }
        for fact in facts {
            switch fact {
            case .settings(let settings) where !isUnstored:
                let person = settings.person
                let (isNew, joins) = (!isSubscribed(person), people[person]?.subscriber.supervision.joins)
                guard take(settings, &effects, &outboxes), isSubscribed(person) else { continue }
                if isNew || people[person]?.subscriber.supervision.joins != joins { newcomers.append(person) }
            case .opened(let opened): take(opened, &effects)
            case .settings, .note, .answered, .attempted, .acknowledged, .contact, .erased: break
            }
        }
        changes.further += further
        // What the other side has told is not told back.
        tellPair(&effects)
        for position in next { changes.positions[position.stream] = position }
        let decided = changes
        changes = StoreBatch()
        journal.note(decided)
        // What follows in these emergencies goes to whoever was called.
        if !outboxes.isEmpty { await dispatcher.takeOver(outboxes) }
        await settle(effects)
        return newcomers
    }

    /// - Parameter press: a call for help that began an emergency.
    private func isToBeHeard(_ press: GivenAnswer) -> Bool {
        // Nobody is here to call for yet: it counts when it comes again in its place.
        guard people[press.person] != nil else { return false }
        guard press.isReturned == true, let at = press.at else { return true }
        // A process that ran by then was given the press itself. Of a store that was restored from a copy much is long over.
        let oldest = wasPutBack ? SupervisionRules.oldestEvent : SupervisionRules.keptFor
        return clock.steady(fromWall: at) < beganAt && Timestamp.now - at <= oldest
    }

    /// Whether the other side says so.
    private func isCalledOff(_ person: PersonID, pressed time: Timestamp) -> Bool {
        let emergency = names.emergency(of: person, Trigger(.help, at: time, kind: .manual))
        return pair.answers(in: emergency).last?.answer.callsOff == true
    }

    private func take(_ fact: PersonSettings, _ effects: inout Effects, _ outboxes: inout ToldOutboxes) -> Bool {
        let person = fact.person
        // How the person is supervised there comes with the snapshot: these settings alone must not take its place.
        if untold.contains(person), fact.standing == nil, fact.settings.isSubscribed { return false }
        learn(fact.standing?.answered ?? [], of: person)
        guard pair.takes(fact) else { return false }
        changes.versions[person] = fact.version
        effects.people.insert(person)
        guard fact.settings.isSubscribed else {
            // Also of one whose state cannot be read here: nobody is to be supervised anew who has left.
            if untold.remove(person) != nil { changes.remove(person) }
            change(person, &effects) { $0.unsubscribed(at: clock.now) }
            pair.settle(person, people[person].map { SubscriberSettings($0.subscriber) })
            return true
        }
        if people[person] == nil, let standing = fact.standing {
            stand(person, standing, &effects, &outboxes)
        } else {
            people[person] = people[person] ?? Watched()
            change(person, &effects) { $0.set(fact.settings, at: clock.now) }
        }
        if var watched = people[person] {
            watched.subscriber = fact.settings.applied(to: watched.subscriber)
            people[person] = watched
            changes.put(watched, of: person)
            // As it has come to stand: a pause waits for the end of an emergency that runs here.
            pair.settle(person, SubscriberSettings(watched.subscriber))
        }
        return true
    }

    private func take(_ opened: OpenedEmergency, _ effects: inout Effects) {
        let emergency = names.emergency(of: opened.person, opened.trigger)
        guard pair.opens(emergency) else { return }
        // Placed as ingest's own fact: seemingly long ago it would not be adopted, and called for here under another name.
        let place = ReceiptPlace(opened.receivedAt, wall: .now, at: clock.now, transit, rules)
        var theirs = Episode(trigger: opened.trigger, t0: place.at, receivedAt: opened.receivedAt, open: opened.open)
        theirs.firstTriedAt = opened.firstTriedAt
        change(opened.person, &effects) { $0.otherOpened(theirs, at: clock.now) }
    }

    /// Lets answers count that were given on the other side, each once, as soon as their emergency runs here.
    func takeAnswers(of person: PersonID, _ effects: inout Effects) {
        guard pair.hasAnswers, let state = people[person]?.subscriber.supervision else { return }
        for episode in [state.episode].compactMap(\.self) + state.beside { takeAnswers(of: person, in: episode, &effects) }
    }

    /// Before the call it is over by that; after it a manual one, or a fall, is closed at once where nothing is critical, any other by the
    /// next values in range.
    func noteCalledOff(by action: SupervisionAction, _ emergency: EmergencyID, of watched: inout Watched) {
        guard action.calledOffBy != nil, let episode = action.episode else { return }
        watched.calledOff = Watched.CalledOff(emergency: emergency, episode: episode, at: action.at)
    }

    /// The same of a fall or a doubt: that it has ended does not say that the person has said so.
    private func noteCalledOff(_ question: Episode, _ emergency: EmergencyID, at time: Timestamp, of person: PersonID) {
        guard let watched = people[person], watched.subscriber.supervision.takesHelp(afterAsking: true),
            watched.calledOff?.emergency != emergency
        else { return }
        people[person]?.calledOff = Watched.CalledOff(emergency: emergency, episode: question, wasAsked: true, at: time)
    }

    /// "I am fine" was said here, and "help" a moment later at the other dispatcher, which had not heard of the first: it calls, so the
    /// same emergency runs here again. Otherwise nobody who asks this side could call it off, and this side would not call in its stead.
    private func takeHelpAfterFine(of person: PersonID, _ effects: inout Effects) {
        guard let watched = people[person], let ended = watched.calledOff, clock.now - ended.at <= Self.answersTravel,
            watched.subscriber.supervision.takesHelp(afterAsking: ended.wasAsked == true)
        else { return }
        let emergency = ended.emergency
        var known = watched.answers(in: emergency)
        let answers = pair.answers(in: emergency)
        // "Help is here" right behind it is taken after it. Who has called it off there too needs nothing here.
        guard let place = answers.lastIndex(where: { $0.answer != .helpIsHere }), place >= known.count, answers[place].answer == .help
        else { return }
        let time = ended.episode.t0 + .milliseconds(answers[place].afterMs)
        guard !known.hasOvertaken(.help, at: time) else { return }
        known.count = place + 1
        known.note(.help, at: time)
        people[person]?.note(known)
        people[person]?.calledOff = nil
        // Behind the cancellation: under the number of an alert that was taken before, nobody would go.
        sequences[emergency] = sequences[emergency] ?? ended.nextSequence
        change(person, &effects) {
            $0.helped(afterFine: ended.episode, wasAsked: ended.wasAsked == true, at: min(time, clock.now))
        }
        // A fall is opened by that, but nobody is asked anew: what was answered before may still come again.
        for answer in known.said ?? [] { noteSaid(answer, of: person, in: emergency) }
        changes.audit.append(
            AuditNote(
                at: .now, actor: "person", action: "answered", object: names.auditName(of: person), detail: "help, at the other dispatcher")
        )
    }

    private func noteSaid(_ answer: AnswerPrompt.Answer, of person: PersonID, in emergency: EmergencyID) {
        guard var watched = people[person] else { return }
        var known = watched.answers(in: emergency)
        known.noteSaid(answer)
        watched.note(known)
        people[person] = watched
        changes.put(watched, of: person)
    }

    /// What was said there in what runs here: after a long absence, what help has overtaken is told by nothing else.
    private func learn(_ answered: [Watched.Answered], of person: PersonID) {
        guard !answered.isEmpty, let state = people[person]?.subscriber.supervision else { return }
        let running = emergencies(state, of: person)
        for told in answered where running.contains(told.emergency) {
            for answer in told.said ?? [] { noteSaid(answer, of: person, in: told.emergency) }
        }
    }

    func emergencies(_ state: Supervision.State, of person: PersonID) -> [EmergencyID] {
        ([state.episode].compactMap(\.self) + state.beside).map { names.emergency(of: person, $0.trigger) }
    }

    private func takeAnswers(of person: PersonID, in episode: Episode, _ effects: inout Effects) {
        let emergency = names.emergency(of: person, episode.trigger)
        guard var known = people[person]?.answers(in: emergency) else { return }
        let taken = known.count
        let answers = pair.answers(in: emergency)
        guard answers.count > taken else { return }
        known.count = answers.count
        people[person]?.note(known)
        for answer in answers.dropFirst(taken) {
            let time = episode.t0 + .milliseconds(answer.afterMs)
            // Whoever got no reply there repeats it here, where it is asked back as well.
            guard answer.asksBack != true else { continue }
            guard var known = people[person]?.answers(in: emergency) else { return }
            let isOvertaken = known.hasOvertaken(answer.answer, at: time)
            if isOvertaken { known.noteSaid(answer.answer) } else { known.note(answer.answer, at: time) }
            people[person]?.note(known)
            guard !isOvertaken else { continue }
            // Never ahead: the other side may have heard the entry, from which it counts, before this one did.
            let isConfirmed = answer.asksBack == false
            change(person, &effects) { $0.answered(answer.answer, at: min(time, clock.now), isConfirmed: isConfirmed).actions }
            changes.audit.append(
                AuditNote(
                    at: .now, actor: "person", action: "answered", object: names.auditName(of: person),
                    detail: "\(answer.answer.rawValue), at the other dispatcher"))
        }
    }
}

extension Trigger.Kind {
    /// Whether the other side is told, so that both go by the earlier entry; the rest each finds by the same time or the same words.
    fileprivate var isFoundByValues: Bool { self != .manual && self != .fall }
}

extension OpenedEmergency {
    fileprivate var open: [Breach: BreachCourse] {
        let side = trigger.passed.side
        let named = breaches ?? Set(parameters.map { Breach($0, $0 == .metric(trigger.passed.metric) ? side : .above) })
        return Dictionary(uniqueKeysWithValues: named.map { ($0, BreachCourse()) })
    }
}

extension PairFact {
    /// Whether it may concern something that this side comes to later.
    fileprivate var isKept: Bool {
        switch self {
        case .answered, .acknowledged, .contact, .erased: true
        case .settings, .opened, .attempted, .note: false
        }
    }
}

extension Supervision {
    /// As the person has set it on the other side.
    fileprivate mutating func set(_ settings: SubscriberSettings, at time: Timestamp) -> [SupervisionAction] {
        var actions = subscribed(own: settings.own, declaredInterval: nil, at: time)
        actions +=
            personalised(settings.personal ?? [:], at: time)
            + preferences(shaking: settings.shaking ?? false, falls: settings.falls, at: time)
        if settings.isPaused {
            actions += paused(at: time).actions
        } else if state.stage == .paused {
            actions += resumed(declaredInterval: nil, at: time).actions
        }
        return actions
    }
}
