// What has once been on a wire stays readable: golden files are only ever added to.

import Contracts
import Foundation
import Testing

enum Golden {
    static func bytes(_ name: String, _ here: String = #filePath) throws -> Data {
        let folder = URL(fileURLWithPath: here).deletingLastPathComponent().appendingPathComponent("Golden")
        var bytes = try Data(contentsOf: folder.appendingPathComponent(name))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return bytes
    }

    /// Decodes the file, encodes what it says and compares both as JSON: nothing is lost, nothing is added.
    static func roundTrip<Value: Codable>(_ type: Value.Type, _ name: String) throws -> Value {
        let bytes = try bytes(name)
        let value = try JSONDecoder().decode(type, from: bytes)
        let again = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value)) as? NSDictionary
        let written = try JSONSerialization.jsonObject(with: bytes) as? NSDictionary
        #expect(again == written, "\(name)")
        return value
    }
}
