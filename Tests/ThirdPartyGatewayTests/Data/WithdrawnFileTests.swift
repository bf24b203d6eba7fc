// What is told of a file that may not be handed out any more, or not now: nothing that tells of the person.

import Contracts
import Foundation
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Files that may not be handed out")
struct WithdrawnFileTests {
    /// A request for two types, and a finished file of the first.
    private static func written(_ harness: RequestHarness) async throws -> (request: RequestID, path: String) {
        _ = harness.world.add(RequestHarness.code)
        harness.world.put([Sample(type: .heartRate, at: harness.world.now - .seconds(5 * 86_400), value: 60)])
        let id = try await harness.granted(harness.form(types: [.heartRate, .glucose]))
        let begun = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\",\"types\":[\"heart-rate\"]}")
        while try await harness.parts.files.workOff() {}
        return (id, "/requests/\(id)/files/\(begun.json["file"] as? String ?? "")")
    }

    /// What a file job says beside its ids, its form and the reminder.
    private static func told(_ item: [String: Any]) -> Set<String> {
        let parts = item["parts"] as? [Any] ?? []
        return Set(item.keys).subtracting(["file", "request", "format", "createdAt", "reminder"] + (parts.isEmpty ? ["parts"] : []))
    }

    @Test(
        "SHR-16: after a withdrawal, of everything or of one type, what a file was of could still be read, by its job and by the list",
        arguments: [true, false])
    func withdrawn(isWhole: Bool) async throws {
        try await RequestHarness.run { harness in
            let (id, path) = try await Self.written(harness)
            #expect(Self.told(try await harness.call("GET", path).json) == ["state", "types", "from", "to", "expiresAt", "parts"])
            if isWhole {
                try await harness.become(.revoked, id)
            } else {
                try await harness.become(.approved, id, types: [.glucose])
            }
            let (found, listed) = (try await harness.call("GET", path), try await harness.call("GET", "/requests/\(id)/files"))
            #expect(found.status == 200 && listed.items.count == 1)
            for item in [found.json] + listed.items {
                #expect(item["state"] as? String == "withdrawn")
                #expect(Self.told(item) == ["state"])
            }
        }
    }

    @Test("INV-04: while consent was silent the manifest and the sums of a file were told, though the file was not: all of it waits")
    func unheard() async throws {
        try await RequestHarness.run { harness in
            let (id, path) = try await Self.written(harness)
            let doors = ["/requests/\(id)/files", path, path + "/parts/SHA256SUMS", path + "/parts/data-0001.csv"]
            harness.world.stopHearingConsent(true)
            for door in doors {
                let refused = try await harness.call("GET", door)
                #expect(refused.status == 503 && refused.problem == "consent-not-heard" && refused.header("retry-after") == "5", "\(door)")
            }
            harness.world.stopHearingConsent(false)
            for door in doors { #expect(try await harness.call("GET", door).status == 200, "\(door)") }
        }
    }
}
