// At an alert the newest place that is known of the person is read: what the message says may not wait for an upload (SOS-11).

import Contracts

/// Asks ingest beside everything else: no call waits for it. What comes after the call is told as an update.
struct PlaceReading: SupervisionEventConsumer {
    let supervision: SupervisionService
    let ingest: IngestClient

    func heard(_ tidings: [SupervisionEvent]) async {
        for tiding in tidings where [.opened, .askedAgain, .doubted, .fell].contains(tiding.kind) {
            let person = tiding.person
            Task { await supervision.note(ingest.latest(person), of: person) }
        }
    }
}
