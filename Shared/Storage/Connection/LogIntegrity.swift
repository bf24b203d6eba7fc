// Whether a write-ahead log is whole, asked before SQLite reads it.

import Foundation

/// SQLite reads its log up to the first frame whose checksum does not hold, and takes that for the end: right after a power cut, which
/// can tear what was not flushed yet, and silent about damage to what was. A commit returns when its frames are flushed (`synchronous`
/// FULL), and the next one begins after it: a whole commit behind the one that holds the broken frame was written after that had been
/// acknowledged, so the break is no cut.
/// The format: <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>.
struct LogIntegrity {
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    private static let magic: UInt32 = 0x377f_0682
    private static let pageBytes = 512...65_536
    private static let usualPage = 4096

    private struct Sums: Equatable {
        var first: UInt32
        var second: UInt32
    }

    /// How SQLite will find the log; frames are counted from 0.
    enum Finding: Hashable {
        /// It is read to its end.
        case whole
        /// It goes on where SQLite takes it for ended: a power cut leaves that, and so does damage to the last commits.
        case cut(frame: Int, of: Int)
        /// A whole commit lies behind the break.
        case damaged(frame: Int, of: Int)
    }

    private let log: UnsafeRawBufferPointer
    private let isHeaderWhole: Bool
    /// Whether checksums read words with their highest byte first.
    private let isBig: Bool
    private let page: Int

    /// - Parameter store: path of the file whose log it is.
    /// - Throws: `damagedLog`. Of a log that is cut, what the store says of itself decides.
    static func require(of store: String) throws(StoreError) {
        // Mapped: a log may be long.
        guard let log = try? Data(contentsOf: URL(fileURLWithPath: store + "-wal"), options: .alwaysMapped), !log.isEmpty else { return }
        let page = (try? FileHandle(forReadingFrom: URL(fileURLWithPath: store)))
            .flatMap { try? $0.read(upToCount: 18) }
            .flatMap { $0.count == 18 ? Int($0[16]) << 8 | Int($0[17]) : nil }
        switch log.withUnsafeBytes({ finding(in: $0, page: page) }) {
        case .whole: return
        case .cut(let frame, let count):
            if StoreLife(beside: URL(fileURLWithPath: store)).hasLostMark(of: store) { throw .damagedLog(frame: frame + 1, of: count) }
        case .damaged(let frame, let count): throw .damagedLog(frame: frame + 1, of: count)
        }
    }

    /// - Parameter page: its size as the store's own header says it, for a log whose header is broken; nil where nobody knows.
    static func finding(in log: UnsafeRawBufferPointer, page: Int?) -> Finding {
        LogIntegrity(log, page: page)?.finding() ?? .whole
    }

