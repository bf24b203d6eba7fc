// Bytes between domain values and SQLite.

import Contracts
import Foundation
import GRDB

extension PersonID {
    /// The stored form.
    var blob: Data { Data(bytes) }

    init?(blob: Data?) {
        guard let blob else { return nil }
        self.init(bytes: blob)
    }
}

extension Row {
    /// Empty for NULL.
    func bytes(_ index: Int) throws -> [UInt8] {
        try withUnsafeData(atIndex: index) { $0.map(Array.init) ?? [] }
    }
}
