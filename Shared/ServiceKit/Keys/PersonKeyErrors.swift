// Why a person's key is not to be had.

package import Contracts
package import HTTPKit

/// People's keys were wrapped under another key-encryption key than the one that was given.
package struct WrongKeyEncryptionKey: Error {}

/// The person's key is damaged and no copy holds it: until it is restored nothing of theirs can be read or stored, and no other key takes
/// its place. Concerns nobody else.
package struct DamagedKey: Error, ErrorForCallers, ErrorForLogs {
    package init() {}

    package var wordsForLogs: String { "a person's key is damaged" }

    /// Soon enough for a device whose next entry may be the critical one: it is heard whether or not it can be stored.
    package var refusal: Refusal? {
        Refusal(
            .unavailable.saying(
                "What is stored of this person cannot be reached now; the operator has been told. Keep what you sent and try again.",
                italian: "I dati di questa persona ora non sono accessibili; il gestore lo sa. Conservi quanto inviato e riprovi."),
            retryAfter: .seconds(1))
    }

    /// The same for a peer on the bus.
    package var failure: Failure { Failure(.unavailable, wordsForLogs) }
}

/// The person asked to be forgotten and has no key any more.
package struct KeyDestroyed: Error {
    package init() {}
}
