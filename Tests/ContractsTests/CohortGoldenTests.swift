// Every message about people who share anonymously, and about the data of groups, as it stands in its golden file.

import Contracts
import Foundation
import Testing

@Suite("Golden messages of the anonymiser")
struct CohortGoldenTests {
    @Test("Facts: profiles, sums of hours, hours that are closed")
    func facts() throws {
        #expect(try Golden.roundTrip(CohortProfileState.self, "cohort-profile-changed.v1.json").profile?.shares.count == 1)
        #expect(try Golden.roundTrip(CohortHourSummed.self, "cohort-hour-summed.v1.json").sums.first?.sum == 259_200_000)
        _ = try Golden.roundTrip(CohortHoursClosed.self, "cohort-hours-closed.v1.json")
        #expect(try Golden.roundTrip(GroupWindowClosed.self, "group-window-closed.v1.json").status == .withheld)
    }

    @Test("Questions: a group's release, its entries, the catalogue, its places")
    func questions() throws {
        #expect(try Golden.roundTrip(RequestEnvelope<ReleaseGroup>.self, "release-group.v1.json").body.form.age?.to == 50)
        #expect(try Golden.roundTrip(ReplyEnvelope<ReleaseGroup.Reply>.self, "release-group.reply.v1.json").ok?.release?.tables == 168)
        let refused = try Golden.roundTrip(ReplyEnvelope<ReleaseGroup.Reply>.self, "release-group.refused.reply.v1.json")
        #expect(refused.ok?.refusal == .tooFewIndividuals)
        _ = try Golden.roundTrip(ReplyEnvelope<ReleaseGroup.Reply>.self, "release-group.faults.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ReadGroupRelease>.self, "read-group-release.v1.json")
        #expect(try Golden.roundTrip(RequestEnvelope<ReadGroupRelease>.self, "read-group-release.window.v1.json").body.window == 7)
        #expect(try Golden.roundTrip(RequestEnvelope<ReleaseGroup>.self, "release-group.subscribe.v1.json").body.form.subscribe == true)
        #expect(try Golden.roundTrip(RequestEnvelope<ReleaseGroup>.self, "release-group.atoms.v1.json").body.guardsAtoms == true)
        let opened = try Golden.roundTrip(ReplyEnvelope<ReleaseGroup.Reply>.self, "release-group.subscription.reply.v1.json")
        #expect(opened.ok?.subscription?.granularity == "hour")
        _ = try Golden.roundTrip(RequestEnvelope<EndGroupSubscription>.self, "end-group-subscription.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<ReadGroupRelease.Reply>.self, "read-group-release.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ReadGroupCatalogue>.self, "read-group-catalogue.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<ReadGroupCatalogue.Reply>.self, "read-group-catalogue.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<FindGroupPlaces>.self, "find-group-places.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<FindGroupPlaces.Reply>.self, "find-group-places.reply.v1.json")
    }

    @Test("A place lies in one square of about a kilometre, and what is no place in none")
    func squares() {
        #expect(GridCell(latitude: 45.464, longitude: 9.19) == GridCell(x: 716, y: 5055))
        #expect(GridCell(latitude: 0, longitude: 0) == GridCell(x: 0, y: 0))
        #expect(GridCell(latitude: -0.001, longitude: -0.001) == GridCell(x: -1, y: -1))
        #expect(GridCell(latitude: .nan, longitude: 0) == nil)
        #expect(GridCell(latitude: 90.1, longitude: 0) == nil)
        for (latitude, longitude) in [(90.0, 180.0), (-90, -180), (0, 180), (0, -180)] {
            let cell = GridCell(latitude: latitude, longitude: longitude)
            #expect(cell.map { GridCell.bounds.contains(Int($0.x)) && GridCell.bounds.contains(Int($0.y)) } == true)
        }
    }

    @Test("The middle of a square lies in it, half a kilometre from its edges")
    func middles() {
        for (x, y) in [(716, 5055), (0, 0), (-1, -1), (9000, 100), (-3, -10_000), (12, 10_000)] as [(Int32, Int32)] {
            let cell = GridCell(x: x, y: y)
            #expect(GridCell(latitude: cell.middle.latitude, longitude: cell.middle.longitude) == cell)
        }
        let milan = GridCell(x: 716, y: 5055).middle
        #expect(abs(milan.latitude - 45.46514) < 0.00001)
        #expect(abs(milan.longitude - 9.18756) < 0.00001)
    }
}
