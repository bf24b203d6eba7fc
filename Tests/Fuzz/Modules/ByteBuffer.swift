// Stands in for SwiftNIO's buffer where a decoder is compiled alone for fuzzing: the few members that decoders use.

package struct ByteBuffer {
    private var bytes: [UInt8] = []
    private var read = 0

    package init(bytes: some Sequence<UInt8> = []) {
        self.bytes = Array(bytes)
    }

    package var readableBytes: Int { bytes.count - read }

    @discardableResult
    package mutating func readWithUnsafeMutableReadableBytes(_ body: (UnsafeMutableRawBufferPointer) throws -> Int) rethrows -> Int {
        let from = read
        let taken = try bytes.withUnsafeMutableBytes { try body(UnsafeMutableRawBufferPointer(rebasing: $0[from...])) }
        precondition((0...readableBytes).contains(taken), "more was read than there is")
        read += taken
        return taken
    }

    @discardableResult
    package mutating func writeWithUnsafeMutableBytes(
        minimumWritableBytes: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Int
    ) rethrows -> Int {
        let end = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: minimumWritableBytes))
        let given = try bytes.withUnsafeMutableBytes { try body(UnsafeMutableRawBufferPointer(rebasing: $0[end...])) }
        precondition((0...minimumWritableBytes).contains(given), "more was written than there is room")
        bytes.removeLast(minimumWritableBytes - given)
        return given
    }
}
