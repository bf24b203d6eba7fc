// What an operator can set about requests and data files.

import ServiceKit

struct RequestSettings: Sendable {
    /// How long the files of a job are kept.
    let filesKept: Duration
    /// File jobs that one organisation may begin in 24 hours.
    let filesPerDay: Int
    /// So long after everything of a past period was handed out its request ends by itself (table SHR-S).
    let deliveredKept: Duration

    init(_ reader: inout SettingsReader) {
        filesKept = reader.read(.hours("org.file_hours", default: 24, in: 1...168, "How long data files can be downloaded."))
        filesPerDay = reader.read(
            .integer("org.files_per_day", default: 200, in: 1...100_000, "File jobs that an organisation may begin in 24 hours."))
        deliveredKept = reader.read(
            .hours(
                "org.delivered_hours", default: 720, in: 1...8784,
                "So long after its last value was handed out, the request for a past period ends by itself."))
    }
}
