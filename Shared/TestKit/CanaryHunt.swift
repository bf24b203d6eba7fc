// The search for planted words, numbers and bytes in everything that lies in a folder.

package import Foundation

/// Looks for planted words and numbers in files, in all the spellings in which they could have been kept.
package struct CanaryHunt: Sendable {
    /// One spelling of something planted.
    package struct Canary: Sendable {
        /// What was planted and how it is spelt, for findings.
        package var name: String
        package var bytes: Data
    }

    package let canaries: [Canary]

    /// - Parameter fragments: bytes as they once lay in a file: pieces of sealed values and wrapped keys.
    package init(texts: [String], numbers: [Double], fragments: [Data] = []) {
        var canaries: [Canary] = []
        for text in texts + numbers.map({ "\($0)" }) {
            canaries.append(Canary(name: "\(text) as text", bytes: Data(text.utf8)))
            for alignment in 0..<3 {
                canaries.append(Canary(name: "\(text) as base64, alignment \(alignment)", bytes: CanaryHunt.base64(text, alignment)))
            }
        }
        for number in numbers {
            canaries.append(Canary(name: "\(number) as a Double", bytes: withUnsafeBytes(of: number.bitPattern.littleEndian) { Data($0) }))
            canaries.append(
                Canary(name: "\(number) as a Double, big-endian", bytes: withUnsafeBytes(of: number.bitPattern.bigEndian) { Data($0) }))
            canaries.append(
                Canary(name: "\(number) as a Float", bytes: withUnsafeBytes(of: Float(number).bitPattern.littleEndian) { Data($0) }))
        }
        canaries += fragments.enumerated().map { Canary(name: "fragment \($0.offset)", bytes: $0.element) }
        self.canaries = canaries
    }

    /// The digits that the text has in base64 wherever `alignment` bytes stand before it; those that it shares with its
    /// neighbours are left out.
    private static func base64(_ text: String, _ alignment: Int) -> Data {
        let encoded = (Data(repeating: 0, count: alignment) + Data(text.utf8)).base64EncodedString()
        let digits = encoded.prefix { $0 != "=" }
        let whole = (alignment + text.utf8.count) * 8 / 6
        return Data(digits.prefix(whole).dropFirst((alignment * 8 + 5) / 6).utf8)
    }

    /// What was found where. Empty files and sockets hold nothing.
    package func findings(in folder: URL) -> (found: [String], files: Int, bytes: Int) {
        var (found, files, bytes): ([String], Int, Int) = ([], 0, 0)
        let everything = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        for case let file as URL in everything ?? FileManager.DirectoryEnumerator() {
            guard (try? file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true,
                let content = try? Data(contentsOf: file)
            else { continue }
            files += 1
            bytes += content.count
            found += canaries.filter { content.range(of: $0.bytes) != nil }.map { "\($0.name) in \(file.lastPathComponent)" }
        }
        return (found, files, bytes)
    }
}
