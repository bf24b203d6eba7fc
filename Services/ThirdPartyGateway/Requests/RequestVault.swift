// Whom a request is about and why, sealed: under the service's key until consent has named the person, then under the person's own.

import Contracts
import Foundation
import Sealing
import ServiceKit

/// What of a request may tell who the person is.
struct RequestParticulars: Hashable, Codable, Sendable {
    var fiscalCode: String
    var purpose: String
    /// `mem_…` or `cli_…`.
    var askedBy: String
}

struct RequestVault: Sendable {
    let keys: PersonKeys
    /// `runtime.key("requests")`.
    let serviceKey: SymmetricKey

    func seal(_ particulars: RequestParticulars, of request: RequestID) throws -> SealedParticulars {
        SealedParticulars(
            bytes: try Seal.seal(JSONEncoder().encode(particulars), key: serviceKey, context: Self.context(request)), isPersons: false)
    }

    /// Nil where nothing is left of it: the person is erased.
    func open(_ stored: StoredMadeRequest) throws -> RequestParticulars? {
        guard let sealed = stored.particulars, let key = try key(of: sealed, stored.request.person) else { return nil }
        let plain = try Seal.open(sealed.bytes, key: key, context: Self.context(stored.request.id))
        return try JSONDecoder().decode(RequestParticulars.self, from: Data(plain))
    }

    /// The same under another key; nil where there is nothing to open.
    func reseal(_ stored: StoredMadeRequest, under key: SymmetricKey, isPersons: Bool) throws -> SealedParticulars? {
        guard let sealed = stored.particulars, let old = try self.key(of: sealed, stored.request.person) else { return nil }
        let context = Self.context(stored.request.id)
        let plain = try Seal.open(sealed.bytes, key: old, context: context)
        return SealedParticulars(bytes: try Seal.seal(plain, key: key, context: context), isPersons: isPersons)
    }

    private func key(of sealed: SealedParticulars, _ person: PersonID?) throws -> SymmetricKey? {
        sealed.isPersons ? try person.flatMap { try keys.key(of: $0) } : serviceKey
    }

    private static func context(_ request: RequestID) -> [UInt8] {
        Array("requests.particulars \(request)".utf8)
    }

    // MARK: Forms on their way

    func seal(_ draft: RequestDraft, of question: [UInt8]) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(draft), key: serviceKey, context: Self.context(question))
    }

    func open(_ form: [UInt8], of question: [UInt8]) throws -> RequestDraft {
        try JSONDecoder().decode(
            RequestDraft.self, from: Data(Seal.open(form, key: serviceKey, context: Self.context(question))))
    }

    private static func context(_ question: [UInt8]) -> [UInt8] {
        Array("request_intents.form ".utf8) + question
    }
}

/// A form and who sent it.
struct RequestDraft: Hashable, Codable, Sendable {
    var form: RequestForm
    var askedBy: String
}
