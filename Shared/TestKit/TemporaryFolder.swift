// A folder that lasts as long as one test.

package import Foundation

/// Gives `body` an empty folder whose path is short enough for ipc sockets, and deletes it afterwards, also on a throw.
package func withTemporaryFolder<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
    let folder = URL(fileURLWithPath: "/tmp/tm-" + String(UInt32.random(in: .min ... .max), radix: 36), isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}
