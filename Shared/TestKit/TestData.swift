// Where the real recordings are. They are never part of the project.

package import Foundation

package enum TestData {
    /// The folder named by `TEST_DATA`, else `../shared/data` beside the checkout.
    package static let folder = URL(
        fileURLWithPath: ProcessInfo.processInfo.environment["TEST_DATA"] ?? "../shared/data", isDirectory: true)

    /// The recording, or nil where it is absent: the test then skips and says so.
    package static func file(_ name: String) -> URL? {
        let file = folder.appendingPathComponent(name)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }
}
