// Finding an account by what its owner types: keyed digests of normalised values, so that the file shows none of them.

import Contracts
import Sealing

/// The keyed columns of `accounts`. What must be found alike is folded here, and nowhere else.
struct AccountLookups: Sendable {
    private let email: LookupKey
    private let fiscalCode: LookupKey
    private let userName: LookupKey

    /// - Parameter lookupKey: `runtime.lookupKey(for:)`.
    init(_ lookupKey: (String) throws -> LookupKey) throws {
        email = try lookupKey("account-email")
        fiscalCode = try lookupKey("account-fiscal-code")
        userName = try lookupKey("account-user-name")
    }

    func email(_ address: EmailAddress) -> [UInt8] {
        email.lookup(address.folded)
    }

    /// Of any country.
    func fiscalCode(_ code: PersonIdentifier) -> [UInt8] {
        fiscalCode.lookup(code.text)
    }

    func userName(_ name: UserName) -> [UInt8] {
        userName.lookup(name.folded)
    }
}
