// What a newcomer types first, as a newcomer types it.

import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("The demo")
    struct DemoTests {
        @Test("SOS-15, NFR-08: the demo starts, calls, is acknowledged and tells a person's course", .timeLimit(.minutes(3)))
        func demo() async throws {
            try await withTemporaryFolder { folder in
                let ran = try Tool.run(
                    ServiceExecutable.folder.appendingPathComponent("trackme").path, ["demo", "--data", folder.path],
                    allowed: Set(0...255))
                #expect(ran.status == 0, "\(ran.output.suffix(2000))")
                #expect(ran.output.contains("acknowledged after "))
                #expect(ran.output.contains("one person's course from registration to erasure held"))
            }
        }
    }
}
