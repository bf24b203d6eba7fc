// What the tables hold that ServiceKit makes in its services' stores.

package import Storage

extension TableNote {
    /// Of `GrantProjection.create`.
    package static let grants = TableNote(
        "granted", holds: "every grant that consent has published, those that are over too", kept: "until erasure",
        erasure: .deletedWithAccount)

    /// Of `TokenChecker.create`.
    package static let tokens = TableNote(
        "token_keys", "token_sessions_ended", "token_people_gone",
        holds: "what access tokens are judged by: consent's public keys, ended sessions, erased people",
        kept: "until no token can refer to it any more", erasure: .expires)

    /// Of `ErasureFollower.create`.
    package static let erasures = TableNote(
        "erasure_duties", holds: "which erasures were ordered and confirmed", kept: "for ever; without the person once it is confirmed",
        erasure: .emptied)
}
