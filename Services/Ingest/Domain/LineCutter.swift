// A stream of NDJSON cut into pieces that are scanned, sealed and committed one by one.

/// Collects bytes until a piece is full, at the end of a line: `UploadLimits.entries` lines or about `UploadLimits.pieceBytes`.
/// Of a line that is longer than an entry may be only so much is kept that the scanner sees that it is.
struct LineCutter {
    private var piece: [UInt8] = []
    private var lines = 0
    private var lineLength = 0

    var isFull: Bool {
        lines >= UploadLimits.entries || (lineLength == 0 && piece.count >= UploadLimits.pieceBytes - UploadLimits.entryBytes)
    }

    var isEmpty: Bool { piece.isEmpty }
    /// Whether a whole line is there.
    var hasLines: Bool { lines > 0 }

    /// Takes bytes from `start` on until the piece is full; returns where it stopped.
    mutating func add(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var at = start
        while at < bytes.count, !isFull {
            var end = at
            while end < bytes.count, bytes[end] != 0x0A { end += 1 }
            let room = max(0, UploadLimits.entryBytes + 1 - lineLength)
            piece.append(contentsOf: bytes[at..<min(end, at + room)])
            lineLength += end - at
            if end < bytes.count {
                piece.append(0x0A)
                lines += 1
                lineLength = 0
                end += 1
            }
            at = end
        }
        return at
    }

    /// Hands the whole lines over and keeps what there is of the next: when nobody knows when its rest comes.
    mutating func takeLines() -> [UInt8] {
        guard lineLength > 0 else { return take() }
        let begun = piece.suffix(min(lineLength, UploadLimits.entryBytes + 1))
        defer { (piece, lines) = (Array(begun), 0) }
        return Array(piece.dropLast(begun.count))
    }

    /// Hands the piece over and begins the next one: when it is full, or when there are no more bytes.
    mutating func take() -> [UInt8] {
        defer { (piece, lines, lineLength) = ([], 0, 0) }
        return piece
    }
}
