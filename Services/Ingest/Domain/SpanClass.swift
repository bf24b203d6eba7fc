// Finding chunks that overlap a period through an ordinary index, although chunks have lengths.

/// The smallest power of two that is not less than a chunk's span, as its exponent: 0 for up to 1 ms, at most 63.
/// Of one class, everything that reaches into `from...to` begins within `from - 2^class ... to`: one range of the index each.
struct SpanClass: Hashable, Sendable {
    let exponent: Int

    init(exponent: Int) {
        self.exponent = exponent
    }

    init(first: Int64, last: Int64) {
        let span = UInt64(bitPattern: last &- first)
        exponent = span <= 1 ? 0 : 64 - (span - 1).leadingZeroBitCount
    }

    /// The earliest beginning of a chunk of this class that reaches `time`.
    func earliestStart(reaching time: Int64) -> Int64 {
        guard exponent < 63 else { return .min }
        let (start, overflow) = time.subtractingReportingOverflow(1 << Int64(exponent))
        return overflow ? .min : start
    }
}
