// Third parties of a gateway whose store was restored from a copy: what was taken away after the copy stays away.

import Bus
import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Third parties after a restore")
struct RestoredGatewayTests {
    private struct Program {
        let id: ClientID
        let secret: String
    }

    private static func program(_ name: String, _ harness: OrganisationHarness, _ owner: String) async throws -> Program {
        let made = try await harness.ask(
            "POST", "/thirdparty/v1/clients", token: owner, json: ["name": name, "scopes": ["organisation:manage"]]
        ).expect(status: 201)
        return Program(
            id: try #require(ClientID(made.json["client"] as? String ?? "")), secret: try #require(made.json["secret"] as? String))
    }

    private static func token(_ program: Program, _ harness: OrganisationHarness) async throws -> HarnessAnswer {
        try await harness.ask(
            "POST", "/thirdparty/v1/oauth/token", form: "grant_type=client_credentials",
            headers: ["Authorization": "Basic " + Base64.encode(Array("\(program.id):\(program.secret)".utf8))])
    }

    @Test(
        "ORG-11: after a restore an API client that had been deleted since the copy was let in: all are held until `trackme org reopen`, and it stays deleted"
    )
    func held() async throws {
        try await withTemporaryFolder { folder in
            let (consent, clock) = (TestConsent(), TestClock())
            let copy = folder.appendingPathComponent("copy.db")
            let (founded, kept, deleted, bearer) = try await OrganisationHarness.run(in: folder, consent: consent, clock: clock) {
                harness in
                let founded = try await harness.found()
                let (kept, deleted) = try await (
                    Self.program("kept", harness, founded.token), Self.program("deleted", harness, founded.token)
                )
                let bearer = try await Self.token(deleted, harness).expect(status: 200).json["access_token"] as? String
                try await harness.opened.store.copy(to: copy)
                return (founded, kept, deleted, try #require(bearer))
            }
            func owner(_ harness: OrganisationHarness) throws -> String {
                try harness.logIns.token(founded.owner, of: founded.id, at: clock.now)
            }
            try await OrganisationHarness.run(in: folder, consent: consent, clock: clock) { harness in
                try await harness.ask("DELETE", "/thirdparty/v1/clients/\(deleted.id)", token: owner(harness)).expect(status: 204)
                #expect(try await Self.token(deleted, harness).status == 401)
            }
            let store = folder.appendingPathComponent("store/thirdparty-gateway.db")
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
            try FileManager.default.copyItem(at: copy, to: store)
            try await OrganisationHarness.run(in: folder, consent: consent, clock: clock) { harness in
                #expect(harness.log.text.contains("trackme org reopen"))
                for program in [kept, deleted] {
                    let refused = try await Self.token(program, harness)
                    #expect(refused.status == 503 && refused.problem == "held-after-restore" && refused.header("retry-after") == "300")
                }
                for token in [bearer, try owner(harness)] {
                    let refused = try await harness.ask("GET", "/thirdparty/v1/members", token: token)
                    #expect(refused.status == 503 && refused.problem == "held-after-restore")
                }
                try await harness.ask("GET", "/thirdparty/v1/organisation", token: owner(harness)).expect(status: 200)
                let reply = try await harness.operators.ask(
                    ReopenThirdParties(apiClients: [deleted.id, .random()]), deadline: .seconds(20))
                #expect(reply.wasHeld && reply.deleted == 1)
                #expect(try await Self.token(deleted, harness).status == 401)
                #expect(try await harness.ask("GET", "/thirdparty/v1/members", token: bearer).status == 401)
                try await Self.token(kept, harness).expect(status: 200)
                try await harness.ask("GET", "/thirdparty/v1/members", token: owner(harness)).expect(status: 200)
            }
            // A start is no restore.
            try await OrganisationHarness.run(in: folder, consent: consent, clock: clock) { harness in
                _ = try await Self.token(kept, harness).expect(status: 200)
            }
        }
    }
}