    private init?(_ log: UnsafeRawBufferPointer, page: Int?) {
        guard log.count > Self.headerBytes else { return nil }
        self.log = log
        let magic = UInt32(bigEndian: log.loadUnaligned(as: UInt32.self))
        let sums = Self.sums(log[0..<24], after: Sums(first: 0, second: 0), isBig: magic & 1 == 1)
        let stated = Int(UInt32(bigEndian: log.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
        isHeaderWhole = magic & ~1 == Self.magic && Self.isSize(stated) && sums == Self.sums(in: log, at: 24)
        isBig = isHeaderWhole && magic & 1 == 1
        self.page = isHeaderWhole ? stated : page.flatMap { Self.isSize($0) ? $0 : $0 == 1 ? 65_536 : nil } ?? Self.usualPage
    }

    private static func isSize(_ page: Int) -> Bool { pageBytes.contains(page) && page & (page - 1) == 0 }

    private func finding() -> Finding {
        let length = Self.frameHeaderBytes + page
        let count = (log.count - Self.headerBytes) / length
        guard count > 0 else { return .cut(frame: 0, of: 1) }
        let salts = isHeaderWhole ? log[16..<24] : saltsOfFrames(count)
        var before = isHeaderWhole ? Self.sums(in: log, at: 24) : nil
        var broken: (frame: Int, endsCommit: Bool, count: Int)? = isHeaderWhole ? nil : (-1, false, 1)
        var (isBehind, commits) = (false, 0)
        // Behind the end of a log lies, if anything, what a longer one of before has left.
        var goesOn = !isHeaderWhole
        for frame in 0..<count {
            let start = Self.headerBytes + frame * length
            let isOfThisLog = log[(start + 8)..<(start + 16)].elementsEqual(salts)
            let isSound = isOfThisLog && before.map { isWhole(start, after: $0) } ?? false
            // What a longer log of before has left under a page that was not flushed says nothing of this one's commits.
            let endsCommit = isOfThisLog && Self.word(in: log, at: start + 4) != 0
            if let known = broken {
                if isSound {
                    isBehind = true
                    if endsCommit { commits += 1 }
                } else if isBehind {
                    // Behind a second break lies what a longer commit of before has left.
                    break
                } else {
                    broken?.count += 1
                }
                // One broken sum breaks two frames. In a longer hole no frame's own word about the end of a commit is believed.
                if commits >= (known.endsCommit && known.count <= 2 ? 1 : 2) { return .damaged(frame: max(0, known.frame), of: count) }
            } else if !isSound {
                broken = (frame, endsCommit, 1)
                // Only its salts are broken.
                goesOn = before.map { isWhole(start, after: $0) } ?? false
            }
            if broken != nil, isOfThisLog || isEmpty(start) { goesOn = true }
            // The next one was summed up after what stands here, whatever has become of this one's own bytes.
            before = Self.sums(in: log, at: start + 16)
        }
        if let broken { return goesOn ? .cut(frame: max(0, broken.frame), of: count) : .whole }
        return log.count > Self.headerBytes + count * length ? .cut(frame: count, of: count + 1) : .whole
    }

    /// No log of before has salts of zeros.
    private func isEmpty(_ start: Int) -> Bool {
        Self.word(in: log, at: start + 8) == 0 && Self.word(in: log, at: start + 12) == 0
    }

    /// What the header would say, from the first two frames of which one was summed up after the other; of the first one where there are none.
    private func saltsOfFrames(_ count: Int) -> Slice<UnsafeRawBufferPointer> {
        let length = Self.frameHeaderBytes + page
        let starts = (1..<max(1, count)).lazy.map { Self.headerBytes + $0 * length }
        // Zeros are the sum of zeros.
        let start =
            starts.first { Self.word(in: log, at: $0 + 8) != 0 && isWhole($0, after: Self.sums(in: log, at: $0 - length + 16)) }
            ?? Self.headerBytes
        return log[(start + 8)..<(start + 16)]
    }

    private func isWhole(_ start: Int, after before: Sums) -> Bool {
        let (content, end) = (start + Self.frameHeaderBytes, start + Self.frameHeaderBytes + page)
        let head = Self.sums(log[start..<(start + 8)], after: before, isBig: isBig)
        return Self.sums(log[content..<end], after: head, isBig: isBig) == Self.sums(in: log, at: start + 16)
    }

    private static func word(in log: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        UInt32(bigEndian: log.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private static func sums(in log: UnsafeRawBufferPointer, at offset: Int) -> Sums {
        Sums(first: word(in: log, at: offset), second: word(in: log, at: offset + 4))
    }

    private static func sums(_ bytes: Slice<UnsafeRawBufferPointer>, after before: Sums, isBig: Bool) -> Sums {
        var (first, second) = (before.first, before.second)
        let words = UnsafeRawBufferPointer(rebasing: bytes)
        for offset in stride(from: 0, to: words.count, by: 8) {
            let (one, other) = (
                words.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                words.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            )
            first &+= (isBig ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
            second &+= (isBig ? UInt32(bigEndian: other) : UInt32(littleEndian: other)) &+ first
        }
        return Sums(first: first, second: second)
    }
}
