// Every message about accounts, sharing and messages to people as it stands in its golden file.

import Contracts
import Foundation
import Testing

@Suite("Golden messages of consent and the notifier")
struct ConsentGoldenTests {
    @Test("Facts about accounts: keys, sessions, people, erasures, tokens")
    func accounts() throws {
        #expect(try Golden.roundTrip(SigningKeyState.self, "signing-key-state.v1.json").keyID == "k1")
        _ = try Golden.roundTrip(SessionEnded.self, "session-ended.v1.json")
        _ = try Golden.roundTrip(LapsedSessionsRevoked.self, "lapsed-sessions-revoked.v1.json")
        #expect(try Golden.roundTrip(AccessTokenClaims.self, "access-token.v1.json").kind == .member)
        #expect(try Golden.roundTrip(PersonState.self, "person-state.v1.json").language == .italian)
        #expect(try Golden.roundTrip(PersonErased.self, "person-erased.v1.json").scope == .account)
        #expect(try Golden.roundTrip(MonitoringState.self, "monitoring-state.v1.json").paused)
    }

    @Test("Questions about accounts: operators, members, erasure, entries, supervision")
    func accountQuestions() throws {
        _ = try Golden.roundTrip(RequestEnvelope<MakeOperator>.self, "make-operator.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<MakeOperator.Reply>.self, "make-operator.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<EndSessions>.self, "end-sessions.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<EndSessions.Reply>.self, "end-sessions.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<InviteMember>.self, "invite-member.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<RemoveMember>.self, "remove-member.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ConfirmErasure>.self, "confirm-erasure.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<RecordEntries>.self, "record-entries.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ReadSupervision>.self, "read-supervision.v1.json")
    }

    @Test("Sharing: requests, grants, what was read")
    func sharing() throws {
        _ = try Golden.roundTrip(RequestEnvelope<OpenRequest>.self, "open-request.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<OpenRequest.Reply>.self, "open-request.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ReadRequest>.self, "read-request.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<EndRequest>.self, "end-request.v1.json")
        #expect(try Golden.roundTrip(RequestState.self, "request-state.v1.json").status == .approved)
        #expect(try Golden.roundTrip(GrantState.self, "grant-state.v1.json").granularity == .hours)
        _ = try Golden.roundTrip(RequestEnvelope<ReadSamples>.self, "read-samples.v1.json")
        _ = try Golden.roundTrip(DataRead.self, "data-read.v1.json")
    }

    @Test("Messages to people: sending, states by channel, settled")
    func messages() throws {
        let asked = try Golden.roundTrip(RequestEnvelope<SendMessage>.self, "send-message.v1.json")
        #expect(Set(asked.body.values.keys) == asked.body.template.values)
        _ = try Golden.roundTrip(RequestEnvelope<ReadMessage>.self, "read-message.v1.json")
        let reply = try Golden.roundTrip(ReplyEnvelope<ReadMessage.Reply>.self, "read-message.reply.v1.json")
        #expect(reply.ok?.states == [.mail: .sent, .push: .failed])
        #expect(try Golden.roundTrip(MessageSettled.self, "message-settled.v1.json").state == .failed)
    }
}
