// The reference of everything that must be on disk: bare appends of 4 KiB, each with fdatasync.

import Foundation

final class DiskProbe {
    private let descriptor: Int32
    private let block = [UInt8](repeating: 0x5A, count: 4096)
    /// In ms.
    private(set) var took: [Double] = []

    init(in folder: URL) throws {
        descriptor = open(folder.appendingPathComponent("probe").path, O_CREAT | O_WRONLY | O_APPEND | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw BenchmarkError("\(folder.path) cannot be written to") }
    }

    deinit {
        close(descriptor)
    }

    func append() {
        let begun = ContinuousClock.now
        _ = write(descriptor, block, block.count)
        fdatasync(descriptor)
        took.append((ContinuousClock.now - begun).milliseconds)
    }
}
