// Fiscal codes as people type them: whatever is taken reads back the same, and so do its variants.
// decoders:

import Contracts

@_cdecl("fuzzFiscalCodes")
package func fuzzFiscalCodes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    _ = (FiscalCode.code(surname: text), FiscalCode.code(name: text))
    guard let code = FiscalCode(text) else { return 0 }
    precondition(FiscalCode.hasForm(text) && FiscalCode(code.text) == code)
    precondition(code.variants.contains(code.text) && (1...31).contains(code.day) && (1...12).contains(code.month))
    return 0
}
