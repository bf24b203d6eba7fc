// What a prompt shows in each stage of table SOS-S.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Prompt")
struct PromptStateTests {
    private static let t0 = Timestamp(milliseconds: 5_000)
    private static let emergency = EmergencyID(bits: 9)

    private func prompt(_ stage: Supervision.Stage, acknowledged: Bool = false) -> PromptState? {
        var state = Supervision.State()
        state.stage = stage
        state.episode = Episode(
            trigger: Trigger(PassedBound(metric: .heartRate, side: .below, limit: 45, value: 31), at: Self.t0), t0: Self.t0,
            receivedAt: Self.t0, open: [Breach(.metric(.heartRate), .below): BreachCourse()])
        var record = EmergencyRecord(id: Self.emergency, person: PersonID(bits: 1), t0: Self.t0)
        if acknowledged { record.follow(.acknowledged, at: Self.t0) }
        return PromptState(state, record: record, rules: SupervisionRules(), abortWindow: .seconds(60)) { _ in Self.emergency }
    }

    @Test(
        "SOS-13, SOS-19: the phase follows the stage of the emergency",
        arguments: [
            (Supervision.Stage.alerted, PromptState.Phase.asking), (.confirmed, .asking), (.dispatching, .calling),
            (.dispatched, .helpIsHere),
            (.stoodDown, .calledOff), (.askedAgain, .askingAgain),
        ])
    func phases(stage: Supervision.Stage, phase: PromptState.Phase) throws {
        let shown = try #require(prompt(stage))
        #expect(shown.phase == phase && shown.abortUntil == Self.t0 + .seconds(60))
        #expect(phase != .asking || shown.callAt == Self.t0 + .milliseconds(3500))
        #expect(shown.parameters == ["heart-rate"])
    }

    @Test("SOS-19: an acknowledged call is told as informed; nothing is shown where nobody is supervised")
    func informed() {
        #expect(prompt(.dispatched, acknowledged: true)?.phase == .informed)
        #expect(prompt(.off) == nil && prompt(.paused) == nil)
        var idle = Supervision.State()
        idle.stage = .monitoring
        #expect(PromptState(idle, record: nil, rules: SupervisionRules(), abortWindow: .seconds(60)) { _ in Self.emergency } == nil)
    }

    @Test(
        "SOS-21: calling it off comes first for the abort window and stays possible until the end; called off, help may still be asked for")
    func answers() throws {
        let calling = try #require(prompt(.dispatching))
        #expect(calling.answers(at: Self.t0 + .seconds(59)).first == .fine)
        #expect(calling.answers(at: Self.t0 + .seconds(61)).first == .help)
        for seconds in [0, 61] { #expect(Set(calling.answers(at: Self.t0 + .seconds(seconds))) == Set(AnswerPrompt.Answer.allCases)) }
        #expect(prompt(.stoodDown)?.answers(at: Self.t0) == [.help])
    }

    @Test("what changes the picture changes the version, and nothing else does")
    func versions() {
        let stages: [Supervision.Stage] = [.alerted, .dispatching, .dispatched, .stoodDown, .askedAgain]
        #expect(Set(stages.compactMap { prompt($0)?.version }).count == stages.count)
        #expect(prompt(.alerted)?.version == prompt(.confirmed)?.version)
    }
}
