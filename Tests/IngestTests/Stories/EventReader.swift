// Listens to server-sent events as a browser does, on a socket of its own.

import Foundation
import FoundationNetworking
import Synchronization

@testable import Ingest

/// Collects events until it is stopped.
final class EventReader: NSObject, URLSessionDataDelegate {
    private let state = Mutex<[UInt8]>([])
    private let session = Mutex<URLSession?>(nil)

    init(_ request: URLRequest) {
        super.init()
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        self.session.withLock { $0 = session }
        session.dataTask(with: request).resume()
    }

    func stop() {
        session.withLock { session in
            session?.invalidateAndCancel()
            session = nil
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { $0.append(contentsOf: data) }
    }

    var summaries: [DashboardAnswer] { events() }

    /// The data of every whole event, as far as it has this form.
    func events<Value: Decodable>(as _: Value.Type = Value.self) -> [Value] {
        let text = state.withLock { String(decoding: $0, as: UTF8.self) }
        return text.components(separatedBy: "\n\n").dropLast().compactMap { event in
            let data = event.components(separatedBy: "\n").filter { $0.hasPrefix("data: ") }.map { $0.dropFirst(6) }.joined(separator: "\n")
            return try? JSONDecoder().decode(Value.self, from: Data(data.utf8))
        }
    }
}
