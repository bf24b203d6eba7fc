// What an operator sees of uploads as figures.

import Metrics

struct UploadMeters: Sendable {
    private let accepted = Counter(label: "ingest_entries_total", dimensions: [("result", "accepted")])
    private let duplicates = Counter(label: "ingest_entries_total", dimensions: [("result", "duplicate")])
    private let rejected = Counter(label: "ingest_entries_total", dimensions: [("result", "rejected")])
    private let uploads = Counter(label: "ingest_uploads_total")

    func count(_ answer: UploadAnswer) {
        uploads.increment()
        accepted.increment(by: answer.accepted)
        if !answer.duplicates.isEmpty { duplicates.increment(by: answer.duplicates.count) }
        if !answer.rejected.isEmpty { rejected.increment(by: answer.rejected.count) }
    }
}
