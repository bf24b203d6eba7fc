// The route at which a device reads how often it is to measure.

import Contracts
import Foundation
import HTTPKit
import ServiceKit

struct AlertRoutes: Sendable {
    let alerted: AlertedPeople

    var all: [Route] {
        [
            .events(
                "/ingest/v1/devices/self/events", access: .device, summary: "What a device is asked for, as it changes",
                description: """
                    Server-sent events named `supervision`, whose data is the same as `supervision` in the answer to an upload: one at \
                    once, then one when an alert begins or is over. While `alerted`, measure so often per second; when `normal`, as usual.
                    """,
                events: "Events for as long as the device listens"
            ) { exchange in
                let device = try IngestDoor.device(exchange)
                guard let watcher = alerted.changes.watch(device.person) else { throw Problem.tooManyStreams(alerted.changes.limit) }
                watcher.notify()
                return EventSource {
                    await watcher.wait()
                    guard !Task.isCancelled, !device.isEnded else { return nil }
                    let asked = try JSONEncoder().encode(alerted.asked(of: device) ?? .normal)
                    return ServerEvent(event: "supervision", data: String(decoding: asked, as: UTF8.self))
                }
            }
        ]
    }
}
