// What an organisation asked about a group and what it was answered, sealed under the service's key.

import Contracts
import Foundation
import Sealing

/// A form and who sent it.
struct GroupDraft: Hashable, Codable, Sendable {
    var form: TypedGroupForm
    /// `mem_…` or `cli_…`.
    var askedBy: String
}

struct GroupVault: Sendable {
    let key: SymmetricKey

    func seal(_ draft: GroupDraft, of request: GroupRequestID) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(draft), key: key, context: Self.context("draft", request))
    }

    func seal(_ outcome: ReleaseGroup.Reply, of request: GroupRequestID) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(outcome), key: key, context: Self.context("outcome", request))
    }

    func draft(_ stored: StoredGroupRequest) throws -> GroupDraft {
        let plain = try Seal.open(stored.draft, key: key, context: Self.context("draft", stored.id))
        return try JSONDecoder().decode(GroupDraft.self, from: Data(plain))
    }

    /// Nil until there is one.
    func outcome(_ stored: StoredGroupRequest) throws -> ReleaseGroup.Reply? {
        guard let sealed = stored.outcome else { return nil }
        let plain = try Seal.open(sealed, key: key, context: Self.context("outcome", stored.id))
        return try JSONDecoder().decode(ReleaseGroup.Reply.self, from: Data(plain))
    }

    private static func context(_ column: String, _ request: GroupRequestID) -> [UInt8] {
        Array("group_requests.\(column) \(request)".utf8)
    }
}
