// One subscriber together with how far the stream about them has been heard.

import Contracts

/// What is stored of one subscriber as one whole, so that after a crash no fact is judged twice and none is skipped,
/// whatever else had got to the disk.
struct Watched: Hashable, Codable, Sendable {
    /// The last fact of the person's partition that went into the state.
    struct Heard: Hashable, Codable, Sendable {
        var epoch: String
        var sequence: Int64
    }

    /// The answers in one emergency.
    struct Answered: Hashable, Codable, Sendable {
        var emergency: EmergencyID
        /// How many that the other dispatcher was given have gone into the state.
        var count: Int
        /// The last that counted, whoever was given it, and when, on the time line of this dispatcher. Not how long after `t0`: who is asked
        /// again about one entry answers in the same emergency with another `t0`.
        var last: AnswerPrompt.Answer?
        var lastAt: Timestamp?
        /// "I am fine" and false alarms since it was opened or asked about, each once, whoever was given them; nil for none.
        var said: [AnswerPrompt.Answer]?
        /// The last of these that came again and was asked back.
        var askedBack: AskedBack?

        /// An answer that counts when it is said once more.
        struct AskedBack: Hashable, Codable, Sendable {
            var answer: AnswerPrompt.Answer
            var at: Timestamp
            /// Own time of the call for help that it would call off: another one since is asked back anew.
            var help: Timestamp?
        }

        /// Whether it was given before what has counted already: the person's last word counts, whichever dispatcher heard it first. Of two
        /// at one time the call for help does. "Help is here" is overtaken by a call for help alone.
        func hasOvertaken(_ answer: AnswerPrompt.Answer, at time: Timestamp) -> Bool {
            guard let last, let lastAt, answer != .helpIsHere || last == .help else { return false }
            return time < lastAt || time == lastAt && last == .help && answer != .help
        }

        mutating func note(_ answer: AnswerPrompt.Answer, at time: Timestamp) {
            if answer != .helpIsHere { (last, lastAt) = (answer, time) }
            // Also where it is one call with the last: what comes behind it is asked back anew.
            if answer == .help { askedBack = nil }
            noteSaid(answer)
        }

        /// Also of one that came too late to count: it may come once more.
        mutating func noteSaid(_ answer: AnswerPrompt.Answer) {
            guard answer.callsOff, said?.contains(answer) != true else { return }
            said = (said ?? []) + [answer]
        }

        /// Whether it was asked back a minute ago at most, and no help was called for since.
        func isAskedBack(_ answer: AnswerPrompt.Answer?, help: Timestamp?, at now: Timestamp) -> Bool {
            guard let askedBack, askedBack.help == help, now - askedBack.at <= SupervisionRules.askedBackFor else { return false }
            return answer == nil || askedBack.answer == answer
        }
    }

    /// What the person has called off on this side.
    struct CalledOff: Hashable, Codable, Sendable {
        var emergency: EmergencyID
        /// As it stood.
        var episode: Episode
        /// Whether it was asked about beside, and called for by nobody; nil is false.
        var wasAsked: Bool?
        var at: Timestamp
        /// Of its next message, once it is closed; nil where none was made.
        var nextSequence: Int?
    }

    /// Emergencies whose answers are known beside the last one's: what runs, and the falls and doubts that came beside it.
    private static let mostAnsweredBefore = 15

    var subscriber = Subscriber()
    var heard: Heard?
    /// In the emergency that was answered last.
    var answered: Answered?
    /// In further ones, the latest first. What is counted of one must not be forgotten for another: it would count again.
    var answeredBefore: [Answered]?
    /// For as long as a later call for help in it may still be on its way from the other side.
    var calledOff: CalledOff?

    /// Takes note of a fact; false if it is in the state already.
    mutating func receive(_ header: StreamHeader) -> Bool {
        if let heard, heard.epoch == header.epoch, header.sequence <= heard.sequence { return false }
        heard = Heard(epoch: header.epoch, sequence: header.sequence)
        return true
    }

    private var allAnswered: [Answered] { [answered].compactMap(\.self) + (answeredBefore ?? []) }

    /// When the person has last said something that counted.
    var lastAnswerAt: Timestamp? { allAnswered.compactMap(\.lastAt).max() }

    /// What a newcomer must know to ask back what comes again. What was asked back here is asked back there anew: nobody knows whether the
    /// person has heard that it was.
    var answersToTell: [Answered]? {
        let told = allAnswered.filter { $0.said != nil }.map { known in
            var known = known
            known.askedBack = nil
            return known
        }
        return told.isEmpty ? nil : told
    }

    func answers(in emergency: EmergencyID) -> Answered {
        allAnswered.first { $0.emergency == emergency } ?? Answered(emergency: emergency, count: 0)
    }

    mutating func note(_ known: Answered) {
        let others = allAnswered.filter { $0.emergency != known.emergency }.prefix(Self.mostAnsweredBefore)
        (answered, answeredBefore) = (known, others.isEmpty ? nil : Array(others))
    }

    /// It is opened or asked about: what was said before says nothing of it.
    mutating func noteAsked(_ emergency: EmergencyID) {
        var known = answers(in: emergency)
        guard known.said != nil || known.askedBack != nil else { return }
        (known.said, known.askedBack) = (nil, nil)
        note(known)
    }

    /// Help is called for in it: what was said in another a moment before may come again without a name, and would be taken for this one's.
    mutating func noteCalledFor(_ emergency: EmergencyID, since earliest: Timestamp) {
        let others = allAnswered.filter { $0.emergency != emergency && $0.lastAt ?? .init(milliseconds: .min) >= earliest }
        let before = others.flatMap { $0.said ?? [] }
        guard !before.isEmpty else { return }
        var known = answers(in: emergency)
        for answer in before { known.noteSaid(answer) }
        note(known)
    }
}

extension AnswerPrompt.Answer {
    /// Whether it says that no help is needed.
    var callsOff: Bool { self == .fine || self == .falseAlarm }
}
