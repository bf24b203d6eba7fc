// Seals what the rescue of one person needs, also where that person's key is damaged.

import Contracts
import Sealing
import ServiceKit

/// Under the person's key. Where that is damaged, under a key of the service: a call goes on, is told and is kept, though what lay under the
/// damaged key cannot be reached. An erasure deletes the rows in any case.
struct PersonSeal: Sendable {
    let keys: PersonKeys
    let spare: SymmetricKey

    /// nil for a person who was erased: nothing about them may be stored any more.
    func seal(_ plain: [UInt8], of person: PersonID, context: [UInt8]) throws -> [UInt8]? {
        let key: SymmetricKey?
        do {
            key = try keys.key(of: person)
        } catch is DamagedKey {
            key = spare
        }
        guard let key else { return nil }
        return try Seal.seal(plain, key: key, context: context)
    }

    /// nil for a person who was erased.
    /// - Throws: `DamagedKey` for what lies under a key that is damaged, `SealingError` for what is itself damaged.
    func open(_ sealed: some Collection<UInt8>, of person: PersonID, context: [UInt8]) throws -> [UInt8]? {
        let key: SymmetricKey?
        do {
            key = try keys.key(of: person)
        } catch let damaged as DamagedKey {
            guard let plain = try? Seal.open(sealed, key: spare, context: context) else { throw damaged }
            return plain
        }
        guard let key else { return nil }
        do {
            return try Seal.open(sealed, key: key, context: context)
        } catch {
            // Sealed while the key was damaged; it has been restored since.
            guard let plain = try? Seal.open(sealed, key: spare, context: context) else { throw error }
            return plain
        }
    }

    /// As `open`, for whoever goes on without: nil also for what is damaged, or lies under a damaged key.
    func openIfWhole(_ sealed: some Collection<UInt8>, of person: PersonID, context: [UInt8]) throws -> [UInt8]? {
        do {
            return try open(sealed, of: person, context: context)
        } catch  where error is DamagedKey || error is SealingError {
            return nil
        }
    }
}
