// Finds the items of subscriptions in what was received, whichever way it came.

import Contracts

struct ReceivedItem: Sendable {
    let number: Int64
    let type: String
    let at: Timestamp
}

enum ItemScan {
    /// Calls `body` for each item in order, with its subscription where the text names one.
    /// - Returns: whether every item could be read.
    static func each(_ bytes: some RandomAccessCollection<UInt8>, _ body: (_ subscription: String?, ReceivedItem) -> Void) -> Bool {
        bytes.withContiguousStorageIfAvailable { buffer in
            var scan = Scan(bytes: buffer)
            return scan.run(body)
        } ?? false
    }

    private struct Scan {
        let bytes: UnsafeBufferPointer<UInt8>
        var index = 0

        mutating func run(_ body: (String?, ReceivedItem) -> Void) -> Bool {
            var subscription: String?
            var isWhole = true
            while index < bytes.count {
                guard bytes[index] == UInt8(ascii: "\"") else {
                    index += 1
                    continue
                }
                if take("\"subscription\":\"") {
                    subscription = text()
                } else if take("\"number\":") {
                    if let item = item() { body(subscription, item) } else { isWhole = false }
                } else {
                    index += 1
                }
            }
            return isWhole
        }

        private mutating func item() -> ReceivedItem? {
            var number: Int64 = 0
            while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
                number = number * 10 + Int64(bytes[index] - 0x30)
                index += 1
            }
            guard take(",\"type\":\""), let type = text(), take(",\"at\":\""), let at = text().flatMap({ Timestamp(rfc3339: $0) }) else {
                return nil
            }
            return ReceivedItem(number: number, type: type, at: at)
        }

        private mutating func text() -> String? {
            let start = index
            while index < bytes.count, bytes[index] != UInt8(ascii: "\"") { index += 1 }
            guard index < bytes.count else { return nil }
            index += 1
            return String(decoding: bytes[start..<index - 1], as: UTF8.self)
        }

        private mutating func take(_ text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard bytes.count - index >= count else { return false }
            for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
            index += count
            return true
        }
    }
}
