// How complete a series is (ING-17): the share of a period that its entries cover, and its longest gap.

/// An entry stands for the time until the next one is due, and half as long again for clocks that are not exact:
/// one and a half times the interval its device declared.
struct Coverage: Hashable, Sendable {
    /// Of the period, 0...1.
    var share: Double
    /// The longest stretch that nothing covers; empty where all is covered.
    var longestGap: Range<Int64>

    /// No device declares an interval beyond a day.
    static let longestReach: Int64 = reach(intervalMs: 86_400_000)

    /// How long one entry covers, in ms.
    static func reach(intervalMs: Int64) -> Int64 {
        intervalMs &+ intervalMs / 2
    }

    /// `covered` in any order and overlapping at will; `period` not empty. All in ms.
    init(of period: Range<Int64>, covered: [Range<Int64>]) {
        var total: Int64 = 0
        var gap = period.lowerBound..<period.lowerBound
        var reached = period.lowerBound
        for stretch in covered.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let start = max(stretch.lowerBound, period.lowerBound)
            let end = min(stretch.upperBound, period.upperBound)
            guard end > reached, start < period.upperBound else { continue }
            if start - reached > Int64(gap.count) { gap = reached..<start }
            total += end - max(start, reached)
            reached = end
        }
        if period.upperBound - reached > Int64(gap.count) { gap = reached..<period.upperBound }
        share = Double(total) / Double(period.upperBound - period.lowerBound)
        longestGap = gap
    }

    /// The stretches that entries at these times cover, joined where they touch, so that a day at 1 Hz is a few.
    static func stretches(of times: [Int64], reach: Int64) -> [Range<Int64>] {
        var joined: [Range<Int64>] = []
        for time in times.sorted() {
            let end = time &+ max(reach, 1)
            if let last = joined.last, time <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, end)
            } else {
                joined.append(time..<end)
            }
        }
        return joined
    }
}
