// libcurl's multi handle: many transfers on one thread.

import CCurl

/// Used by the loop's thread alone, but for `wake`, which libcurl allows from anywhere while the handle lives.
struct MultiHandle: @unchecked Sendable {  // The pointer is opaque, and libcurl says which calls may come from which thread (above).
    private let pointer: UnsafeMutableRawPointer

    init(_ settings: OutboundSettings) {
        guard let pointer = curl_multi_init() else { preconditionFailure("out of memory for libcurl") }
        self.pointer = pointer
        _ = trackme_curl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, settings.warmConnections)
        _ = trackme_curl_multi_set_long(pointer, CURLMOPT_PIPELINING, 0)
    }

    func wake() {
        curl_multi_wakeup(pointer)
    }

    func add(_ easy: EasyHandle) {
        curl_multi_add_handle(pointer, easy.pointer)
    }

    func remove(_ easy: EasyHandle) {
        curl_multi_remove_handle(pointer, easy.pointer)
    }

    func perform() {
        var running: Int32 = 0
        curl_multi_perform(pointer, &running)
    }

    /// Waits for traffic, a timer of libcurl's, or `wake`.
    func poll(milliseconds: Int32) {
        curl_multi_poll(pointer, nil, 0, milliseconds, nil)
    }

    /// One transfer that has ended.
    func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            return (easy, message.pointee.data.result)
        }
        return nil
    }

    func close() {
        curl_multi_cleanup(pointer)
    }
}
