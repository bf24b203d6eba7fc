// Every question about organisations as it stands in its golden file.

import Contracts
import Foundation
import Testing

@Suite("Golden messages about organisations")
struct OrganisationGoldenTests {
    @Test("What the gateway asks consent: a first log-in, another address, the end")
    func accounts() throws {
        _ = try Golden.roundTrip(RequestEnvelope<MakeFirstMember>.self, "make-first-member.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<MakeFirstMember.Reply>.self, "make-first-member.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ChangeMemberAddress>.self, "change-member-address.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<CloseOrganisation>.self, "close-organisation.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<CloseOrganisation.Reply>.self, "close-organisation.reply.v1.json")
    }

    @Test("What operators ask the gateway: lists, one of them, a judgement, a tier")
    func operators() throws {
        let list = try Golden.roundTrip(RequestEnvelope<ListOrganisations>.self, "list-organisations.v1.json")
        #expect(list.body.state == .awaitingApproval)
        _ = try Golden.roundTrip(ReplyEnvelope<ListOrganisations.Reply>.self, "list-organisations.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ShowOrganisation>.self, "show-organisation.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<ShowOrganisation.Reply>.self, "show-organisation.reply.v1.json")
        let reopening = try Golden.roundTrip(RequestEnvelope<ReopenThirdParties>.self, "reopen-third-parties.v1.json")
        #expect(reopening.body.apiClients.count == 1 && reopening.body.endpoints.isEmpty)
        _ = try Golden.roundTrip(ReplyEnvelope<ReopenThirdParties.Reply>.self, "reopen-third-parties.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<JudgeOrganisation>.self, "judge-organisation.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<JudgeOrganisation.Reply>.self, "judge-organisation.reply.v1.json")
        #expect(try Golden.roundTrip(RequestEnvelope<SetOrganisationTier>.self, "set-organisation-tier.v1.json").body.tier == .untrusted)
        let tiers = try Golden.roundTrip(ReplyEnvelope<ListOrganisations.Reply>.self, "list-organisations.tier.reply.v1.json")
        #expect(tiers.ok?.items.first?.tier == .goodStanding)
    }
}
