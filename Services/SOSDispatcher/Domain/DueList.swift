// Who next wants to hear of the time, without asking everybody.

import Contracts

/// A binary heap of due times. Somebody whose time is put off stays in at the earlier time: who is taken out says for when to
/// be put in again. So an entry that moves a deadline costs nothing.
struct DueList<Name: Hashable & Sendable>: Sendable {
    private struct Entry {
        var due: Timestamp
        var name: Name
    }

    private var heap: [Entry] = []
    private var scheduled: [Name: Timestamp] = [:]

    init() {}

    var earliest: Timestamp? { heap.first?.due }

    /// Makes sure that `name` is taken out at `due` or before.
    mutating func want(_ name: Name, at due: Timestamp) {
        if let known = scheduled[name], known <= due { return }
        scheduled[name] = due
        heap.append(Entry(due: due, name: name))
        var index = heap.count - 1
        while index > 0, heap[index].due < heap[(index - 1) / 2].due {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Everybody whose time has come, each once.
    mutating func take(dueBy time: Timestamp) -> [Name] {
        var names: [Name] = []
        while let first = heap.first, first.due <= time {
            removeFirst()
            // An entry that an earlier one of the same name has overtaken is left over.
            guard scheduled[first.name] == first.due else { continue }
            scheduled[first.name] = nil
            names.append(first.name)
        }
        return names
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            let children = [2 * index + 1, 2 * index + 2].filter { $0 < heap.count }
            guard let child = children.min(by: { heap[$0].due < heap[$1].due }), heap[child].due < heap[index].due else { return }
            heap.swapAt(index, child)
            index = child
        }
    }
}
