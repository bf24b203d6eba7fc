// Fuzz target: JSON from outside. What the check lets through, Foundation reads, and the tree is the same however often it is written.
// decoders:

import Contracts
import Foundation

@_cdecl("fuzzJSONTexts")
package func fuzzJSONTexts(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    guard let tree = try? JSONTree(bytes) else { return 0 }
    let read = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    // Foundation refuses numbers that no Double holds; the tree says that they are infinite.
    precondition(read != nil || holdsInfinity(tree), "Foundation does not read it")
    precondition(depth(of: tree) <= JSONCursor.maximumDepth, "deeper than may be")
    precondition((try? JSONTree(bytes)) == tree, "read again it is another")
    return 0
}

private func holdsInfinity(_ tree: JSONTree) -> Bool {
    switch tree {
    case .number(let number): !number.isFinite || number == 0
    case .list(let items): items.contains(where: holdsInfinity)
    case .fields(let fields): fields.values.contains(where: holdsInfinity)
    default: false
    }
}

private func depth(of tree: JSONTree) -> Int {
    switch tree {
    case .list(let items): 1 + (items.map(depth).max() ?? 0)
    case .fields(let fields): 1 + (fields.values.map(depth).max() ?? 0)
    default: 0
    }
}
