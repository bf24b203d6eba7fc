// At an alert the newest place that is known of the person is read: what the message says may not wait for an upload (SOS-11).

import Contracts

/// Asks ingest beside everything else: no call waits for it. What comes after the call is told as an update.
struct PlaceReading: SupervisionEventConsumer {
    let supervision: SupervisionService
    let ingest: IngestClient

    func heard(_ events: [SupervisionEvent]) async {
        for event in events where [.opened, .askedAgain, .doubted, .fell].contains(event.kind) {
            let person = event.person
            Task { await supervision.note(ingest.latest(person), of: person) }
        }
    }
}
