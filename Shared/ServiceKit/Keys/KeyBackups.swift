// Copies of the keys database: two, in turn. More would keep keys alive that somebody has asked to be destroyed.

package import Foundation
import Logging
import Storage
import Synchronization

/// Where a service keeps the copies of its `<service>-keys.db`. The copies hold wrapped keys alone: without the key-encryption key
/// they open nothing.
package struct KeyBackups: Sendable {
    /// As many as lie there at most.
    package static let copies = 2
    /// How often the older one is replaced, where something has changed.
    static let interval = Duration.seconds(900)

    package let folder: URL
    let name: String

    /// - Parameter name: of the copies: `<name>.1.db` and `<name>.2.db`.
    package init(folder: URL, name: String) {
        (self.folder, self.name) = (folder, name)
    }

    /// In the order of their numbers, whether or not they are there.
    package var files: [URL] {
        (1...Self.copies).map { folder.appendingPathComponent("\(name).\($0).db") }
    }

    /// The one that is missing, else the one that is older.
    var next: URL {
        func age(_ file: URL) -> Date {
            (try? FileManager.default.attributesOfItem(atPath: file.path))?[.modificationDate] as? Date ?? .distantPast
        }
        return files.min { age($0) < age($1) } ?? files[0]
    }
}
