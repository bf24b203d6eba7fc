// Where the real recordings are. They are never part of the project.

package import Foundation

package enum TestData {
    /// The folder named by `TEST_DATA`, else `../shared/data` beside the checkout.
    package static let folder = URL(
        fileURLWithPath: ProcessInfo.processInfo.environment["TEST_DATA"] ?? "../shared/data", isDirectory: true)

    /// Whether they are all there; a test that needs them says so with `.enabled(if:)`, so that a run without them names it as skipped.
    package static func has(_ names: [String]) -> Bool {
        names.allSatisfy { file($0) != nil }
    }

    /// The recording, or nil where it is absent.
    package static func file(_ name: String) -> URL? {
        let file = folder.appendingPathComponent(name)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }
}
