// The way out when the store cannot be believed.

import Logging

/// Says so once in the log, by code alone, and ends the process. Nobody may be told of success afterwards.
struct FatalFault: Sendable {
    let file: String
    let logger: Logger
    let end: @Sendable (Int32) -> Void

    func happened(_ code: Int32, refusing queue: WriteQueue, and unanswered: [WaitingWrite] = []) {
        let error = StoreError.cannotOpen(code: code)
        logger.critical(
            "the store met a fault of its disk or file and ends the process",
            metadata: ["file": "\(file)", "code": "\(code)", "cause": "\(error.cause)", "mend": "\(error.mend)"])
        let waiting = queue.abandon()
        end(code)
        for write in unanswered + waiting { write.refuse(StoreError.broken) }
    }
}
