// A memory of what came lately that neither grows without end nor costs more the fuller it is.

import Contracts

/// What was noted of late, within bounds of time and number; each note costs the same, however much is known.
struct RecentSet<Element: Hashable & Sendable>: Sendable {
    let kept: Duration
    let most: Int
    private var elements: Set<Element> = []
    private var order: [(element: Element, at: Timestamp)] = []
    private var first = 0

    init(kept: Duration, most: Int) {
        (self.kept, self.most) = (kept, most)
    }

    func contains(_ element: Element) -> Bool { elements.contains(element) }

    /// What is known already keeps its time.
    /// - Returns: what was forgotten for it, the oldest first.
    @discardableResult
    mutating func note(_ element: Element, at now: Timestamp) -> [Element] {
        var forgotten: [Element] = []
        while first < order.count, order[first].at < now - kept || elements.count >= most { forgotten.append(forgetFirst()) }
        if elements.insert(element).inserted { order.append((element, now)) }
        return forgotten
    }

    private mutating func forgetFirst() -> Element {
        let element = order[first].element
        elements.remove(element)
        first += 1
        // Given up in bulk, so that forgetting one does not move the rest.
        if first >= 1024 || first == order.count {
            order.removeFirst(first)
            first = 0
        }
        return element
    }
}
