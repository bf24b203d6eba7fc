// Whether a caller who listens for long may go on: proved anew after a while, not at every word.

actor RenewedAdmission {
    /// How long it may go unnoticed that the caller has lost the token or the right.
    static let trust = Duration.seconds(1)

    private let prove: @Sendable () async throws -> Void
    private var provedAt = ContinuousClock.now

    /// - Parameter prove: throws once the caller may not listen any more. Just now the caller may.
    init(_ prove: @escaping @Sendable () async throws -> Void) {
        self.prove = prove
    }

    /// - Throws: as `prove`.
    func check() async throws {
        guard .now - provedAt >= Self.trust else { return }
        try await prove()
        provedAt = .now
    }
}
