// The keyed hash that guards and choices of cells are given in tests.

import TestKit

/// Good enough for tests: the same for the same bytes, and spread over all of 64 bits.
func testHash(_ bytes: [UInt8]) -> UInt64 {
    var mixer = SeededGenerator(seed: bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })
    return mixer.next()
}
