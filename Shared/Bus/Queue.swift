// First in, first out.

/// An array whose front is given up in bulk, so that taking from it costs no move of the rest.
struct Queue<Element> {
    private var elements: [Element] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var count: Int { elements.count - start }
    var first: Element? { isEmpty ? nil : elements[start] }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    @discardableResult
    mutating func removeFirst() -> Element {
        let element = elements[start]
        start += 1
        giveUpFront()
        return element
    }

    func contains(_ element: Element) -> Bool where Element: Equatable {
        elements[start...].contains(element)
    }

    /// Takes at most `limit` elements from the front.
    mutating func take(atMost limit: Int) -> ArraySlice<Element> {
        let taken = elements[start..<min(elements.count, start + limit)]
        start = taken.endIndex
        giveUpFront()
        return taken
    }

    private mutating func giveUpFront() {
        if start == elements.count {
            elements.removeAll(keepingCapacity: start < 4096)
            start = 0
        } else if start >= 1024, start * 2 > elements.count {
            elements.removeFirst(start)
            start = 0
        }
    }
}
