// Files of jobs: they come back as they were written, or not at all.

import Contracts
import Foundation
import Sealing
import TestKit
import Testing

@testable import ServiceKit

@Suite("Sealed files")
struct SealedFilesTests {
    private static let key = SymmetricKey.random()

    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    private func write(_ plain: [UInt8], in files: SealedFiles, _ job: JobID) throws {
        let writer = try files.write(job, file: 0, key: Self.key)
        var rest = plain[...]
        while !rest.isEmpty {
            try writer.add(rest.prefix(10_007))
            rest = rest.dropFirst(10_007)
        }
        try writer.close()
    }

    private func read(_ files: SealedFiles, _ job: JobID) throws -> [UInt8] {
        let reader = try files.read(job, file: 0, key: Self.key)
        var plain: [UInt8] = []
        while let block = try reader.next() {
            #expect(!block.isEmpty && block.count <= SealedFiles.block)
            plain += block
        }
        #expect(try reader.next() == nil)
        return plain
    }

    /// Where one block ends and the next begins, the end of the file included.
    private func ends(of file: Data) -> [Int] {
        var (at, ends): (Int, [Int]) = (0, [])
        while at + 4 <= file.count {
            at += 4 + file[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } & 0x7fff_ffff
            ends.append(at)
        }
        return ends
    }

    private func withFiles(_ body: (SealedFiles, JobID, URL) throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let (files, job) = (SealedFiles(in: folder, named: "transfers"), JobID.random())
            try body(files, job, folder.appendingPathComponent("transfers/\(job)/0"))
        }
    }

    @Test(
        "what was written is read again, whatever its length",
        arguments: [0, 1, SealedFiles.block - 1, SealedFiles.block, SealedFiles.block + 1, 2 * SealedFiles.block, 200_003])
    func lengths(count: Int) async throws {
        try await withFiles { files, job, _ in
            try write(bytes(count), in: files, job)
            #expect(try read(files, job) == bytes(count))
        }
    }

    @Test("a file that is cut off between two blocks is damaged, not shorter", arguments: [1, 2 * SealedFiles.block, 200_003])
    func cutOff(count: Int) async throws {
        try await withFiles { files, job, url in
            try write(bytes(count), in: files, job)
            let whole = try Data(contentsOf: url)
            let ends = ends(of: whole)
            #expect(ends.last == whole.count && ends.count == (count + SealedFiles.block - 1) / SealedFiles.block)
            for end in [0] + ends.dropLast() + [whole.count - 1] {
                try whole.prefix(end).write(to: url)
                #expect(throws: SealedFiles.Fault.damaged) { try read(files, job) }
            }
        }
    }

    @Test("a file that goes on after its last block, or whose earlier block is made the last, is damaged")
    func goesOn() async throws {
        try await withFiles { files, job, url in
            try write(bytes(200_003), in: files, job)
            let whole = try Data(contentsOf: url)
            let ends = ends(of: whole)
            var marked = whole.prefix(ends[0])
            marked[0] |= 0x80
            for wrong in [whole + [0], whole + whole.suffix(from: ends[2]), marked] {
                try wrong.write(to: url)
                #expect(throws: SealedFiles.Fault.damaged) { try read(files, job) }
            }
        }
    }

    @Test("a file that was never closed is damaged")
    func neverClosed() async throws {
        try await withFiles { files, job, _ in
            try files.write(job, file: 0, key: Self.key).add(bytes(100_000))
            #expect(throws: SealedFiles.Fault.damaged) { try read(files, job) }
        }
    }

    @Test("a file from before blocks said which one is the last is damaged: it is made anew")
    func former() async throws {
        try await withFiles { files, job, url in
            try write([1], in: files, job)
            var context = Array("transfers".utf8) + [0] + job.bytes
            for number in [Int64(0), 0] { withUnsafeBytes(of: number.bigEndian) { context.append(contentsOf: $0) } }
            let sealed = try Seal.seal(bytes(100), key: Self.key, context: context)
            try Data(withUnsafeBytes(of: UInt32(sealed.count).bigEndian, Array.init) + sealed).write(to: url)
            #expect(throws: SealedFiles.Fault.damaged) { try read(files, job) }
        }
    }
}
