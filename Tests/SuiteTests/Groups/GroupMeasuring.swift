// What simulated people measured, through the uploads of the running ingest.

import Contracts
import ServiceKit

@testable import Ingest

extension StorySuite {
    /// So many at once share their commits.
    private static let atOnce = 64

    func inParallel<Element: Sendable>(
        _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, element) in elements.enumerated() {
                if number >= Self.atOnce { _ = try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }

    /// As an import takes a file's entries: without a device, and without anybody's log-in.
    func measure(_ people: [GroupPerson]) async throws {
        let (owners, uploads) = (modules.ingest.deviceModule.people, modules.ingest.ownData.imports.uploads)
        try await inParallel(people) { person in
            guard !person.samples.isEmpty else { return }
            var scanned = ScannedUpload()
            scanned.samples = person.samples
            scanned.indexes = person.samples.indices.map { Int32($0) }
            scanned.count = person.samples.count
            let source = try await owners.ownSource(of: person.id, .imported)
            let origin = UploadOrigin(device: source, receivedAt: .now, trace: "", idempotencyKey: nil)
            _ = try await uploads.take(ReceivedUpload(scanned: scanned), origin)
        }
    }
}
