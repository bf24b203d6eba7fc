// Fuzz target: signed tokens and password hashes. Rubbish never opens, whatever its header says of itself.
// decoders: Shared/Sealing/*.swift -IShared/COpenSSL -lcrypto

import Contracts

private let key = try? SigningKey(seed: [UInt8](repeating: 7, count: SigningKey.seedLength))

@_cdecl("fuzzSignedTokens")
package func fuzzSignedTokens(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let text = String(decoding: bytes, as: UTF8.self)
    guard let key else { return 0 }
    precondition((try? CompactJWS.open(text, typ: "at+jwt") { _ in key.publicKey }) == nil, "rubbish opens")
    // The header as it came, before a payload and a signature that have the right form.
    let dressed = Base64URL.encode(Array(bytes)) + ".e30." + Base64URL.encode([UInt8](repeating: 0, count: SigningKey.signatureLength))
    precondition((try? CompactJWS.open(dressed, typ: "at+jwt") { _ in key.publicKey }) == nil, "rubbish opens")
    _ = PasswordHash.needsRehash(text)
    return 0
}
