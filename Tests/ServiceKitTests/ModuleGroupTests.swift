// The modules of a service as the log sees them.

import Foundation
import ServiceLifecycle
import TestKit
import Testing

@testable import ServiceKit

@Suite("Modules of a service", .timeLimit(.minutes(1)))
struct ModuleGroupTests {
    private struct Holder: Service {
        let secret: String

        func run() async throws {}
    }

    @Test("each start described all that its modules hold, keys too, and wrote it into the log at debug level")
    func names() async throws {
        let log = RecordingLog()
        try await ModuleGroup([Holder(secret: "whsec_Zm9vYmFy")], folder: FileManager.default.temporaryDirectory, logger: log.logger).run()
        #expect(log.text.contains("Holder"), "it is named: \(log.text)")
        #expect(!log.text.contains("whsec"), "\(log.text)")
    }
}
