// What the anonymiser is asked about groups, and how long it may take; in tests somebody plays it.

import Bus
import Contracts
import ServiceKit

/// Each throws `Failure`.
struct GroupQuestions: Sendable {
    /// Repeated with the same request, the anonymiser gives its first answer again.
    var release: @Sendable (ReleaseGroup) async throws -> ReleaseGroup.Reply
    var read: @Sendable (ReadGroupRelease) async throws -> ReadGroupRelease.Reply
    var catalogue: @Sendable (ReadGroupCatalogue) async throws -> ReadGroupCatalogue.Reply
    var places: @Sendable (FindGroupPlaces) async throws -> FindGroupPlaces.Reply
    /// Again is the same as once; `not-found` for what is no subscription.
    var end: @Sendable (EndGroupSubscription) async throws -> Void
}

extension GroupQuestions {
    /// With a million people a release takes seconds: it is asked once, and again under the same request by whoever gets no answer. A page
    /// is read from a disk that may be slow.
    init(on runtime: Runtime) async throws {
        let anonymiser = try await runtime.client(of: .anonymiser)
        self.init(
            release: { try await anonymiser.ask($0, deadline: .seconds(8), attempts: 1) },
            read: { try await anonymiser.ask($0, deadline: .seconds(3), attempts: 2) },
            catalogue: { try await anonymiser.ask($0, deadline: .seconds(2), attempts: 2) },
            places: { try await anonymiser.ask($0, deadline: .seconds(2), attempts: 2) },
            end: { _ = try await anonymiser.ask($0, deadline: .seconds(8), attempts: 1) })
    }
}
