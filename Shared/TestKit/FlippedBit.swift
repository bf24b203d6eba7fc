// What a sick disk does to a file that nobody has open.

package import Foundation

/// Flips one bit in the middle of `piece`, where it lies in the file.
/// - Throws: `NotInFile`, or what the system says of the file.
package func flipBit(of piece: [UInt8], in file: URL) throws {
    var bytes = try Data(contentsOf: file)
    guard let found = bytes.range(of: Data(piece)) else { throw NotInFile() }
    bytes[found.lowerBound + piece.count / 2] ^= 1
    try bytes.write(to: file)
}

/// The bytes that were to be damaged are not there.
package struct NotInFile: Error {}
